"""A chart as a figure for a paper: the drawing of the page, in the colours that it has in the light."""

from pathlib import Path
from typing import Any

import numpy as np

from regard.inspection.figures.colours import LINE, PAPER, QUIET
from regard.inspection.figures.sheet import LABEL, Sheet, points_of
from regard.inspection.figures.written import format_of, write_figure
from regard.page.blocks import Chart
from regard.page.charts.chart_layout import ChartLayout, DrawnSeries, lay_out
from regard.page.charts.chart_numbers import axis_names
from regard.page.charts.series_style import COLOURS, series_style

__all__ = ["chart_figure", "save_chart"]

_TITLE = 9.0
_MARK, _LINE, _EDGE = 2.3, 1.3, 0.7
_BAND, _DISC = 0.16, 0.25
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
    layout = lay_out(chart, sheet.width, height, LABEL, _MARK, lambda text: sheet.size(text)[0])
    _draw_axes(sheet, layout, top)
    for index, drawn in enumerate(layout.series):
        _draw_intervals(sheet, drawn, index, top)
    for index, drawn in enumerate(layout.series):
        _draw_series(sheet, drawn, index, top)
    for label in layout.labels:
        if label.leader:
            sheet.line([(across, top + down) for across, down in label.leader], colour=_colour(label.series), width=0.6)
        sheet.text(label.x, top + label.y, label.text, align=label.align)
    y_end = sheet.paragraph(sheet.width / 2, top + layout.height, x, sheet.width, colour=QUIET, align="center")
    y_end = _draw_key(sheet, chart, layout, y_end + 2)
    if not layout.labels:
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


def _colour(index: int) -> str:
    return COLOURS[series_style(index).colour].light


def _draw_axes(sheet: Sheet, layout: ChartLayout, top: float) -> None:
    # The whole width is taken, so that figures of one width have one scale.
    sheet.box(0, top, sheet.width, layout.height)
    for tick in layout.y_ticks:
        y = top + tick.place
        sheet.line([(layout.left, y), (layout.right, y)], colour=LINE, width=0.5)
        sheet.text(layout.left - 0.5 * LABEL, y, tick.text, colour=QUIET, align="right")
    bottom = top + layout.bottom
    sheet.line([(layout.left, bottom), (layout.right, bottom)], colour=QUIET, width=0.6)
    for tick in layout.x_ticks:
        sheet.line([(tick.place, bottom), (tick.place, bottom + 2.5)], colour=QUIET, width=0.6)
        sheet.text(tick.place, bottom + 1.15 * LABEL, tick.text, colour=QUIET, align="center")


def _draw_intervals(sheet: Sheet, drawn: DrawnSeries, index: int, top: float) -> None:
    for number, band in enumerate(drawn.bands, start=1):
        corners = np.add(band, (0.0, top))
        sheet.polygon(corners, fill=_colour(index), alpha=_BAND, gid=f"band-{index + 1}-{number}")
    for x, high, low in drawn.whiskers:
        ends = np.array([[(x, high), (x, low)], *([(x - 2, y), (x + 2, y)] for y in (high, low))])
        sheet.lines(np.add(ends, (0.0, top)), colour=_colour(index), width=_EDGE)


def _draw_series(sheet: Sheet, drawn: DrawnSeries, index: int, top: float) -> None:
    points = [(x, top + y) for x, y in drawn.points]
    if len(points) > 1:
        sheet.line(points, colour=_colour(index), width=_LINE, dashes=_dashes(index), gid=f"line-{index + 1}")
    for number, ((x, y), radius) in enumerate(zip(points, drawn.radii, strict=True), start=1):
        name = f"{index + 1}-{number}"
        if radius:
            sheet.disc(
                x, y, radius, fill=_colour(index), edge=_colour(index), line=_EDGE, alpha=_DISC, gid=f"disc-{name}"
            )
        _draw_mark(sheet, x, y, index, f"mark-{name}")


def _draw_mark(sheet: Sheet, x: float, y: float, index: int, gid: str | None = None) -> None:
    corners = series_style(index).mark
    if corners:
        places = np.array(corners) * _MARK + (x, y)
        sheet.polygon(places, fill=_colour(index), edge=PAPER, line=0.5, gid=gid)
    else:
        sheet.disc(x, y, _MARK, fill=_colour(index), edge=PAPER, line=0.5, gid=gid)


def _dashes(index: int) -> Any:
    dashes = series_style(index).dashes
    # matplotlib takes them in widths of the line.
    return (0, dashes) if dashes else "-"


def _draw_key(sheet: Sheet, chart: Chart, layout: ChartLayout, y: float) -> float:
    """Draw what areas mean; the result is where it ends."""
    if not layout.key:
        return y
    y = sheet.paragraph(0, y, f"area of a disc: {chart.size}", sheet.width, colour=QUIET) + 2
    for disc in layout.key:
        sheet.disc(disc.x, y + disc.y, disc.radius, fill=PAPER, edge=QUIET, line=_EDGE)
        sheet.text(disc.x + disc.radius + 0.4 * LABEL, y + disc.y, disc.text, colour=QUIET)
    return y + layout.key_height


def _draw_legend(sheet: Sheet, chart: Chart, y: float) -> None:
    """Draw the names with their marks, in rows."""
    x = 0.0
    for index, series in enumerate(chart.series):
        swatch = _SWATCH_LINE if len(series.points) > 1 else _SWATCH
        name = sheet.clip(series.name, sheet.width - swatch - 4)
        wide = swatch + 4 + sheet.size(name)[0]
        if x and x + wide > sheet.width:
            x, y = 0.0, y + _ROW
        if len(series.points) > 1:
            ends = [(x, y + _ROW / 2), (x + swatch, y + _ROW / 2)]
            sheet.line(ends, colour=_colour(index), width=_LINE, dashes=_dashes(index))
        _draw_mark(sheet, x + swatch / 2, y + _ROW / 2, index)
        sheet.text(x + swatch + 4, y + _ROW / 2, name)
        x += wide + _GAP
