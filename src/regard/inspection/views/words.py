"""The items of a source, such as its words, with the label of each beneath it and how sure the model is."""

from itertools import repeat

from regard.inspection.record import Record
from regard.page import Item, Items, Page, Prose
from regard.page.numbers import percent

__all__ = ["words"]


def words(record: Record) -> Page:
    """Show the items with their labels and scores.

    Example:
        >>> from regard.page import as_text
        >>> print(as_text(words(Record(("I", "saw"), ("PRON", "VERB"), (0.875, 1.0)))), end="")
        I     saw
        PRON  VERB
        88%   100%
    """
    if not record.looking:
        return Page(record.model, (Prose(f"There is no {record.noun}."),))
    notes = map(percent, record.scores) if record.scores else repeat("")
    items = tuple(map(Item, record.looking, record.labels, notes))
    return Page(record.model, (Items(items, record.noun),))
