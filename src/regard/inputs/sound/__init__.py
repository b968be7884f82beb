"""Sounds: how they are read, resampled and changed at random, and how they become vectors.

A sound becomes a sequence of 100 frames a second, and frames become a sound again.
"""
