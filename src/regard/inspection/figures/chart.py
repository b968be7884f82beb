"""A chart as a figure for a paper: the drawing of the page, in the colours that it has in the light."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from regard.inspection.figures.colours import INK, LINE, PAPER, QUIET
from regard.inspection.figures.sheet import LABEL, Sheet, points_of
from regard.inspection.figures.written import format_of, write_figure
from regard.page.blocks import Chart
from regard.page.charts.chart_labels import Sizes
from regard.page.charts.chart_layout import lay_out, swatch
from regard.page.charts.chart_numbers import axis_names
from regard.page.charts.series_style import COLOURS, series_style
from regard.page.marks import Disc, Group, Line, Mark, Polygon, Strokes, Text

__all__ = ["chart_figure", "save_chart"]

_TITLE = 9.0
_MARK = 2.3
# The height of the plot: a share of the width, within limits.
_SHORTEST, _TALLEST, _SHAPE = 150.0, 320.0, 0.58
# The legend: the height of a row, the gap between entries, and the widths of a swatch without and with a line.
_ROW, _GAP, _SWATCH, _SWATCH_LINE = 12.0, 12.0, 8.0, 26.0


def chart_figure(chart: Chart, *, width: float = 5.5, font: str | None = None) -> Any:
    """Draw a chart as a figure for a paper.

    Args:
        chart: the chart.
        width: its width in inches, from 2.5 to 40; letters have 7 to 9 points whatever the width.
        font: the name of an installed font; None: DejaVu Sans, which comes with matplotlib.

    Returns:
        a `matplotlib.figure.Figure` of one pair of axes whose unit is the point, 1/72 inch. pyplot doesn't know it.

    Raises:
        MissingExtraError: matplotlib isn't installed.
        ArgumentError: another width, or no such font.

    Example:
        >>> from regard.page import Point, Series
        >>> line = Series("softmax", (Point(512, 0.75, 0.7, 0.8), Point(1024, 0.5, 0.4, 0.6)))
        >>> drawn = chart_figure(Chart("", "length (words)", "accuracy", (line,), log_x=True, share=True))
        >>> [text.get_text() for text in drawn.axes[0].texts][:4]
        ['accuracy', '40%', '50%', '60%']
    """
    sheet = Sheet(points_of(width), font)
    x, y = axis_names(chart)
    top = 0.0
    if chart.title:
        top = sheet.paragraph(0, top, chart.title, sheet.width, bold=True, size=_TITLE) + 3
    top = sheet.paragraph(0, top, y, sheet.width, colour=QUIET)
    height = min(max(_SHAPE * sheet.width, _SHORTEST), _TALLEST)
    drawn = lay_out(chart, Sizes(sheet.width, height, LABEL, _MARK, lambda text: sheet.size(text)[0]))
    # The whole width is taken, so that figures of one width have one scale.
    sheet.box(0, top, sheet.width, height)
    _draw_marks(sheet, drawn.plot.marks, top)
    y_end = sheet.paragraph(sheet.width / 2, top + height, x, sheet.width, colour=QUIET, align="center") + 2
    if drawn.key is not None:
        y_end = sheet.paragraph(0, y_end, f"area of a disc: {chart.size}", sheet.width, colour=QUIET) + 2
        _draw_marks(sheet, drawn.key.marks, y_end)
        y_end += drawn.key.height
    if not drawn.named:
        _draw_legend(sheet, chart, y_end + 4)
    return sheet.finish()


def save_chart(chart: Chart, path: str | Path, *, width: float = 5.5, font: str | None = None) -> None:
    """Write a chart to a file, in the format that its ending says; the same chart gives the same bytes.

    Args:
        chart, width, font: as in `chart_figure`.
        path: the file, which ends in .png, .svg or .pdf; an old one is replaced, in one step.

    Raises:
        ArgumentError: another ending, or as in `chart_figure`.
        MissingExtraError: matplotlib isn't installed.
        OSError: the disk is full, or the folder isn't writable.

    Example:
        >>> import tempfile
        >>> from regard.page import Point, Series
        >>> chart = Chart("Speed and quality", "ms", "accuracy", (Series("softmax", (Point(20, 0.75),)),))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_chart(chart, f"{folder}/chart.svg")
        ...     ">softmax</text>" in Path(f"{folder}/chart.svg").read_text()
        True
    """
    # A wrong ending is told before anything is drawn.
    format_of(path)
    write_figure(chart_figure(chart, width=width, font=font), path)


def _draw_legend(sheet: Sheet, chart: Chart, y: float) -> None:
    """Draw the names with their marks, in rows."""
    x = 0.0
    for index, series in enumerate(chart.series):
        inside = _SWATCH_LINE if len(series.points) > 1 else _SWATCH
        name = sheet.clip(series.name, sheet.width - inside - 4)
        wide = inside + 4 + sheet.size(name)[0]
        if x and x + wide > sheet.width:
            x, y = 0.0, y + _ROW
        _draw_marks(sheet, (swatch(series, index, x, _ROW / 2, inside, _MARK),), y)
        sheet.text(x + inside + 4, y + _ROW / 2, name)
        x += wide + _GAP


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


def _draw_marks(sheet: Sheet, marks: Sequence[Mark], top: float, series: int = 0) -> None:
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
            _draw_marks(sheet, mark.marks, top, series if mark.series is None else mark.series)
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
