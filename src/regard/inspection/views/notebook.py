"""What a notebook shows of a record: its page in a frame, and beside it the terminal's summary as text."""

from regard.inspection.record.record import Record
from regard.inspection.views.answer_page import answer_page
from regard.inspection.views.item_labels import item_labels
from regard.inspection.views.item_rankings import item_rankings, pooled_ranking
from regard.inspection.views.live_page import live_page
from regard.inspection.views.story import story, warnings_of
from regard.page import Page, as_text
from regard.page.frame import as_frame

__all__ = ["MOST_CHARACTERS", "in_notebook"]

MOST_CHARACTERS = 5_000_000
"""A larger page isn't kept in a notebook, which holds it as text."""

# Nobody reads a list for each of hundreds of items.
_MOST_LISTS = 64


def in_notebook(record: Record) -> dict[str, str]:
    """The forms in which a notebook can show a record, by their MIME types.

    A record without attention has no page, and a page of more than five million characters isn't kept. The text is
    always there.

    Example:
        >>> import torch
        >>> from regard.inspection import LayerRecord
        >>> layer = LayerRecord.of_weights("layer 1", torch.tensor([[[0.75, 0.25], [0.25, 0.75]]]))
        >>> found = in_notebook(Record(("a", "saw"), ("DET", "NOUN"), (0.75, 0.75), (layer,), model="toy"))
        >>> sorted(found), "<iframe" in found["text/html"]
        (['text/html', 'text/plain'], True)
    """
    text = as_text(_summary(record))
    if not record.layers and record.pooling is None:
        return {"text/plain": text}
    name = record.model or "a model"
    page = live_page(record, [name])
    if len(page) > MOST_CHARACTERS:
        why = (
            f"The page has {len(page) / 1e6:.0f} million characters, too many for a notebook. Write it to a file: "
            'save_page(record, "page.html") of regard.inspection.\n'
        )
        return {"text/plain": f"{text}\n{why}"}
    return {"text/plain": text, "text/html": as_frame(page, f"{name}: what it attended to")}


def _summary(record: Record) -> Page:
    """The story, or of a record of which no effects are known the answer and the largest weights."""
    if record.outcomes is not None and (record.layers or record.pooling is not None):
        return story(record)
    pages = [Page("", tuple(warnings_of(record)))]
    if record.labels:
        pages.append(item_labels(record))
    elif record.answer is not None or not record.items:
        pages.append(answer_page(record))
    if record.pooling is not None:
        pages.append(pooled_ranking(record))
    elif record.layers:
        few = len(record.query_items) <= _MOST_LISTS
        pages.append(item_rankings(record) if few else pooled_ranking(record, layer=len(record.layers)))
    return Page.of(record.model, *pages)
