"""Readers of file formats, of known data sets and of a user's own files alike.

Each gives examples one by one, and reports a broken line with its file and its number.
"""
