"""Folds of examples: parts of equal size, with each label in all of them, and equal sources in the same one."""

import random
from collections.abc import Hashable, Sequence

__all__ = ["folds_of"]


def folds_of(sources: Sequence[Hashable], targets: Sequence[Hashable], count: int, *, seed: int = 0) -> list[int]:
    """The fold of each example.

    Args:
        sources: what must not be separated where it is equal.
        targets: what each fold shall have its share of.
        count: the number of folds.
        seed: determines which examples share a fold.

    Returns:
        for each example a number below `count`.

    Example:
        >>> folds = folds_of(["a", "b", "a", "c"], ["yes", "no", "yes", "no"], 2)
        >>> folds[0] == folds[2], folds[1] == folds[3]
        (True, False)
    """
    groups = dict(zip(reversed(sources), reversed(targets), strict=True))
    order = random.Random(seed).sample([*groups], len(groups))
    order.sort(key=lambda source: repr(groups[source]))  # stable: those with the same target stay mixed
    fold = {source: place % count for place, source in enumerate(order)}
    return [fold[source] for source in sources]
