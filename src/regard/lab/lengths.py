"""Pairs of texts in ranges of length."""

import itertools
from collections.abc import Iterable, Sequence

__all__ = ["by_length"]


def by_length(pairs: Iterable[tuple[str, str]], limits: Sequence[int]) -> dict[int, list[tuple[str, str]]]:
    """The pairs by the smallest of some limits that isn't below the number of words in the first text.

    Pairs that are longer than the last limit are left out.

    Args:
        pairs: the pairs of texts.
        limits: the limits, in increasing order.

    Example:
        >>> by_length([("a b c", "x"), ("a", "y"), ("a b", "z")], (1, 3))
        {1: [('a', 'y')], 3: [('a b c', 'x'), ('a b', 'z')]}
    """
    pairs = list(pairs)
    return {
        limit: [pair for pair in pairs if shorter < len(pair[0].split()) <= limit]
        for shorter, limit in itertools.pairwise((0, *limits))
    }
