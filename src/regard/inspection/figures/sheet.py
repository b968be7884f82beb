"""The sheet that a figure is drawn on: points to the right and down, whose height is known when all is drawn."""

import math
from collections.abc import Sequence
from typing import Any, Required, TypedDict, Unpack

import numpy as np

from regard.errors import ArgumentError
from regard.extras import require
from regard.inspection.figures.colours import INK, PAPER
from regard.inspection.figures.fonts import Fonts
from regard.page.visible import visible

__all__ = ["LABEL", "SMALL", "Sheet", "bezier", "points_of"]

LABEL, SMALL = 8.0, 7.0
"""The sizes of letters, in points: of items and numbers, and of what is said besides."""

_POINTS = 72
_NARROWEST, _WIDEST = 2.5, 40.0
_MARGIN = 3.0
_LINE = 9.5
_OVERLAP = 0.4
# An image has at least so many pixels an inch: readers of PDF blur enlarged pixels.
_PIXELS = 400


def points_of(width: float) -> float:
    """The points that a drawing of so many inches may be wide, without its margins.

    Raises:
        ArgumentError: `width` isn't a number from 2.5 to 40.

    Example:
        >>> points_of(5.5)
        390.0
    """
    if isinstance(width, bool) or not isinstance(width, int | float) or not _NARROWEST <= width <= _WIDEST:
        raise ArgumentError(f"`width` must be from {_NARROWEST:g} to {_WIDEST:g} inches, but is {width!r:.60}.")
    return math.floor(width * _POINTS) - 2 * _MARGIN


def bezier(points: Sequence[tuple[float, float]], steps: np.ndarray) -> list[tuple[float, float]]:
    """Places on a cubic Bezier curve of four points, at steps from 0, its beginning, to 1, its end.

    Example:
        >>> bezier([(0, 0), (0, 4), (4, 4), (4, 0)], np.array([0.0, 0.5, 1.0]))
        [(0.0, 0.0), (2.0, 3.0), (4.0, 0.0)]
    """
    at = steps[:, None]
    a, b, c, d = (np.asarray(each) for each in points)
    found = (1 - at) ** 3 * a + 3 * (1 - at) ** 2 * at * b + 3 * (1 - at) * at**2 * c + at**3 * d
    return [(x, y) for x, y in found.tolist()]


class _Letters(TypedDict, total=False):
    """How a text is written: black, regular, and beginning where it is written, unless it says otherwise.

    `align` is "left", "center" or "right".
    """

    colour: str
    align: str
    bold: bool


class _Stroke(TypedDict, total=False):
    """How a line is drawn: solid, unless `dashes` are those of matplotlib; `gid` is its id in an SVG file."""

    colour: Required[str]
    width: Required[float]
    alpha: float
    dashes: Any
    gid: str | None


class _Filling(TypedDict, total=False):
    """How a shape is drawn: filled, framed or both.

    The filling hides `alpha` of what is below it; `line` is the width of the frame, and `gid` the id in an SVG file.
    """

    fill: str | None
    edge: str | None
    line: float
    alpha: float
    gid: str | None


class Sheet:
    """What the views draw with. All sizes and places are in points.

    Args:
        width: the most that the drawing may be wide.
        font: the name of a font; None: the default one.
    """

    def __init__(self, width: float, font: str | None = None):
        self.width = width
        self.fonts = Fonts(font)
        self.figure = require("matplotlib.figure", extra="figures").Figure((width / _POINTS, 1.0), facecolor=PAPER)
        canvas = require("matplotlib.backends.backend_agg", extra="figures").FigureCanvasAgg(self.figure)
        self._renderer = canvas.get_renderer()
        self._patches = require("matplotlib.patches", extra="figures")
        self._collections = require("matplotlib.collections", extra="figures")
        self._path: Any = require("matplotlib.path", extra="figures").Path
        self._axes = self.figure.add_axes((0.0, 0.0, 1.0, 1.0))
        self._axes.set_axis_off()
        self._layer = 0
        self._left, self._top, self._right, self._bottom = np.inf, np.inf, -np.inf, -np.inf
        self._sizes: dict[tuple[str, float, bool], tuple[float, float]] = {}

    def finish(self) -> Any:
        """The figure, as large as what is drawn on it."""
        left, right = self._left - _MARGIN, self._right + _MARGIN
        top, bottom = self._top - _MARGIN, self._bottom + _MARGIN
        self.figure.set_size_inches((right - left) / _POINTS, (bottom - top) / _POINTS)
        self._axes.set(xlim=(left, right), ylim=(bottom, top))
        self.fonts.tell_missing()
        return self.figure

    def size(self, text: str, size: float = LABEL, *, bold: bool = False) -> tuple[float, float]:
        """The width and the height of a text."""
        key = text, size, bold
        if key not in self._sizes:
            drawn, families = self.fonts.fit(visible(text), bold)
            properties = require("matplotlib.font_manager", extra="figures").FontProperties(
                family=families, size=size, weight="bold" if bold else "normal"
            )
            wide, _, _ = self._renderer.get_text_width_height_descent(drawn, properties, False)
            self._sizes[key] = wide * _POINTS / self.figure.dpi, 1.2 * size
        return self._sizes[key]

    def clip(self, text: str, width: float, size: float = LABEL, *, bold: bool = False) -> str:
        """The text, cut to a width, with an ellipsis where it was cut."""
        # A token of a megabyte is cut before it is measured: no letter is narrower than a tenth of its size.
        most = max(1, int(10 * width / size))
        text = visible(text[: most + 1])
        if self.size(text, size, bold=bold)[0] <= width:
            return text
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            if self.size(text[:middle] + "…", size, bold=bold)[0] <= width:
                low = middle
            else:
                high = middle - 1
        return text[:low] + "…"

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float = LABEL,
        *,
        angle: float = 0.0,
        on: str | None = None,
        **letters: Unpack[_Letters],
    ) -> None:
        """Write a text whose middle line is at `y`, and which begins, ends or has its middle at `x`.

        Args:
            x, y, text, size, letters: where it stands, and how.
            angle: turned up by so many degrees around its beginning.
            on: the colour of a box behind it.
        """
        align, bold = letters.get("align", "left"), letters.get("bold", False)
        drawn, families = self.fonts.fit(visible(text), bold)
        self._axes.text(
            x,
            y,
            drawn,
            size=size,
            color=letters.get("colour", INK),
            ha=align,
            va="center_baseline" if not angle else "center",
            family=families,
            weight="bold" if bold else "normal",
            rotation=angle,
            rotation_mode="anchor",
            zorder=self._next(),
            # A token may hold $, which would begin a formula.
            parse_math=False,
            usetex=False,
            bbox=None if on is None else {"facecolor": on, "edgecolor": "none", "pad": 0.8},
        )
        wide, high = self.size(text, size, bold=bold)
        if angle:
            turn = np.deg2rad(angle)
            self._reach(x, y - wide * np.sin(turn) - high / 2, x + wide * np.cos(turn) + high / 2, y + high / 2)
        else:
            left = x - wide * {"left": 0.0, "center": 0.5, "right": 1.0}[align]
            self._reach(left, y - high / 2, left + wide, y + high / 2)

    def paragraph(
        self, x: float, y: float, text: str, width: float, *, size: float = SMALL, **letters: Unpack[_Letters]
    ) -> float:
        """Write text in lines of a width, the first of which begins at `y`; the result is where the last ends.

        The lines begin, end or have their middle at `x`, as in `text`.
        """
        high = _LINE * size / SMALL
        bold = letters.get("bold", False)
        line = ""
        for word in text.split(" "):
            more = f"{line} {word}" if line else word
            if line and self.size(more, size, bold=bold)[0] > width:
                self.text(x, y + high / 2, line, size, **letters)
                y += high
                more = word
            line = more
        self.text(x, y + high / 2, self.clip(line, width, size, bold=bold), size, **letters)
        return y + high

    def box(
        self, x: float, y: float, width: float, height: float, *, round: float = 0.0, **filling: Unpack[_Filling]
    ) -> None:
        """A rectangle, whose corners are as round as a circle of the radius `round`."""
        if round:
            style = self._patches.BoxStyle.Round(pad=0.0, rounding_size=min(round, width / 2, height / 2))
            patch = self._patches.FancyBboxPatch((x, y), width, height, boxstyle=style, mutation_aspect=1.0)
        else:
            patch = self._patches.Rectangle((x, y), width, height)
        self._fill(patch, filling)
        self._reach(x, y, x + width, y + height)

    def disc(self, x: float, y: float, radius: float, **filling: Unpack[_Filling]) -> None:
        """A circle."""
        self._fill(self._patches.Circle((x, y), radius), filling)
        self._reach(x - radius, y - radius, x + radius, y + radius)

    def polygon(self, points: np.ndarray, **filling: Unpack[_Filling]) -> None:
        """A polygon, (point, 2)."""
        self._fill(self._patches.Polygon(points), filling)
        self._reach_points(points.tolist())

    def line(self, points: Sequence[tuple[float, float]], **stroke: Unpack[_Stroke]) -> None:
        """A line of straight parts."""
        self._stroke(self._path(points), stroke)
        self._reach_points(points)

    def curve(self, points: Sequence[tuple[float, float]], **stroke: Unpack[_Stroke]) -> None:
        """A cubic Bezier curve of four points."""
        code = self._path
        self._stroke(code(points, [code.MOVETO, code.CURVE4, code.CURVE4, code.CURVE4]), stroke)
        self._reach_points(bezier(points, np.linspace(0.0, 1.0, 17)), stroke["width"] / 2)

    def lines(self, ends: np.ndarray, *, colour: str, width: float) -> None:
        """Many straight lines, (line, 2, 2)."""
        if len(ends):
            self._axes.add_collection(
                self._collections.LineCollection(
                    ends, colors=[colour], linewidths=width, zorder=self._next(), capstyle="butt"
                ),
                autolim=False,
            )
            self._reach_points(ends.reshape(-1, 2).tolist())

    def cells(self, x: float, y: float, cell: tuple[float, float], colours: np.ndarray, *, gid: str) -> None:
        """Cells, each drawn by itself, in colours (row, column, RGB) of bytes; `gid` is their id in an SVG file."""
        rows, columns = colours.shape[:2]
        row, column = (each.ravel() for each in np.indices((rows, columns)))
        left, top = x + cell[0] * column, y + cell[1] * row
        # All but the last cells go on below the next ones: readers of PDF show what is behind two cells between them.
        right = left + cell[0] + _OVERLAP * (column < columns - 1)
        bottom = top + cell[1] + _OVERLAP * (row < rows - 1)
        corners = np.stack([left, top, right, top, right, bottom, left, bottom], axis=-1).reshape(-1, 4, 2)
        drawn = self._collections.PolyCollection(
            corners, facecolors=colours.reshape(-1, 3) / 255, edgecolors="none", linewidths=0.0, zorder=self._next()
        )
        drawn.set_gid(gid)
        self._axes.add_collection(drawn, autolim=False)
        self._reach(x, y, x + cell[0] * columns, y + cell[1] * rows)

    def shaded(
        self, x: float, y: float, cell: tuple[float, float], levels: np.ndarray, colours: Sequence[str], *, gid: str
    ) -> None:
        """Many cells in few colours: for each colour one path, whose id in an SVG file is `gid` and its number.

        Args:
            x, y, cell: the left upper corner, and the width and the height of a cell.
            levels: (row, column), the numbers of the colours.
            colours: the colours.
            gid: the beginning of the ids.
        """
        code = self._path
        corner = [code.MOVETO, code.LINETO, code.LINETO, code.LINETO, code.CLOSEPOLY]
        rows, columns = levels.shape
        # The first colour is below all cells: readers of PDF show what is behind two cells between them.
        self.box(x, y, cell[0] * columns, cell[1] * rows, fill=colours[0])
        for level, colour in enumerate(colours):
            points = []
            for row, first, last in _runs(levels == level):
                left, top = x + first * cell[0], y + row * cell[1]
                right = x + last * cell[0] + _OVERLAP * (last < columns)
                bottom = top + cell[1] + _OVERLAP * (row < rows - 1)
                points += [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
            if points:
                path = code(points, corner * (len(points) // 5))
                self._fill(self._patches.PathPatch(path), {"fill": colour, "gid": f"{gid}-{level}"})

    def image(
        self, x: float, y: float, width: float, height: float, pixels: np.ndarray, *, smooth: bool = False
    ) -> None:
        """A picture (row, column, RGB) of bytes."""
        if not smooth:
            factor = max(1, round(_PIXELS * width / _POINTS / pixels.shape[1]))
            pixels = pixels.repeat(factor, axis=0).repeat(factor, axis=1)
        self._axes.imshow(
            pixels,
            extent=(x, x + width, y + height, y),
            aspect="auto",
            interpolation="none",
            zorder=self._next(),
        )
        self._reach(x, y, x + width, y + height)

    def _stroke(self, path: Any, stroke: _Stroke) -> None:
        alpha, dashes = stroke.get("alpha", 1.0), stroke.get("dashes", "-")
        patch = self._patches.PathPatch(
            path,
            facecolor="none",
            edgecolor=stroke["colour"],
            linewidth=stroke["width"],
            alpha=None if alpha == 1.0 else alpha,
            linestyle=dashes,
            capstyle="round" if dashes == "-" else "butt",
        )
        self._add(patch, stroke.get("gid"))

    def _fill(self, patch: Any, filling: _Filling) -> None:
        fill, edge, alpha = filling.get("fill") or "none", filling.get("edge"), filling.get("alpha", 1.0)
        if alpha != 1.0 and edge is None:
            patch.set_alpha(alpha)
        # The alpha of a patch would be that of its edge too.
        patch.set_facecolor(fill if alpha == 1.0 or edge is None else (fill, alpha))
        patch.set_edgecolor(edge or "none")
        patch.set_linewidth(filling.get("line", 1.0) if edge else 0.0)
        self._add(patch, filling.get("gid"))

    def _add(self, patch: Any, gid: str | None = None) -> None:
        patch.set(zorder=self._next(), gid=gid)
        # As an artist: the limits of the axes are set at the end, and need not follow each patch.
        self._axes.add_artist(patch)
        patch.set_clip_on(False)

    def _next(self) -> int:
        """What is drawn later lies on top."""
        self._layer += 1
        return self._layer

    def _reach_points(self, points: Sequence[Any], more: float = 0.0) -> None:
        xs, ys = zip(*points, strict=True)
        self._reach(min(xs) - more, min(ys) - more, max(xs) + more, max(ys) + more)

    def _reach(self, left: float, top: float, right: float, bottom: float) -> None:
        self._left, self._top = min(self._left, left), min(self._top, top)
        self._right, self._bottom = max(self._right, right), max(self._bottom, bottom)


def _runs(cells: np.ndarray) -> list[tuple[int, int, int]]:
    """The row, the first column and the column after the last of each run of cells, (row, column)."""
    edges = np.diff(np.pad(cells.astype(np.int8), ((0, 0), (1, 1))))
    starts, ends = np.argwhere(edges > 0).tolist(), np.argwhere(edges < 0).tolist()
    return [(row, first, last) for (row, first), (_, last) in zip(starts, ends, strict=True)]
