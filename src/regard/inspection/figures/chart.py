"""A chart as a figure for a paper: the drawing of the page, in the colours that it has in the light."""

from pathlib import Path
from typing import Any

from regard.inspection.figures.colours import QUIET
from regard.inspection.figures.marks import draw_marks
from regard.inspection.figures.sheet import LABEL, Sheet, points_of
from regard.inspection.figures.written import format_of, write_figure
from regard.page.blocks import Chart
from regard.page.charts.chart_labels import Sizes
from regard.page.charts.chart_layout import lay_out, swatch
from regard.page.charts.chart_numbers import axis_names

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
    draw_marks(sheet, drawn.plot.marks, top)
    y_end = sheet.paragraph(sheet.width / 2, top + height, x, sheet.width, colour=QUIET, align="center") + 2
    if drawn.key is not None:
        y_end = sheet.paragraph(0, y_end, f"area of a disc: {chart.size}", sheet.width, colour=QUIET) + 2
        draw_marks(sheet, drawn.key.marks, y_end)
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
        draw_marks(sheet, (swatch(series, index, x, _ROW / 2, inside, _MARK),), y)
        sheet.text(x + inside + 4, y + _ROW / 2, name)
        x += wide + _GAP
