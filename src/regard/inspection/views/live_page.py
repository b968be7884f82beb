"""The page of a record as one HTML file, live where there is a script and still to be read where there is none."""

from collections.abc import Callable, Sequence
from pathlib import Path

from regard.errors import ArgumentError
from regard.files import write_text
from regard.inspection.record.record import Record
from regard.inspection.views.attributed import Attributed
from regard.inspection.views.page_data import Chosen, page_data
from regard.inspection.views.patched import Patched
from regard.inspection.views.story import stories
from regard.page import Page, as_live_html

__all__ = ["live_page", "save_page"]


def live_page(
    records: Record | Sequence[Record],
    titles: Sequence[str] = (),
    *,
    against: Record | None = None,
    patched: Patched | None = None,
    attributed: Attributed | None = None,
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
        patched: with `against`, what patches from the first record's input into that of the other do.
        attributed: what a method of attribution gives for the predictions of the only record; see `attributed_of`.
        still: the title, and what can be read without a script; by default the stories of the records.
        language: the language that the page begins in, "en" or "zh-Hans".
        layer, head, query: what is shown first, from 1, as in `story_of`.
        progress: called with how much is done, and of how much; of 8,192 items the page takes minutes.

    Raises:
        ArgumentError: there is no record, or one without attention; or `titles` are not as many; or `against` is given
            with several records, or `attributed` with several or with `against`.

    Example:
        >>> import torch
        >>> from regard.inspection import LayerRecord
        >>> layer = LayerRecord.of_weights("layer 1", torch.tensor([[[0.75, 0.25], [0.25, 0.75]]]))
        >>> text = live_page(Record(("a", "saw"), ("DET", "NOUN"), (0.75, 0.75), (layer,), model="toy"))
        >>> text.startswith("<!doctype html>"), "connect-src" in text, "default-src &#x27;none&#x27;" in text
        (True, False, True)
    """
    records = [records] if isinstance(records, Record) else list(records)
    if attributed is not None and (len(records) != 1 or against is not None):
        raise ArgumentError("`attributed` must be left out for several records: it is of one.")
    if not records or any(not each.layers and each.pooling is None for each in records):
        raise ArgumentError("`records` must hold records with attention, one or more, but holds none, or one without.")
    if against is not None:
        if len(records) != 1:
            raise ArgumentError(
                f"`records` must be one record with `against`, but are {len(records)}. Give a single one."
            )
        from regard.inspection.views.live_comparison import live_comparison

        first = Chosen(layer, head, query)
        return live_comparison(
            (records[0], against), titles, first, still=still, patched=patched, language=language, progress=progress
        )
    titles = list(titles) or [each.model for each in records]
    if len(titles) != len(records):
        raise ArgumentError(f"`titles` must be {len(records)} names, one for each record, but are {len(titles)}.")
    if still is None:
        still = stories(records, titles, layer, head, query)
    data, arrays = page_data(records, titles, Chosen(layer, head, query), progress=progress)
    data |= {} if attributed is None else {"attributed": attributed.data()}
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
