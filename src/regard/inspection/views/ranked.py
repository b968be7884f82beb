"""For each item, the items that it attended to: the largest weights, their running total, and the rest."""

from collections.abc import Sequence
from itertools import repeat

from torch import Tensor

from regard.inspection.distinct import distinct
from regard.inspection.record import Record
from regard.inspection.summaries import choose, problems, rank
from regard.page import Bar, Bars, Page, Prose, Ranking

__all__ = ["ranked", "ranking"]


def ranked(record: Record, *, layer: int | None = None, head: int | None = None, top: int = 3) -> Page:
    """Rank what each item attended to.

    Args:
        record: what was seen.
        layer: which layer, from 1; None is the last one.
        head: which head, from 1; None is the average of all.
        top: how many to list for each item.

    Raises:
        ArgumentError: there is no such layer or head, or `top` is negative.

    Example:
        >>> import torch
        >>> from regard.inspection import LayerRecord
        >>> layer = LayerRecord("layer 1", torch.tensor([[[1.0, 0.0], [0.25, 0.75]]]))
        >>> record = Record(("I", "saw"), ("PRON", "VERB"), (0.9, 0.8), (layer,))
        >>> (block,) = ranked(record, top=1).blocks
        >>> block.rankings[1].bars, block.rankings[1].rest
        ((Bar(label='saw', value=0.75, total=0.75),), 0.25)
    """
    choice = choose(record, layer, head)
    names = distinct(record.items)
    labels = record.labels or repeat("")
    rankings = tuple(
        ranking(name, names, weights, top, label)
        for name, label, weights in zip(distinct(record.looking), labels, choice.weights, strict=False)
    )
    warnings = tuple(Prose(problem) for problem in problems(choice))
    return Page(record.model, (*warnings, Bars(choice.title, rankings, record.noun)))


def ranking(label: str, names: Sequence[str], weights: Tensor, top: int, note: str = "") -> Ranking:
    """One item's ranked list.

    Args:
        label: what looked.
        names: what each key is called.
        weights: (key,), its weights.
        top: how many to list.
        note: a few words about what looked.
    """
    found = rank(weights, top)
    bars = tuple(Bar(names[each.key], each.weight, each.total) for each in found.keys)
    return Ranking(label, bars, found.rest, found.others, note)
