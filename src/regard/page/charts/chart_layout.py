"""Where everything of a chart is drawn: the same for a page and for a figure, which differ in size and in font.

Places are to the right and down from the upper left corner, in the unit that texts are measured in.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from regard.page.charts.axes import Axis, linear_ticks, written, x_axis, y_axis
from regard.page.charts.chart import Chart, Point, Series
from regard.page.charts.chart_labels import Box, Label, end_labels, point_labels

__all__ = ["ChartLayout", "DrawnSeries", "KeyDisc", "Tick", "Whisker", "lay_out"]

Place = tuple[float, float]

# The most of the width that the names at the ends of lines, or a name beside a disc, may take.
_MOST_MARGIN, _MOST_NAME = 0.3, 0.42
# The space between two marked numbers, in heights of a letter: of the vertical and of the horizontal axis.
_TICK_ROWS, _TICK_GAP, _MOST_TICKS = 3.2, 1.3, 9


@dataclass(frozen=True)
class Tick:
    """A marked number of an axis, and where it lies along it."""

    place: float
    text: str


class Whisker(NamedTuple):
    """The interval of a point that isn't part of a band: a vertical line."""

    x: float
    top: float
    bottom: float


@dataclass(frozen=True)
class DrawnSeries:
    """A series, as it is drawn.

    Args:
        points: the middle of each mark.
        radii: the radius of each disc; 0 for points without a size.
        bands: the corners of the bands of intervals.
        whiskers: the other intervals.
    """

    points: tuple[Place, ...]
    radii: tuple[float, ...]
    bands: tuple[tuple[Place, ...], ...]
    whiskers: tuple[Whisker, ...]


@dataclass(frozen=True)
class KeyDisc:
    """A disc of the key that says what areas mean, and its number to the right."""

    x: float
    y: float
    radius: float
    text: str


@dataclass(frozen=True)
class ChartLayout:
    """All places of a chart.

    Args:
        width, height: the size of the drawing.
        left, top, right, bottom: the edges of the plot.
        x_ticks, y_ticks: the marked numbers.
        series: the series, in the order of the chart.
        labels: the names beside their series; empty if they collide, so that a legend is needed.
        key: the discs of the key, which is a drawing of its own, as wide as this one; empty if no point has a size.
        key_height: the height of the key.
    """

    width: float
    height: float
    left: float
    top: float
    right: float
    bottom: float
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    series: tuple[DrawnSeries, ...]
    labels: tuple[Label, ...]
    key: tuple[KeyDisc, ...]
    key_height: float


def lay_out(
    chart: Chart, width: float, height: float, letters: float, mark: float, measure: Callable[[str], float]
) -> ChartLayout:
    """Place everything of a chart.

    Args:
        chart: the chart.
        width, height: the size of the drawing, without the names of the axes.
        letters: the height of letters.
        mark: the radius of a mark without a size.
        measure: gives the width of a text.

    Example:
        >>> series = (Series("up", (Point(0, 0), Point(1, 1))),)
        >>> drawn = lay_out(Chart("", "x", "y", series), 300, 200, 10, 3, lambda text: 6 * len(text))
        >>> [tick.text for tick in drawn.y_ticks], drawn.labels[0].text
        (['0.0', '0.5', '1.0'], 'up')
    """
    largest = max((point.size for point in chart.points if point.size is not None), default=0.0)
    radius = 2.2 * letters * min(1.0, width / 45 / letters) if largest else 0.0
    reach = max(radius, mark)
    margin = _margin(chart, width, letters, measure)
    top = 0.7 * letters
    bottom = height - 1.9 * letters
    up = y_axis(chart, max(0.06, reach / (bottom - top)))
    y_ticks = up.ticks(max(2, int((bottom - top) / (_TICK_ROWS * letters))))
    left = max((measure(text) for _, text in y_ticks), default=0.0) + 0.7 * letters
    # Half of the last number of the horizontal axis may stand beside the plot.
    right = width - max(margin, reach if radius else 0.0, 1.2 * letters)
    across = x_axis(chart, max(0.03, reach / (right - left)))

    def place(x: float, y: float) -> Place:
        return left + across.place(x) * (right - left), bottom - up.place(y) * (bottom - top)

    def drawn(series: Series) -> DrawnSeries:
        runs = [list(run) for has, run in groupby(series.points, lambda point: point.interval is not None) if has]
        bands = tuple(_band(run, place) for run in runs if len(run) > 1)
        whiskers = tuple(_whisker(run[0], place) for run in runs if len(run) == 1)
        radii = tuple(radius * ((point.size or 0.0) / largest) ** 0.5 if largest else 0.0 for point in series.points)
        return DrawnSeries(tuple(place(point.x, point.y) for point in series.points), radii, bands, whiskers)

    series = tuple(drawn(each) for each in chart.series)
    plot = Box(left, top, right, bottom)
    return ChartLayout(
        width,
        height,
        *plot,
        _x_ticks(across, plot, width, letters, measure),
        tuple(Tick(place(chart.points[0].x, value)[1], text) for value, text in y_ticks),
        series,
        _labels(chart, series, plot, width, letters, mark, measure) or (),
        _key(radius, largest, left, letters, measure),
        2 * radius + 2.0 if radius else 0.0,
    )


def _margin(chart: Chart, width: float, letters: float, measure: Callable[[str], float]) -> float:
    """The room to the right of the plot for the names of lines; 0 if they need too much, or there are none."""
    widest = max((measure(each.name) for each in chart.series if len(each.points) > 1), default=0.0)
    margin = widest + 1.3 * letters if widest else 0.0
    return margin if margin <= _MOST_MARGIN * width else 0.0


def _band(run: list[Point], place: Callable[[float, float], Place]) -> tuple[Place, ...]:
    lows = [place(point.x, point.extent[0]) for point in run]
    highs = [place(point.x, point.extent[1]) for point in run]
    return (*highs, *reversed(lows))


def _whisker(point: Point, place: Callable[[float, float], Place]) -> Whisker:
    low, high = point.extent
    x, bottom = place(point.x, low)
    return Whisker(x, place(point.x, high)[1], bottom)


def _x_ticks(axis: Axis, plot: Box, width: float, letters: float, measure: Callable[[str], float]) -> tuple[Tick, ...]:
    """As many numbers as there is room for."""
    room = int((plot.right - plot.left) / (3 * letters))
    for most in range(min(max(1, room), _MOST_TICKS), 0, -1):
        ticks = [(plot.left + axis.place(value) * (plot.right - plot.left), text) for value, text in axis.ticks(most)]
        end = -letters * _TICK_GAP
        for x, text in ticks:
            half = measure(text) / 2
            if x - half < end + letters * _TICK_GAP or x + half > width:
                break
            end = x + half
        else:
            if ticks:
                return tuple(Tick(x, text) for x, text in ticks)
    return ()


def _labels(
    chart: Chart,
    series: tuple[DrawnSeries, ...],
    plot: Box,
    width: float,
    letters: float,
    mark: float,
    measure: Callable[[str], float],
) -> tuple[Label, ...] | None:
    """The names beside their series; None if there isn't room for all of them."""
    lines = [index for index, each in enumerate(chart.series) if len(each.points) > 1]
    singles = [index for index, each in enumerate(chart.series) if len(each.points) == 1]
    if any(measure(each.name) > _MOST_NAME * width for each in chart.series):
        return None
    if lines and not _margin(chart, width, letters, measure):
        return None
    ends = [(index, chart.series[index].name, series[index].points[-1]) for index in lines]
    found = end_labels(ends, plot.right, plot.top, plot.bottom, letters, mark)
    if found is None:
        return None
    taken = list(_obstacles(series, mark))
    names = [(index, chart.series[index].name, series[index].points[0]) for index in singles]
    reaches = {index: max(mark, series[index].radii[0]) for index in singles}
    beside = point_labels(names, reaches, taken, Box(plot.left, 0.0, width, plot.bottom), letters, measure)
    return None if beside is None else (*found, *beside)


def _obstacles(series: tuple[DrawnSeries, ...], mark: float) -> Iterator[Box]:
    """What no label may cover: marks, discs, whiskers, and lines in short pieces."""
    for each in series:
        for (x, y), radius in zip(each.points, each.radii, strict=True):
            reach = max(mark, radius)
            yield Box(x - reach, y - reach, x + reach, y + reach)
        for whisker in each.whiskers:
            yield Box(whisker.x - 1, whisker.top, whisker.x + 1, whisker.bottom)
        for (x, y), (to_x, to_y) in zip(each.points, each.points[1:], strict=False):
            steps = max(1, int(max(abs(to_x - x), abs(to_y - y)) / (2 * mark)))
            for step in range(steps):
                at_x, at_y = x + step / steps * (to_x - x), y + step / steps * (to_y - y)
                yield Box(at_x - mark / 2, at_y - mark / 2, at_x + mark / 2, at_y + mark / 2)


def _key(
    radius: float, largest: float, left: float, letters: float, measure: Callable[[str], float]
) -> tuple[KeyDisc, ...]:
    """Two discs of round sizes from `left` on: about a quarter of the largest size, and nearly all of it."""
    if not radius:
        return ()
    high = linear_ticks(0.0, largest, 5)[-1]
    sizes = [size for size in (linear_ticks(0.0, high / 3, 3)[-1], high) if size > 0]
    key: list[KeyDisc] = []
    x = left
    for size in sizes:
        text, reach = written(size), radius * (size / largest) ** 0.5
        key.append(KeyDisc(x + reach, radius + 1.0, reach, text))
        x += 2 * reach + 0.4 * letters + measure(text) + 1.2 * letters
    return tuple(key)
