"""What the whole looked at, drawn where it stands: a picture's patches as the picture, anything else as one row."""

from regard.inspection.distinct import distinct
from regard.inspection.record import Record
from regard.inspection.summaries import problems, whole
from regard.inspection.views.heatmap import round_top
from regard.page import HeatMap, Page, Prose

__all__ = ["where"]


def where(record: Record, *, layer: int | None = None, head: int | None = None) -> Page:
    """Draw what the pooling attended to; without one, what all items did on average.

    Args:
        record: what was seen.
        layer, head: as in `attended`.

    Raises:
        ArgumentError: there is neither a pooling nor a layer, or no such layer or head.

    Example:
        >>> import torch
        >>> from regard.inspection import LayerRecord
        >>> pooling = LayerRecord("pooling", torch.tensor([[[0.25, 0.5, 0.125, 0.125]]]))
        >>> (block,) = where(Record(("1,1", "1,2", "2,1", "2,2"), pooling=pooling, grid=(2, 2))).blocks
        >>> block.values
        ((0.25, 0.5), (0.125, 0.125))
    """
    choice = whole(record, layer, head)
    warnings = tuple(Prose(problem) for problem in problems(choice))
    if record.grid is None:
        values = (tuple(choice.weights[0].tolist()),)
        drawn = HeatMap(choice.title, ("the whole",), distinct(record.items), values, high=round_top(values))
    else:
        rows, columns = (tuple(str(place) for place in range(1, count + 1)) for count in record.grid)
        values = tuple(map(tuple, choice.weights[0].reshape(record.grid).tolist()))
        drawn = HeatMap(choice.title, rows, columns, values, high=round_top(values), verb="")
    return Page(record.model, (*warnings, drawn))
