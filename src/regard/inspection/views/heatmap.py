"""The weights of a layer and a head as a heat map."""

import math
from collections.abc import Sequence

from regard.inspection.distinct import distinct
from regard.inspection.record import Record
from regard.inspection.summaries import choose, problems
from regard.page import HeatMap, Page, Prose

__all__ = ["heatmap", "round_top"]

_TOPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


def heatmap(record: Record, *, layer: int | None = None, head: int | None = None) -> Page:
    """Draw every weight of one layer and head.

    The scale starts at 0 and ends at the next round number above the largest weight, which the legend prints: on a
    scale to 100 % a sentence of fifty words would be dark all over.

    Args:
        record: what was seen.
        layer: which layer, from 1; None is the last one.
        head: which head, from 1; None is the average of all.

    Raises:
        ArgumentError: there is no such layer or head.

    Example:
        >>> import torch
        >>> from regard.inspection import LayerRecord
        >>> layer = LayerRecord("layer 1", torch.tensor([[[1.0, 0.0], [0.25, 0.75]]]))
        >>> record = Record(("I", "saw"), ("PRON", "VERB"), (0.9, 0.8), (layer,))
        >>> (block,) = heatmap(record).blocks
        >>> block.title, block.values, block.high
        ('Layer 1 of 1, head 1 of 1', ((1.0, 0.0), (0.25, 0.75)), 1.0)
    """
    choice = choose(record, layer, head)
    values = tuple(map(tuple, choice.weights.tolist()))
    drawn = HeatMap(choice.title, distinct(record.looking), distinct(record.items), values, high=round_top(values))
    return Page(record.model, (*(Prose(problem) for problem in problems(choice)), drawn))


def round_top(values: Sequence[Sequence[float]]) -> float:
    """The next round number above the largest value; that value itself if it is above 1.

    Example:
        >>> round_top([[0.03, 0.04]]), round_top([[1.75]])
        (0.05, 1.75)
    """
    largest = max((value for row in values for value in row if math.isfinite(value)), default=0.0)
    return next((top for top in _TOPS if largest <= top), max(1.0, largest))
