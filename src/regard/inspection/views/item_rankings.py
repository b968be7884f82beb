"""Rankings of the items that were attended to, by each item or by the pooling: the largest weights, and the rest."""

from collections.abc import Sequence
from itertools import repeat

from torch import Tensor

from regard.inspection.explain.summaries import find_problems, pooled_weights, rank, select_weights
from regard.inspection.record.numbered import numbered
from regard.inspection.record.record import Record
from regard.page import Bar, Bars, Page, Prose, Ranking

__all__ = ["item_rankings", "pooled_ranking", "ranking"]


def item_rankings(record: Record, *, layer: int | None = None, head: int | None = None, top: int = 3) -> Page:
    """Rank the items that each item attended to.

    Args:
        record: the record.
        layer: the layer, from 1; None is the last one.
        head: the head, from 1; None is the average of all heads.
        top: the number of items to list for each item.

    Raises:
        ArgumentError: there is no such layer or head, or `top` is negative.

    Example:
        >>> import torch
        >>> from regard.inspection import LayerRecord
        >>> layer = LayerRecord.of_weights("layer 1", torch.tensor([[[1.0, 0.0], [0.25, 0.75]]]))
        >>> record = Record(("I", "saw"), ("PRON", "VERB"), (0.9, 0.8), (layer,))
        >>> (block,) = item_rankings(record, top=1).blocks
        >>> block.rankings[1].bars, block.rankings[1].rest
        ((Bar(label='saw', value=0.75, total=0.75),), 0.25)
    """
    selection = select_weights(record, layer, head)
    names = numbered(record.items)
    labels = record.labels or repeat("")
    rankings = tuple(
        ranking(name, names, weights, top, label)
        for name, label, weights in zip(numbered(record.query_items), labels, selection.weights, strict=False)
    )
    warnings = tuple(Prose(problem) for problem in find_problems(selection))
    return Page(record.model, (*warnings, Bars(selection.title, rankings, record.noun)))


def ranking(label: str, names: Sequence[str], weights: Tensor, top: int, note: str = "") -> Ranking:
    """The ranked list of one query item.

    Args:
        label: the name of the query item.
        names: the names of the keys.
        weights: (key,), the weights of the query.
        top: the number of keys to list.
        note: a few words about the query item.
    """
    ranked = rank(weights, top)
    bars = tuple(Bar(names[entry.key], entry.weight, entry.total) for entry in ranked.keys)
    return Ranking(label, bars, ranked.rest, ranked.others, note)


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
