"""Saved models: a folder for each, with its card. Models are loaded by name or by path.

A folder is replaced in one step, so that there is always a whole one.
"""
