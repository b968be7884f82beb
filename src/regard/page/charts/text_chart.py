"""A chart as text: a plot in characters, in which letters are the series, above a legend with their names."""

import string
from collections.abc import Iterator
from itertools import pairwise

from rich.cells import cell_len
from rich.text import Text

from regard.page.blocks import Chart
from regard.page.charts.axes import Axis, x_axis, y_axis
from regard.page.charts.chart import Series
from regard.page.charts.chart_numbers import axis_names, point_text
from regard.page.terminal import Terminal
from regard.page.wrapping import wrap

__all__ = ["chart_lines"]

_ROWS, _MOST_COLUMNS = 14, 120
# A row of the plot for each number on the vertical axis, and two rows between them.
_MOST_TICKS = 5
_LETTERS = string.ascii_lowercase + string.ascii_uppercase
_SEVERAL = "*"
_MOST_GROUPS = 6
_COLOURS = ("blue", "yellow", "green", "magenta", "cyan", "red")

_Place = tuple[int, int]


def chart_lines(block: Chart, terminal: Terminal) -> list[Text]:
    """Draw a chart: the title, the name of the vertical axis, the plot, the name of the other, and the legend."""
    x, y = axis_names(block)
    lines = [*wrap(block.title, terminal.width, "bold"), *wrap(y, terminal.width, "dim")]
    across, up = x_axis(block), y_axis(block)
    labels = {_row(up, value): text for value, text in up.ticks(_MOST_TICKS)}
    gutter = max(map(cell_len, labels.values()), default=0)
    columns = min(terminal.width - gutter - 2, _MOST_COLUMNS)
    plot = _Plot(block, across, up, columns, ascii=terminal.ascii)
    wall, tick = ("|", "+") if terminal.ascii else ("│", "┤")
    for row in range(_ROWS):
        label = labels.get(row, "")
        line = Text(f"{label:>{gutter}} {tick if label else wall}", "dim")
        lines.append(line.append_text(plot.line(row)))
        line.rstrip()
    lines += _feet(across, gutter + 2, columns, ascii=terminal.ascii)
    lines += [Text(" " * (gutter + 2)) + line for line in wrap(x, terminal.width - gutter - 2, "dim")]
    for index, series in enumerate(block.series):
        lines += _legend(block, series, index, terminal.width)
    return lines + _notes(block, plot, terminal)


def _row(axis: Axis, value: float) -> int:
    return round((1 - axis.place(value)) * (_ROWS - 1))


class _Plot:
    """The characters of a plot, and the series that share a place."""

    def __init__(self, chart: Chart, across: Axis, up: Axis, columns: int, *, ascii: bool):
        self.shared: list[tuple[str, ...]] = []
        self._across, self._up, self._columns = across, up, columns
        self._cells: dict[_Place, tuple[str, str]] = {}
        dot, bar = ("." if ascii else "·"), ("|" if ascii else "╎")
        # What is drawn later replaces what is below it: lines, intervals, and marks at the top.
        for index, series in enumerate(chart.series):
            for place in self._between(series):
                self._cells[place] = dot, _colour(index)
        for index, series in enumerate(chart.series):
            for point in series.points:
                low, high = (_row(up, value) for value in point.extent)
                for row in range(high, low + 1):
                    self._cells[row, self._column(point.x)] = bar, _colour(index)
        marks: dict[_Place, dict[int, None]] = {}
        for index, series in enumerate(chart.series):
            for point in series.points:
                marks.setdefault((_row(up, point.y), self._column(point.x)), {})[index] = None
        for place, found in marks.items():
            several = len(found) > 1
            self._cells[place] = (_SEVERAL, "bold") if several else (_LETTERS[next(iter(found))], _mark(found))
            letters = tuple(_LETTERS[index] for index in found)
            if several and letters not in self.shared:
                self.shared.append(letters)

    def line(self, row: int) -> Text:
        line = Text()
        for column in range(self._columns):
            line.append(*self._cells.get((row, column), (" ", "")))
        return line

    def _column(self, value: float) -> int:
        return round(self._across.place(value) * (self._columns - 1))

    def _between(self, series: Series) -> Iterator[_Place]:
        """The places on the straight lines between points."""
        places = [(_row(self._up, point.y), self._column(point.x)) for point in series.points]
        for (top, left), (bottom, right) in pairwise(places):
            steps = max(abs(bottom - top), abs(right - left))
            for step in range(1, steps):
                yield top + round(step * (bottom - top) / steps), left + round(step * (right - left) / steps)


def _colour(index: int) -> str:
    return _COLOURS[index % len(_COLOURS)]


def _mark(found: dict[int, None]) -> str:
    return f"bold {_colour(next(iter(found)))}"


def _feet(axis: Axis, indent: int, columns: int, *, ascii: bool) -> list[Text]:
    """The horizontal axis, and as many numbers beneath it as there is room for."""
    corner, line, tick = ("+", "-", "+") if ascii else ("└", "─", "┬")
    for most in range(min(10, columns // 4), 0, -1):
        ticks = [(round(axis.place(value) * (columns - 1)), text) for value, text in axis.ticks(most)]
        written, marks = " " * indent, [line] * columns
        fits = True
        for column, text in ticks:
            # A number at an end is moved inside.
            start = indent + min(max(0, column - (len(text) - 1) // 2), max(0, columns - len(text)))
            fits = fits and (start > len(written) or not written.strip())
            written = written.ljust(start) + text
            marks[column] = tick
        if ticks and (fits or most == 1):
            return [Text(" " * (indent - 1) + corner + "".join(marks), "dim"), Text(written, "dim")]
    return [Text(" " * (indent - 1) + corner + line * columns, "dim")]


def _legend(chart: Chart, series: Series, index: int, width: int) -> list[Text]:
    text = series.name
    if len(series.points) == 1:
        text += f": {point_text(chart, series.points[0])}"
    lines = [Text("  ") + line for line in wrap(text, width - 2)] or [Text("  ")]
    first = Text(_LETTERS[index], f"bold {_colour(index)}")
    return [first.append_text(lines[0][1:]), *lines[1:]]


def _notes(chart: Chart, plot: _Plot, terminal: Terminal) -> list[Text]:
    notes = []
    if plot.shared:
        groups = "; ".join(", ".join(letters) for letters in plot.shared)
        listed = f": {groups}" if len(plot.shared) <= _MOST_GROUPS else ""
        notes.append(f"{_SEVERAL} is more than one series in one place{listed}.")
    if any(point.interval for point in chart.points):
        notes.append(f"{'|' if terminal.ascii else '╎'} is the interval of a point.")
    return [line for note in notes for line in wrap(note, terminal.width, "dim")]
