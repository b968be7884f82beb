"""The special ids of every vocabulary and every sequence-to-sequence model."""

__all__ = ["END", "PADDING", "START"]

PADDING, START, END = 0, 1, 2
"""The ids of padding, of the start of a target, and of its end."""
