"""Marks on the sheet of a figure: what roles look like in the light, as the style sheet of the page has it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from regard.inspection.figures.colours import INK, LINE, PAPER, QUIET
from regard.inspection.figures.sheet import Sheet
from regard.page.charts.series_style import COLOURS, series_style
from regard.page.marks import Disc, Group, Line, Mark, Polygon, Strokes, Text

__all__ = ["draw_marks"]


class _Role(NamedTuple):
    """How a mark is drawn; a colour that is None is that of its series.

    Args:
        ink: the colour of a line, an edge or a text.
        width: how wide a line or an edge is, in points; 0 for no edge.
        fill: what it is filled with.
        alpha: how much the filling hides of what is below it.
    """

    ink: str | None = None
    width: float = 0.0
    fill: str | None = None
    alpha: float = 1.0


_ROLES = {
    "grid": _Role(LINE, 0.5),
    "rule": _Role(QUIET, 0.6),
    "tick": _Role(QUIET),
    "name": _Role(INK),
    "area": _Role(QUIET, 0.7, PAPER),
    "line": _Role(None, 1.3),
    "leader": _Role(None, 0.6),
    "whisker": _Role(None, 0.7),
    "band": _Role(alpha=0.16),
    "disc": _Role(None, 0.7, alpha=0.25),
    "mark": _Role(PAPER, 0.5),
}


def draw_marks(sheet: Sheet, marks: Sequence[Mark], top: float, series: int = 0) -> None:
    """Draw marks on a sheet, whose unit is theirs.

    Args:
        sheet: the sheet.
        marks: what is drawn.
        top: where on the sheet their upper edge lies.
        series: the index of the series whose colour they have, unless a group says so.
    """
    own = COLOURS[series_style(series).colour].light
    for mark in marks:
        if isinstance(mark, Group):
            draw_marks(sheet, mark.marks, top, series if mark.series is None else mark.series)
        else:
            _draw(sheet, mark, top, _ROLES[mark.role], own)


def _draw(sheet: Sheet, mark: Line | Strokes | Polygon | Disc | Text, top: float, role: _Role, own: str) -> None:
    ink, width = role.ink or own, role.width
    filling: dict[str, Any] = {
        "fill": role.fill or own,
        "edge": ink if width else None,
        "line": width,
        "alpha": role.alpha,
    }
    stroke: dict[str, Any] = {"colour": ink, "width": width}
    match mark:
        case Line(points, _, dashes, name):
            sheet.line([(x, top + y) for x, y in points], **stroke, dashes=_dashes(dashes), gid=name or None)
        case Strokes((ends,), _, dashes):
            sheet.line([(x, top + y) for x, y in ends], **stroke, dashes=_dashes(dashes))
        case Strokes(ends):
            sheet.lines(np.add(ends, (0.0, top)), colour=ink, width=width)
        case Polygon(points, _, name):
            sheet.polygon(np.add(points, (0.0, top)), **filling, gid=name or None)
        case Disc(x, y, radius, _, name):
            sheet.disc(x, top + y, radius, **filling, gid=name or None)
        case Text(x, y, text, _, align):
            sheet.text(x, top + y, text, colour=ink, align=align)


def _dashes(dashes: tuple[float, ...]) -> Any:
    # matplotlib takes them in widths of the line.
    return (0, dashes) if dashes else "-"
