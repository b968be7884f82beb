"""Weights as heat maps: those of a layer and a head, and those of the pooling."""

import math
from collections.abc import Sequence
from typing import Any

from regard.inspection.explain.summaries import find_problems, pooled_weights, select_weights
from regard.inspection.record.numbered import numbered
from regard.inspection.record.record import LayerRecord, Record
from regard.inspection.views.allowed_keys import allowed_ends, allowed_keys
from regard.inspection.views.outcome_text import quoted
from regard.inspection.views.uniform import equal_share
from regard.page import HeatMap, Page, Prose
from regard.page.messages import say
from regard.page.numbers import percent
from regard.page.scale import full_bar

__all__ = ["heatmap", "pooled_heatmap", "round_up"]

_TOPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


def heatmap(record: Record, *, layer: int | None = None, head: int | None = None) -> Page:
    """Draw every weight of one layer and head.

    The colour scale runs from 0 to the next round number above the largest weight, which the legend shows. On a scale
    to 100 % the map of a sentence of fifty words would be dark everywhere.

    Args:
        record: the record.
        layer: the layer, from 1; None is the last one.
        head: the head, from 1; None is the average of all heads.

    Raises:
        ArgumentError: there is no such layer or head.

    Example:
        >>> import torch
        >>> from regard.inspection import LayerRecord
        >>> layer = LayerRecord.of_weights("layer 1", torch.tensor([[[1.0, 0.0], [0.25, 0.75]]]))
        >>> record = Record(("I", "saw"), ("PRON", "VERB"), (0.9, 0.8), (layer,))
        >>> (block,) = heatmap(record).blocks
        >>> block.title, block.values, block.high
        ('Layer 1 of 1, head 1 of 1', ((1.0, 0.0), (0.25, 0.75)), 1.0)
    """
    selection = select_weights(record, layer, head)
    values = tuple(map(tuple, selection.weights.tolist()))
    drawn = HeatMap(
        selection.title,
        numbered(record.query_items),
        numbered(record.items),
        values,
        **_scale(values, selection.layer),
        note=_equal_of_rows(record, values, selection.layer),
    )
    return Page(record.model, (*(Prose(problem) for problem in find_problems(selection)), drawn))


def _scale(rows: Sequence[Sequence[float]], layer: LayerRecord) -> dict[str, Any]:
    """The weight with the full colour, and what equal weights would be, of rows of weights of a layer."""
    equal = equal_share(rows, allowed_keys(layer, None))
    return {"high": round_up([*rows, [full_bar(0.0, len(rows[0]))]]), "equal": equal}


def _equal_of_rows(record: Record, rows: Sequence[Sequence[float]], layer: LayerRecord) -> str:
    """What equal weights would be in the rows with the most and the fewest items, if that differs; "": it doesn't."""
    ends = allowed_ends(layer)
    # Rows whose weights don't sum to 1 have no such share.
    if ends is None or not equal_share(rows, 1):
        return ""
    names = [quoted(name) for name in numbered(record.query_items)]
    (wide, most), (narrow, fewest) = ends
    values = {"wide": names[wide], "least": percent(1 / most), "narrow": names[narrow], "most": percent(1 / fewest)}
    return say("equalWeightsRows", **values)


def round_up(values: Sequence[Sequence[float]]) -> float:
    """Round the largest value up to a round number; a value above 1 is kept.

    Example:
        >>> round_up([[0.03, 0.04]]), round_up([[1.75]])
        (0.05, 1.75)
    """
    largest = max((value for row in values for value in row if math.isfinite(value)), default=0.0)
    return next((top for top in _TOPS if largest <= top), max(1.0, largest))


def pooled_heatmap(record: Record, *, layer: int | None = None, head: int | None = None) -> Page:
    """Draw the weights of the pooling; without attention pooling, the average weights of all items.

    Args:
        record: the record.
        layer, head: as in `pooled_ranking`.

    Raises:
        ArgumentError: there is neither a pooling nor a layer, or no such layer or head.

    Example:
        >>> import torch
        >>> from regard.inspection import LayerRecord
        >>> pooling = LayerRecord.of_weights("pooling", torch.tensor([[[0.25, 0.5, 0.125, 0.125]]]))
        >>> (block,) = pooled_heatmap(Record(("1,1", "1,2", "2,1", "2,2"), pooling=pooling, grid=(2, 2))).blocks
        >>> block.values
        ((0.25, 0.5), (0.125, 0.125))
    """
    selection = pooled_weights(record, layer, head)
    warnings = tuple(Prose(problem) for problem in find_problems(selection))
    if record.grid is None:
        values = (tuple(selection.weights[0].tolist()),)
        drawn = HeatMap(
            selection.title, ("the whole",), numbered(record.items), values, **_scale(values, selection.layer)
        )
    else:
        rows, columns = (tuple(str(number) for number in range(1, count + 1)) for count in record.grid)
        values = tuple(map(tuple, selection.weights[0].reshape(record.grid).tolist()))
        drawn = HeatMap(
            selection.title, rows, columns, values, verb="", **_scale(selection.weights.tolist(), selection.layer)
        )
    return Page(record.model, (*warnings, drawn))
