"""The ids that every vocabulary keeps free, and every net that says texts keeps to."""

__all__ = ["END", "PADDING", "START"]

PADDING, START, END = 0, 1, 2
"""What fills a batch up; what a text that is being said starts from, and what says that it has ended."""
