"""The live page of two records: both, and what corresponds and differs between them."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from regard.inspection.explain.alignment import Pair
from regard.inspection.record.record import Record
from regard.inspection.views.comparison import RecordDifference, comparison_of, has_head
from regard.inspection.views.comparison_page import comparison_page, difference_table, titles_of
from regard.inspection.views.page_data import Chosen, page_data
from regard.inspection.views.patched import Patched
from regard.inspection.views.story import stories
from regard.page import Page, as_live_html
from regard.page.messages import say

__all__ = ["live_comparison"]


def live_comparison(
    records: tuple[Record, Record],
    titles: Sequence[str],
    first: Chosen,
    *,
    still: Page | None,
    patched: Patched | None = None,
    language: str,
    progress: Callable[[int, int], None],
) -> str:
    """The page of two records.

    Args:
        records, titles: both, and the name of each.
        first: what is shown first, of the first record.
        still, patched, language, progress: as in `live_page`.

    Raises:
        ArgumentError: `titles` aren't two, or the records can't be compared.
    """
    layer, head, query = first
    names = titles_of(*records, titles)
    found = comparison_of(*records, layer=layer, head=head, query=query)
    chosen = _chosen_of_both(found, layer, head)
    data, arrays = page_data(found.records, names, *chosen, progress=progress)
    still = _still_of_both(found, names, layer, head, patched) if still is None else still
    against = _comparison_data(found) | ({} if patched is None else {"patched": patched.data()})
    return as_live_html(still, data | {"against": against}, arrays, language=language)


def _chosen_of_both(found: RecordDifference, layer: int | None, head: int | None) -> Iterator[Chosen]:
    """What is shown first of each record; where the second has no such layer or head, the average of its last."""
    for record, place in zip(found.records, found.places, strict=True):
        query = None if place is None else place + 1
        yield Chosen(layer, head, query) if has_head(record, layer, head) else Chosen(query=query)


def _still_of_both(
    found: RecordDifference, names: tuple[str, str], layer: int | None, head: int | None, patched: Patched | None
) -> Page:
    """What can be read without a script: what differs, and the story of each."""
    table = Page("", tuple(difference_table(found, layer, head)))
    both = stories(found.records, [f"{letter}: {name}" for letter, name in zip("AB", names, strict=True)])
    return Page.of(say("both"), comparison_page(found, names, patched=patched), table, both)


def _comparison_data(found: RecordDifference) -> dict[str, Any]:
    """The pairs of items, queries and predictions as runs, and the difference of each head, as plain values."""
    alignment = found.alignment
    heads: dict[int, list[float | None]] = {}
    for each in found.heads:
        known = round(each.difference, 6) if math.isfinite(each.difference) else None
        heads.setdefault(each.layer, []).append(known)
    return {
        "items": _runs(alignment.items),
        "queries": _runs(alignment.queries),
        "places": _runs(alignment.places),
        "obstacle": alignment.obstacle,
        "kinds": list(alignment.kinds),
        "heads": list(heads.values()),
    }


def _runs(pairs: Sequence[Pair]) -> list[list[int | None]]:
    """Pairs that follow each other as [first, second, count]: two equal texts of any length are one such run.

    Example:
        >>> _runs(((0, 0), (1, 1), (2, None), (None, 2), (3, 3)))
        [[0, 0, 2], [2, None, 1], [None, 2, 1], [3, 3, 1]]
    """
    found: list[list[Any]] = []
    for one, other in pairs:
        if found and (one, other) == tuple(None if start is None else start + found[-1][2] for start in found[-1][:2]):
            found[-1][2] += 1
        else:
            found.append([one, other, 1])
    return found
