"""Receptive fields of all heads, small, on one scale: before and after training, side by side."""

import math
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from regard.attention.validation import check_tensor
from regard.errors import ArgumentError
from regard.inspection.figures.colours import INK, LINE, QUIET, weight_pixels
from regard.inspection.figures.legend import draw_legend
from regard.inspection.figures.sheet import LABEL, SMALL, Sheet, points_of

__all__ = ["receptive_field_figure"]

_LARGEST, _GAP, _BETWEEN, _NAME = 60.0, 5.0, 22.0, 9.0
# Smaller heads have no number.
_LEAST_NAMED = 14.0
_NOTE = "Mean weight by offset from the query pixel, which is framed; heads are numbered row by row"


def receptive_field_figure(
    fields: Mapping[str, Tensor], *, columns: int | None = None, width: float = 5.5, font: str | None = None
) -> Any:
    """Draw the receptive fields of all heads, for one state of a layer or several side by side, on one scale.

    Args:
        fields: by title, such as "before training", what `receptive_fields` returned: (head, side, side), the same
            shape for all, with an odd side.
        columns: how many heads are in a row; None: about as many as there are rows.
        width: the most inches that the figure may be wide.
        font: the name of an installed font; None: DejaVu Sans.

    Returns:
        a `matplotlib.figure.Figure`, as `figure` returns.

    Raises:
        MissingExtraError: matplotlib isn't installed.
        ArgumentError: there are no fields, they have different or other shapes, or `columns` or `width` can't be used.

    Example:
        >>> import torch
        >>> centre = torch.zeros(2, 3, 3)
        >>> centre[:, 1, 1] = 1.0
        >>> drawn = receptive_field_figure({"before": centre, "after": torch.full((2, 3, 3), 1 / 9)})
        >>> [text.get_text() for text in drawn.axes[0].texts][:3]
        ['before', '1', '2']
    """
    heads, side = _checked(fields)
    if columns is None:
        columns = math.ceil(math.sqrt(heads))
    if isinstance(columns, bool) or not isinstance(columns, int) or columns < 1:
        raise ArgumentError(f"`columns` must be a number of heads, 1 or more, but is {columns!r:.60}.")
    columns = min(columns, heads)
    sheet = Sheet(points_of(width), font)
    room = (sheet.width - _BETWEEN * (len(fields) - 1)) / len(fields)
    size = min(_LARGEST, (room + _GAP) / columns - _GAP)
    if size < side:
        raise ArgumentError(
            f"`columns` must leave each cell a point of the width, but is {columns}. Take fewer, or a larger `width`."
        )
    named = size >= _LEAST_NAMED
    tall = size + _GAP + named * _NAME
    high = max(1e-12, *(float(each.nan_to_num(0.0).max()) for each in fields.values()))
    for number, (title, each) in enumerate(fields.items()):
        left = number * (columns * (size + _GAP) - _GAP + _BETWEEN)
        sheet.text(left, -8.0, sheet.clip(title, columns * (size + _GAP) - _GAP, LABEL, bold=True), LABEL, bold=True)
        pixels = weight_pixels(each.detach().cpu().double().numpy(), high)
        for head in range(heads):
            x, y = left + head % columns * (size + _GAP), head // columns * tall
            if named:
                sheet.text(x, y + 4.0, str(head + 1), SMALL, colour=QUIET)
                y += _NAME
            cell = size / side
            sheet.cells(x, y, (cell, cell), pixels[head], gid=f"head-{number + 1}.{head + 1}")
            sheet.box(x, y, size, size, edge=LINE, line=0.6)
            middle = side // 2 * cell
            sheet.box(x + middle, y + middle, cell, cell, edge=INK, line=0.8)
    draw_legend(sheet, math.ceil(heads / columns) * tall + 2.0, _NOTE, high)
    return sheet.finish()


def _checked(fields: Mapping[str, Tensor]) -> tuple[int, int]:
    """The number of heads and the side of their windows."""
    if not isinstance(fields, Mapping) or not fields:
        raise ArgumentError(
            f"`fields` must be receptive fields by title, at least one, but is {fields!r:.60}. "
            'Pass {"after training": receptive_fields(...)}.'
        )
    shapes = set()
    for each in fields.values():
        check_tensor("fields", each, "(head, side, side) by title", (3,))
        shapes.add(tuple(each.shape))
    heads, side, other = next(iter(shapes))
    if len(shapes) > 1 or heads < 1 or side != other or side % 2 == 0:
        raise ArgumentError(
            f"`fields` must all be (head, side, side) of one shape with an odd side, but are {sorted(shapes)}. "
            "Take the same `reach` for all."
        )
    return heads, side
