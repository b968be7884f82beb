"""What the page of a comparison draws from, beside the data of both records."""

import math
from collections.abc import Sequence
from typing import Any

from regard.inspection.alignment import Pair
from regard.inspection.views.comparison import RecordDifference

__all__ = ["comparison_data"]


def comparison_data(found: RecordDifference) -> dict[str, Any]:
    """The pairs of items, queries and predictions as runs, and the difference of each head, as plain values."""
    alignment = found.alignment
    heads: dict[int, list[float | None]] = {}
    for each in found.heads:
        known = round(each.difference, 6) if math.isfinite(each.difference) else None
        heads.setdefault(each.layer, []).append(known)
    return {
        "items": runs(alignment.items),
        "queries": runs(alignment.queries),
        "places": runs(alignment.places),
        "obstacle": alignment.obstacle,
        "kinds": list(alignment.kinds),
        "heads": list(heads.values()),
    }


def runs(pairs: Sequence[Pair]) -> list[list[int | None]]:
    """Pairs that follow each other as [first, second, count]: two equal texts of any length are one such run.

    Example:
        >>> runs(((0, 0), (1, 1), (2, None), (None, 2), (3, 3)))
        [[0, 0, 2], [2, None, 1], [None, 2, 1], [3, 3, 1]]
    """
    found: list[list[Any]] = []
    for one, other in pairs:
        if found and (one, other) == tuple(None if start is None else start + found[-1][2] for start in found[-1][:2]):
            found[-1][2] += 1
        else:
            found.append([one, other, 1])
    return found
