"""Number repeated items, so that they can be told apart."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from regard.page.visible import visible

__all__ = ["names_of", "numbered"]


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


def names_of(
    first: Sequence[str], second: Sequence[str], pairs: Iterable[tuple[int | None, int | None]]
) -> Iterator[tuple[str, str]]:
    """The texts of pairs, numbered if they occur more than once; the first one's for both if they are the same.

    Args:
        first, second: the texts of each side.
        pairs: the places of those that belong together, from 0; None where there is no partner, whose text is "".

    Example:
        >>> [*names_of(["a", "saw"], ["saw", "a", "saw"], [(0, 1), (1, 2), (None, 0)])]
        [('a', 'a'), ('saw', 'saw'), ('', 'saw (1)')]
    """
    known = numbered(first), numbered(second)
    for one, other in pairs:
        if one is None or other is None:
            yield "" if one is None else known[0][one], "" if other is None else known[1][other]
        else:
            same = first[one].strip() == second[other].strip()
            yield known[0][one], known[0][one] if same else known[1][other]
