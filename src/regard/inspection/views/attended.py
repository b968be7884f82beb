"""What the whole looked at, as one ranked list: which words, frames, patches or atoms the answer was drawn from."""

from regard.inspection.distinct import distinct
from regard.inspection.record import Record
from regard.inspection.summaries import problems, whole
from regard.inspection.views.ranked import ranking
from regard.page import Bars, Page, Prose

__all__ = ["attended"]


def attended(record: Record, *, layer: int | None = None, head: int | None = None, top: int = 3) -> Page:
    """Rank what the pooling attended to; without one, what all items did on average.

    Args:
        record: what was seen.
        layer, head: of the average, from 1; where one of them is given, the pooling isn't asked.
        top: how many to list.

    Raises:
        ArgumentError: there is neither a pooling nor a layer, no such layer or head, or `top` is negative.

    Example:
        >>> import torch
        >>> from regard.inspection import LayerRecord
        >>> pooling = LayerRecord("pooling", torch.tensor([[[0.25, 0.75]]]))
        >>> (block,) = attended(Record(("warm", "film"), pooling=pooling, noun="word"), top=1).blocks
        >>> block.title, block.rankings[0].bars, block.rankings[0].rest
        ('Pooling', (Bar(label='film', value=0.75, total=0.75),), 0.25)
    """
    choice = whole(record, layer, head)
    only = ranking("the whole", distinct(record.items), choice.weights[0], top)
    warnings = tuple(Prose(problem) for problem in problems(choice))
    return Page(record.model, (*warnings, Bars(choice.title, (only,), noun="")))
