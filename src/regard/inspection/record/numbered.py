"""Number repeated items, so that they can be told apart."""

from collections import Counter
from collections.abc import Sequence

from regard.page.visible import visible

__all__ = ["numbered"]


def numbered(items: Sequence[str]) -> tuple[str, ...]:
    """Add the position, counted from 1, to each item that occurs more than once.

    Example:
        >>> numbered(["I", "saw", "a", "saw"])
        ('I', 'saw (2)', 'a', 'saw (4)')
        >>> numbered([" ", "a", " "])
        ('␣ (1)', 'a', '␣ (3)')
    """
    counts = Counter(items)
    return tuple(
        f"{visible(item)} ({position})" if counts[item] > 1 else item for position, item in enumerate(items, start=1)
    )
