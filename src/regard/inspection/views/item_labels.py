"""The items of a source, such as its words, each with its label and the probability of the label."""

from collections.abc import Sequence
from itertools import repeat

from regard.inspection.record.record import Record
from regard.page import Item, Items, Page, Prose
from regard.page.messages import say
from regard.page.numbers import percent, plural

__all__ = ["item_labels", "items_around"]

# A longer text is shown as a window of so many items.
_MOST_ITEMS = 64


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


def items_around(
    texts: Sequence[str],
    noun: str,
    marked: int | None,
    centre: int = 0,
    *,
    labels: Sequence[str] = (),
    scores: Sequence[float] = (),
) -> Items:
    """All items, or of more than 64 those around one of them.

    Args:
        texts: the items.
        noun: the name of an item.
        marked: the number of the item that is marked, from 0, which the others are around; None: none.
        centre: the one that they are around, if none is marked.
        labels, scores: the label of each item and its probability; empty without.
    """
    centre = centre if marked is None else marked
    first = 0 if len(texts) <= _MOST_ITEMS else min(max(0, centre - _MOST_ITEMS // 2), len(texts) - _MOST_ITEMS)
    last = min(len(texts), first + _MOST_ITEMS)
    shown = [
        Item(
            texts[item],
            labels[item] if labels else "",
            percent(scores[item]) if scores else "",
            marked=item == marked,
        )
        for item in range(first, last)
    ]
    for place, count, message in ((0, first, "moreBefore"), (len(shown) + 1, len(texts) - last, "moreAfter")):
        if count:
            said = say(message, count=count, noun=noun if count == 1 else plural(noun))
            shown.insert(place, Item(f"... {said}"))
    return Items(tuple(shown), noun)
