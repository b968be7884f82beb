"""How the series of a chart are told apart: by colour, by the shape of the marks, and by the dashes of the line.

The hues are those of Okabe and Ito, which people with any kind of colour-vision deficiency can tell apart, made darker
on white and lighter on black until each has a contrast of at least 3 to the paper. No two of 280 series have all three
in common.

Source: Masataka Okabe and Kei Ito, "Color Universal Design" (2008).
"""

import math
from typing import NamedTuple

__all__ = ["COLOURS", "DASHES", "MARKS", "SeriesColour", "SeriesStyle", "series_style"]


class SeriesColour(NamedTuple):
    """A colour on light and on dark paper."""

    light: str
    dark: str


COLOURS = (
    SeriesColour("#0072b2", "#4aa8e0"),  # blue
    SeriesColour("#c85000", "#f07a30"),  # vermilion
    SeriesColour("#00896a", "#1fc19a"),  # bluish green
    SeriesColour("#b0578f", "#e094bd"),  # reddish purple
    SeriesColour("#a87300", "#f0b429"),  # orange
    SeriesColour("#2b8fc4", "#8accf2"),  # sky blue
    SeriesColour("#7d7400", "#ece15a"),  # yellow
    SeriesColour("#3c4248", "#d5d9dd"),  # black
)

DASHES: tuple[tuple[float, ...], ...] = ((), (6, 3), (2, 2.5), (9, 3, 2, 3), (4, 2, 1, 2, 1, 2))
"""The lengths of dashes and gaps in widths of a narrow line; () is solid."""

_ARM, _THIN = 1.4, 0.45


def _regular(corners: int, turn: float, size: float) -> tuple[tuple[float, float], ...]:
    angles = (turn + 2 * math.pi * corner / corners for corner in range(corners))
    return tuple((round(size * math.cos(angle), 4), round(size * math.sin(angle), 4)) for angle in angles)


def _plus(turn: float) -> tuple[tuple[float, float], ...]:
    arm = ((_ARM, -_THIN), (_ARM, _THIN), (_THIN, _THIN))
    turns = ((math.cos(angle), math.sin(angle)) for angle in (turn + quarter * math.pi / 2 for quarter in range(4)))
    return tuple((round(c * x - s * y, 4), round(s * x + c * y, 4)) for c, s in turns for x, y in arm)


MARKS: tuple[tuple[tuple[float, float], ...], ...] = (
    (),
    _regular(4, math.pi / 4, 1.25),
    _regular(3, -math.pi / 2, 1.35),
    _regular(4, 0.0, 1.35),
    _regular(3, math.pi / 2, 1.35),
    _plus(0.0),
    _plus(math.pi / 4),
)
"""The corners of the marks around their middle, to the right and down, in units of their radius; () is a disc."""


class SeriesStyle(NamedTuple):
    """The style of one series.

    Args:
        colour: the index of its colour in `COLOURS`.
        mark: the corners of its mark; () for a disc.
        dashes: the dashes of its line; () for a solid one.
    """

    colour: int
    mark: tuple[tuple[float, float], ...]
    dashes: tuple[float, ...]


def series_style(index: int) -> SeriesStyle:
    """The style of the series with an index, from 0.

    Example:
        >>> series_style(0) == SeriesStyle(0, (), ()), len({series_style(index) for index in range(280)})
        (True, 280)
    """
    return SeriesStyle(index % len(COLOURS), MARKS[index % len(MARKS)], DASHES[index % len(DASHES)])
