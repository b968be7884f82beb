"""The weights of the pooling as a heat map: those of a picture's patches in their grid, others as one row."""

from regard.inspection.explain.summaries import find_problems, pooled_weights
from regard.inspection.record.numbered import numbered
from regard.inspection.record.record import Record
from regard.inspection.views.heatmap import round_up
from regard.page import HeatMap, Page, Prose

__all__ = ["pooled_heatmap"]


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
        drawn = HeatMap(selection.title, ("the whole",), numbered(record.items), values, high=round_up(values))
    else:
        rows, columns = (tuple(str(number) for number in range(1, count + 1)) for count in record.grid)
        values = tuple(map(tuple, selection.weights[0].reshape(record.grid).tolist()))
        drawn = HeatMap(selection.title, rows, columns, values, high=round_up(values), verb="")
    return Page(record.model, (*warnings, drawn))
