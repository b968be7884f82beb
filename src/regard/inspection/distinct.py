"""Telling repeated words apart."""

from collections import Counter
from collections.abc import Sequence

from regard.page.visible import visible

__all__ = ["distinct"]


def distinct(items: Sequence[str]) -> tuple[str, ...]:
    """Add the position, from 1, to each item that occurs more than once.

    Example:
        >>> distinct(["I", "saw", "a", "saw"])
        ('I', 'saw (2)', 'a', 'saw (4)')
        >>> distinct([" ", "a", " "])
        ('␠ (1)', 'a', '␠ (3)')
    """
    counts = Counter(items)
    return tuple(
        f"{visible(item)} ({position})" if counts[item] > 1 else item for position, item in enumerate(items, start=1)
    )
