"""The items of a source, such as its words, each with its label and the probability of the label."""

from itertools import repeat

from regard.inspection.record import Record
from regard.page import Item, Items, Page, Prose
from regard.page.numbers import percent

__all__ = ["item_labels"]


def item_labels(record: Record) -> Page:
    """Show the items with their labels and probabilities.

    Example:
        >>> from regard.page import as_text
        >>> print(as_text(item_labels(Record(("I", "saw"), ("PRON", "VERB"), (0.875, 1.0)))), end="")
        I     saw
        PRON  VERB
        88%   100%
    """
    if not record.query_items:
        return Page(record.model, (Prose(f"There is no {record.noun}."),))
    notes = map(percent, record.scores) if record.scores else repeat("")
    items = tuple(map(Item, record.query_items, record.labels, notes))
    return Page(record.model, (Items(items, record.noun),))
