"""Where everything of a chart is drawn: the same for a page and for a figure, which differ in size and in font.

Places are in the unit that texts are measured in.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from regard.page.charts.axes import Axis, linear_ticks, written, x_axis, y_axis
from regard.page.charts.chart import Chart, Point, Series
from regard.page.charts.chart_labels import Label, Sizes, end_labels, point_labels
from regard.page.charts.chart_numbers import point_text
from regard.page.charts.series_style import series_style
from regard.page.marks import Box, Disc, Drawing, Group, Line, Mark, Place, Polygon, Strokes, Text
from regard.page.visible import clip

__all__ = ["ChartDrawing", "lay_out", "swatch"]

# The most of the width that the names at the ends of lines, or a name beside a disc, may take.
_MOST_MARGIN, _MOST_NAME = 0.3, 0.42
# The space between two marked numbers, in heights of a letter: of the vertical and of the horizontal axis.
_TICK_ROWS, _TICK_GAP, _MOST_TICKS = 3.2, 1.3, 9
# The length of the stroke at a marked number, and of half of that at the end of an interval, in heights of a letter.
_TICK, _CAP = 0.3125, 0.25
_LONGEST_TITLE = 60


@dataclass(frozen=True)
class ChartDrawing:
    """A chart, drawn but for its title, the names of its axes, and the legend if it needs one.

    Args:
        plot: the axes and the series. The roles of its marks are "grid", "rule" and "tick" of the axes, "line", "mark"
            and "disc" of points, "band" and "whisker" of intervals, and "name" and "leader" of the names of series.
        key: the discs that say what areas mean, as "area" and "tick"; as wide as the plot. None if no point has a size.
        named: whether the names stand beside their series; if not, they would collide, and a legend is needed.
    """

    plot: Drawing
    key: Drawing | None
    named: bool


@dataclass(frozen=True)
class _Placed:
    """A series in its place.

    Args:
        points: the middle of each mark.
        radii: the radius of each disc; 0 for points without a size.
        bands: the corners of the bands of intervals.
        whiskers: the upper and lower ends of the other intervals.
    """

    points: tuple[Place, ...]
    radii: tuple[float, ...]
    bands: tuple[tuple[Place, ...], ...]
    whiskers: tuple[tuple[Place, Place], ...]


def lay_out(chart: Chart, sizes: Sizes) -> ChartDrawing:
    """Place everything of a chart.

    Example:
        >>> series = (Series("up", (Point(0, 0), Point(1, 1))),)
        >>> drawn = lay_out(Chart("", "x", "y", series), Sizes(300, 200, 10, 3, lambda text: 6 * len(text)))
        >>> [text.text for text in drawn.plot.texts]
        ['0.0', '0.5', '1.0', '0.0', '0.2', '0.4', '0.6', '0.8', '1.0', 'up']
    """
    width, height, letters, mark, measure = sizes
    largest = max((point.size for point in chart.points if point.size is not None), default=0.0)
    radius = 2.2 * letters * min(1.0, width / 45 / letters) if largest else 0.0
    reach = max(radius, mark)
    margin = _margin(chart, sizes)
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

    def placed(series: Series) -> _Placed:
        runs = [list(run) for has, run in groupby(series.points, lambda point: point.interval is not None) if has]
        bands = tuple(_band(run, place) for run in runs if len(run) > 1)
        whiskers = tuple(_whisker(run[0], place) for run in runs if len(run) == 1)
        radii = tuple(radius * ((point.size or 0.0) / largest) ** 0.5 if largest else 0.0 for point in series.points)
        return _Placed(tuple(place(point.x, point.y) for point in series.points), radii, bands, whiskers)

    series = tuple(placed(each) for each in chart.series)
    plot = Box(left, top, right, bottom)
    labels = _labels(chart, series, plot, sizes)
    heights = [(place(chart.points[0].x, value)[1], text) for value, text in y_ticks]
    marks = [
        *_axes(plot, _x_ticks(across, plot, sizes), heights, letters),
        # Intervals lie below the lines of all series.
        *(Group(tuple(_intervals(each, index, letters)), index) for index, each in enumerate(series)),
        *(Group(tuple(_series(chart, each, index, mark)), index) for index, each in enumerate(series)),
        *(mark for label in labels or () for mark in _label(label)),
    ]
    key = Drawing(width, 2 * radius + 2.0, letters, tuple(_key(radius, largest, left, sizes)))
    return ChartDrawing(Drawing(width, height, letters, tuple(marks)), key if radius else None, labels is not None)


def swatch(series: Series, index: int, x: float, y: float, width: float, mark: float) -> Group:
    """What a legend shows of a series, from `x` on and around the height `y`: its mark, and its line if it has one."""
    style = series_style(index)
    ends = ((x, y), (x + width, y))
    line = (Strokes((ends,), "line", style.dashes),) if len(series.points) > 1 else ()
    return Group((*line, _mark(index, x + width / 2, y, mark)), index)


def _axes(
    plot: Box, x_ticks: Sequence[tuple[float, str]], y_ticks: Sequence[tuple[float, str]], letters: float
) -> Iterator[Mark]:
    left, _, right, bottom = plot
    for y, text in y_ticks:
        yield Strokes((((left, y), (right, y)),), "grid")
        yield Text(left - 0.5 * letters, y, text, "tick", "right")
    yield Strokes((((left, bottom), (right, bottom)),), "rule")
    for x, text in x_ticks:
        yield Strokes((((x, bottom), (x, bottom + _TICK * letters)),), "rule")
        yield Text(x, bottom + 1.15 * letters, text, "tick", "center")


def _intervals(placed: _Placed, index: int, letters: float) -> Iterator[Mark]:
    for number, band in enumerate(placed.bands, start=1):
        yield Polygon(band, "band", f"band-{index + 1}-{number}")
    cap = _CAP * letters
    for whisker in placed.whiskers:
        yield Strokes((whisker, *(((x - cap, y), (x + cap, y)) for x, y in whisker)), "whisker")


def _series(chart: Chart, placed: _Placed, index: int, mark: float) -> Iterator[Mark]:
    series = chart.series[index]
    if len(series.points) > 1:
        yield Line(placed.points, "line", series_style(index).dashes, f"line-{index + 1}")
    for number, point in enumerate(series.points):
        (x, y), radius, name = placed.points[number], placed.radii[number], f"{index + 1}-{number + 1}"
        disc = (Disc(x, y, radius, "disc", f"disc-{name}"),) if radius else ()
        title = f"{clip(series.name, _LONGEST_TITLE)}: {point_text(chart, point)}"
        yield Group((*disc, _mark(index, x, y, mark, f"mark-{name}")), title=title)


def _mark(index: int, x: float, y: float, radius: float, name: str = "") -> Mark:
    corners = series_style(index).mark
    if not corners:
        return Disc(x, y, radius, "mark", name)
    return Polygon(tuple((x + radius * dx, y + radius * dy) for dx, dy in corners), "mark", name)


def _label(label: Label) -> Iterator[Mark]:
    if label.leader:
        yield Group((Line(label.leader, "leader"),), label.series)
    yield Text(label.x, label.y, label.text, "name", label.align)


def _margin(chart: Chart, sizes: Sizes) -> float:
    """The room to the right of the plot for the names of lines; 0 if they need too much, or there are none."""
    widest = max((sizes.measure(each.name) for each in chart.series if len(each.points) > 1), default=0.0)
    margin = widest + 1.3 * sizes.letters if widest else 0.0
    return margin if margin <= _MOST_MARGIN * sizes.width else 0.0


def _band(run: list[Point], place: Callable[[float, float], Place]) -> tuple[Place, ...]:
    lows = [place(point.x, point.extent[0]) for point in run]
    highs = [place(point.x, point.extent[1]) for point in run]
    return (*highs, *reversed(lows))


def _whisker(point: Point, place: Callable[[float, float], Place]) -> tuple[Place, Place]:
    low, high = point.extent
    return place(point.x, high), place(point.x, low)


def _x_ticks(axis: Axis, plot: Box, sizes: Sizes) -> list[tuple[float, str]]:
    """As many numbers as there is room for, and where they lie."""
    room = int((plot.right - plot.left) / (3 * sizes.letters))
    for most in range(min(max(1, room), _MOST_TICKS), 0, -1):
        ticks = [(plot.left + axis.place(value) * (plot.right - plot.left), text) for value, text in axis.ticks(most)]
        gap = sizes.letters * _TICK_GAP
        end = -gap
        for x, text in ticks:
            half = sizes.measure(text) / 2
            if x - half < end + gap or x + half > sizes.width:
                break
            end = x + half
        else:
            if ticks:
                return ticks
    return []


def _labels(chart: Chart, series: tuple[_Placed, ...], plot: Box, sizes: Sizes) -> tuple[Label, ...] | None:
    """The names beside their series; None if there isn't room for all of them."""
    lines = [index for index, each in enumerate(chart.series) if len(each.points) > 1]
    singles = [index for index, each in enumerate(chart.series) if len(each.points) == 1]
    if any(sizes.measure(each.name) > _MOST_NAME * sizes.width for each in chart.series):
        return None
    if lines and not _margin(chart, sizes):
        return None
    ends = [(index, chart.series[index].name, series[index].points[-1]) for index in lines]
    found = end_labels(ends, plot, sizes)
    if found is None:
        return None
    taken = list(_obstacles(series, sizes.mark))
    names = [(index, chart.series[index].name, series[index].points[0]) for index in singles]
    reaches = {index: max(sizes.mark, series[index].radii[0]) for index in singles}
    beside = point_labels(names, reaches, taken, Box(plot.left, 0.0, sizes.width, plot.bottom), sizes)
    return None if beside is None else (*found, *beside)


def _obstacles(series: tuple[_Placed, ...], mark: float) -> Iterator[Box]:
    """What no label may cover: marks, discs, whiskers, and lines in short pieces."""
    for each in series:
        for (x, y), radius in zip(each.points, each.radii, strict=True):
            reach = max(mark, radius)
            yield Box(x - reach, y - reach, x + reach, y + reach)
        for (x, top), (_, bottom) in each.whiskers:
            yield Box(x - 1, top, x + 1, bottom)
        for (x, y), (to_x, to_y) in zip(each.points, each.points[1:], strict=False):
            steps = max(1, int(max(abs(to_x - x), abs(to_y - y)) / (2 * mark)))
            for step in range(steps):
                at_x, at_y = x + step / steps * (to_x - x), y + step / steps * (to_y - y)
                yield Box(at_x - mark / 2, at_y - mark / 2, at_x + mark / 2, at_y + mark / 2)


def _key(radius: float, largest: float, left: float, sizes: Sizes) -> Iterator[Mark]:
    """Two discs of round sizes from `left` on: about a quarter of the largest size, and nearly all of it."""
    if not radius:
        return
    high = linear_ticks(0.0, largest, 5)[-1]
    x = left
    for size in (linear_ticks(0.0, high / 3, 3)[-1], high):
        if size > 0:
            text, reach = written(size), radius * (size / largest) ** 0.5
            beside = x + 2 * reach + 0.4 * sizes.letters
            yield Disc(x + reach, radius + 1.0, reach, "area")
            yield Text(beside, radius + 1.0, text, "tick")
            x = beside + sizes.measure(text) + 1.2 * sizes.letters
