"""Saved models: one folder each, with its card, which is loaded by name or by path.

Folders are replaced in one step, so that there is always a whole one.
"""
