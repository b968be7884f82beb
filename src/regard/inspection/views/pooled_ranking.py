"""The weights of the pooling as one ranked list: the words, frames, patches or atoms that the answer is based on."""

from regard.inspection.explain.summaries import find_problems, pooled_weights
from regard.inspection.record.numbered import numbered
from regard.inspection.record.record import Record
from regard.inspection.views.item_rankings import ranking
from regard.page import Bars, Page, Prose

__all__ = ["pooled_ranking"]


def pooled_ranking(record: Record, *, layer: int | None = None, head: int | None = None, top: int = 3) -> Page:
    """Rank the items that the pooling attended to; without attention pooling, those that all items did on average.

    Args:
        record: the record.
        layer, head: of the average, from 1; if one of them is given, the average is shown instead of the pooling.
        top: the number of items to list.

    Raises:
        ArgumentError: there is neither a pooling nor a layer, no such layer or head, or `top` is negative.

    Example:
        >>> import torch
        >>> from regard.inspection import LayerRecord
        >>> pooling = LayerRecord.of_weights("pooling", torch.tensor([[[0.25, 0.75]]]))
        >>> (block,) = pooled_ranking(Record(("warm", "film"), pooling=pooling, noun="word"), top=1).blocks
        >>> block.title, block.rankings[0].bars, block.rankings[0].rest
        ('Pooling', (Bar(label='film', value=0.75, total=0.75),), 0.25)
    """
    selection = pooled_weights(record, layer, head)
    only = ranking("the whole", numbered(record.items), selection.weights[0], top)
    warnings = tuple(Prose(problem) for problem in find_problems(selection))
    return Page(record.model, (*warnings, Bars(selection.title, (only,), noun="")))
