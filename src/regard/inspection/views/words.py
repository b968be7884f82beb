"""The words of a sentence, with the label of each beneath it and how sure the model is."""

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
    if not record.items:
        return Page(record.model, (Prose("There are no words."),))
    items = zip(record.items, record.labels, record.scores, strict=True)
    return Page(record.model, (Items(tuple(Item(text, label, percent(score)) for text, label, score in items)),))
