"""A chart: values with intervals along an axis, as lines or as single points, whose discs may show a third quantity."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real

from regard.errors import ArgumentError

__all__ = ["MOST_SERIES", "Chart", "Point", "Series"]

MOST_SERIES = 52
"""The letters that mark the series of a chart in a terminal."""

# Within these, an axis that is as wide as it gets still has numbers at its ends.
_SMALLEST, _LARGEST = 1e-100, 1e100


@dataclass(frozen=True)
class Point:
    """A value `y` at `x`.

    Args:
        x, y: finite numbers: 0, or from 1e-100 to 1e100 in absolute value.
        low, high: the ends of the interval of `y`, such as a confidence interval; both None if there is none.
        size: a third quantity of at least 0, drawn as the area of a disc.

    Raises:
        ArgumentError: a number isn't finite or is out of this range, only one end of the interval is given, `y` lies
            outside the interval, or `size` is negative.

    Example:
        >>> Point(512, 0.875, low=0.85, high=0.9)
        Point(x=512, y=0.875, low=0.85, high=0.9, size=None)
    """

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    size: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("x", self.x), ("y", self.y)):
            _check_number(name, value)
        for name, value in (("low", self.low), ("high", self.high), ("size", self.size)):
            if value is not None:
                _check_number(name, value)
        if (self.low is None) != (self.high is None):
            raise ArgumentError(
                f"`low` and `high` must both be numbers or both None, but are {self.low} and {self.high}."
            )
        if self.low is not None and self.low > self.y:
            raise ArgumentError(f"`low` must be at most `y`, which is {self.y}, but is {self.low}.")
        if self.high is not None and self.high < self.y:
            raise ArgumentError(f"`high` must be at least `y`, which is {self.y}, but is {self.high}.")
        if self.size is not None and self.size < 0:
            raise ArgumentError(f"`size` must be at least 0, since it is drawn as an area, but is {self.size}.")

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ends of the interval; None if there is none."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def extent(self) -> tuple[float, float]:
        """What it covers of the vertical axis: the interval, or `y` twice."""
        return self.interval or (self.y, self.y)


@dataclass(frozen=True)
class Series:
    """Points that belong together: a line, or a disc if there is only one.

    Args:
        name: what it is called in the legend.
        points: at least one, sorted by `x`.

    Raises:
        ArgumentError: there are no points, or they aren't sorted.

    Example:
        >>> len(Series("window of 64", (Point(512, 0.875), Point(1024, 0.75))).points)
        2
    """

    name: str
    points: tuple[Point, ...]

    def __post_init__(self) -> None:
        if not self.points:
            raise ArgumentError(f"`points` must have at least one point, but the series {self.name!r:.60} has none.")
        for one, other in pairwise(self.points):
            if one.x > other.x:
                raise ArgumentError(
                    f"`points` must be sorted by `x`, but in the series {self.name!r:.60} {other.x} follows {one.x}. "
                    f"Sort them by sorted(points, key=lambda point: point.x)."
                )


@dataclass(frozen=True)
class Chart:
    """Series on common axes.

    Args:
        title: what is shown.
        x, y: the names of the axes, with their units.
        series: 1 to 52 series of different names.
        size: what the area of a disc stands for, with its unit; needed if a point has a size.
        log_x, log_y: whether an axis is logarithmic.
        share: whether `y` is a fraction, which is written in percent.

    Raises:
        ArgumentError: there are no series or more than 52, two have the same name, a number on a logarithmic axis isn't
            above 0, or points have sizes without a name for them.

    Example:
        >>> softmax = Series("softmax", (Point(512, 0.75, 0.7, 0.8), Point(1024, 0.5, 0.4, 0.6)))
        >>> chart = Chart("Long texts", "length (words)", "accuracy", (softmax,), log_x=True, share=True)
        >>> [point.y for point in chart.points]
        [0.75, 0.5]
    """

    title: str
    x: str
    y: str
    series: tuple[Series, ...]
    size: str = ""
    log_x: bool = False
    log_y: bool = False
    share: bool = False

    def __post_init__(self) -> None:
        if not 1 <= len(self.series) <= MOST_SERIES:
            raise ArgumentError(f"`series` must have 1 to {MOST_SERIES} series, but has {len(self.series)}.")
        names = [each.name for each in self.series]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ArgumentError(f"`series` must have different names, but two are called {twice!r:.60}.")
        if self.log_x:
            _check_positive("log_x", "x", (point.x for point in self.points))
        if self.log_y:
            _check_positive("log_y", "y", (value for point in self.points for value in point.extent))
        if not self.size and any(point.size is not None for point in self.points):
            raise ArgumentError("`size` must say what the area of a disc stands for if points have a size, but is ''.")

    @property
    def points(self) -> tuple[Point, ...]:
        """The points of all series."""
        return tuple(point for each in self.series for point in each.points)


def _check_number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ArgumentError(f"`{name}` must be a number, but is {value!r:.60}.")
    number = float(value)
    if not math.isfinite(number):
        raise ArgumentError(
            f"`{name}` must be a finite number, but is {value}. Leave out points that weren't measured."
        )
    if number and not _SMALLEST <= abs(number) <= _LARGEST:
        raise ArgumentError(
            f"`{name}` must be 0 or from {_SMALLEST:g} to {_LARGEST:g} in absolute value, but is {value}. Choose "
            f"another unit."
        )


def _check_positive(argument: str, axis: str, values: Iterable[float]) -> None:
    lowest = min(values)
    if lowest <= 0:
        raise ArgumentError(
            f"`{argument}` must be False unless all numbers on the {axis} axis are above 0, but one is {lowest}."
        )
