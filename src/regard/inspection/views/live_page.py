"""The page of a record as one HTML file, live where there is a script and still to be read where there is none."""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from regard.errors import ArgumentError
from regard.files import write_text
from regard.inspection.explain.alignment import Pair
from regard.inspection.record.record import Record
from regard.inspection.views.chosen import Chosen
from regard.inspection.views.comparison import RecordDifference, comparison_of, has_head
from regard.inspection.views.comparison_page import comparison_page, difference_table, titles_of
from regard.inspection.views.page_data import page_data
from regard.inspection.views.story import stories
from regard.page import Page, as_live_html
from regard.page.messages import say

__all__ = ["live_page", "save_page"]


def live_page(
    records: Record | Sequence[Record],
    titles: Sequence[str] = (),
    *,
    against: Record | None = None,
    still: Page | None = None,
    language: str = "en",
    layer: int | None = None,
    head: int | None = None,
    query: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> str:
    """The page of one or several records: self-contained, offline, with everything that can be chosen in it.

    Args:
        records: the records, of which one is shown at a time.
        titles: the name of each; by default its model.
        against: a record to compare with the one in `records`, such as that of another model, of another input, or of
            the same model after training; both are shown at a time, with what differs. `titles` then are two.
        still: the title, and what can be read without a script; by default the stories of the records.
        language: the language that the page begins in, "en" or "zh-Hans".
        layer, head, query: what is shown first, from 1, as in `story_of`.
        progress: called with how much is done, and of how much; of 8,192 items the page takes minutes.

    Raises:
        ArgumentError: there is no record, or one without attention; or `titles` are not as many; or `against` is given
            with several records.

    Example:
        >>> import torch
        >>> from regard.inspection import LayerRecord
        >>> layer = LayerRecord.of_weights("layer 1", torch.tensor([[[0.75, 0.25], [0.25, 0.75]]]))
        >>> text = live_page(Record(("a", "saw"), ("DET", "NOUN"), (0.75, 0.75), (layer,), model="toy"))
        >>> text.startswith("<!doctype html>"), "connect-src" in text, "default-src &#x27;none&#x27;" in text
        (True, False, True)
    """
    records = [records] if isinstance(records, Record) else list(records)
    if not records or any(not each.layers and each.pooling is None for each in records):
        raise ArgumentError("`records` must hold records with attention, one or more, but holds none, or one without.")
    if against is not None:
        if len(records) != 1:
            raise ArgumentError(
                f"`records` must be one record with `against`, but are {len(records)}. Give a single one."
            )
        both, first = (records[0], against), Chosen(layer, head, query)
        return _live_comparison(both, titles, first, still=still, language=language, progress=progress)
    titles = list(titles) or [each.model for each in records]
    if len(titles) != len(records):
        raise ArgumentError(f"`titles` must be {len(records)} names, one for each record, but are {len(titles)}.")
    if still is None:
        still = stories(records, titles, layer, head, query)
    data, arrays = page_data(records, titles, Chosen(layer, head, query), progress=progress)
    return as_live_html(still, data, arrays, language=language)


def save_page(
    records: Record | Sequence[Record],
    path: str | Path,
    titles: Sequence[str] = (),
    *,
    against: Record | None = None,
    **options: int | str | None,
) -> None:
    """Write the page of one or several records to a file, which any browser opens, without a network.

    Args:
        records, titles, against: as in `live_page`.
        path: the file, such as "saw.html"; an old one is replaced, in one step.
        options: `language`, `layer`, `head` and `query` of `live_page`.

    Raises:
        ArgumentError: as in `live_page`.
        OSError: the disk is full, or the folder isn't writable.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import regard
        >>> record = regard.load("english-pos").see("I saw a saw .")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_page(record, f"{folder}/saw.html", layer=2, head=4)
        ...     Path(f"{folder}/saw.html").stat().st_size < 500_000
        True
    """
    write_text(path, live_page(records, titles, against=against, **options))  # pyright: ignore[reportArgumentType]


def _live_comparison(
    records: tuple[Record, Record],
    titles: Sequence[str],
    first: Chosen,
    *,
    still: Page | None,
    language: str,
    progress: Callable[[int, int], None],
) -> str:
    """The page of two records.

    Args:
        records, titles: both, and the name of each.
        first: what is shown first, of the first record.
        still, language, progress: as in `live_page`.

    Raises:
        ArgumentError: `titles` aren't two, or the records can't be compared.
    """
    layer, head, query = first
    names = titles_of(*records, titles)
    found = comparison_of(*records, layer=layer, head=head, query=query)
    chosen = _chosen_of_both(found, layer, head)
    data, arrays = page_data(found.records, names, *chosen, progress=progress)
    still = _still_of_both(found, names, layer, head) if still is None else still
    return as_live_html(still, data | {"against": _comparison_data(found)}, arrays, language=language)


def _chosen_of_both(found: RecordDifference, layer: int | None, head: int | None) -> Iterator[Chosen]:
    """What is shown first of each record; where the second has no such layer or head, the average of its last."""
    for record, place in zip(found.records, found.places, strict=True):
        query = None if place is None else place + 1
        yield Chosen(layer, head, query) if has_head(record, layer, head) else Chosen(query=query)


def _still_of_both(found: RecordDifference, names: tuple[str, str], layer: int | None, head: int | None) -> Page:
    """What can be read without a script: what differs, and the story of each."""
    table = Page("", tuple(difference_table(found, layer, head)))
    both = stories(found.records, [f"{letter}: {name}" for letter, name in zip("AB", names, strict=True)])
    return Page.of(say("both"), comparison_page(found, names), table, both)


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
