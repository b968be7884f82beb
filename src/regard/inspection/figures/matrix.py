"""A matrix as it stands in a formula: its numbers in cells, with its symbol and its shape above."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from regard.inspection.figures.colours import INK, LINE, MASKED, QUIET, RAISED, WEIGHT_INK, ink_on_blue, weight_colours
from regard.inspection.figures.sheet import LABEL, SMALL, Sheet

__all__ = ["CELL", "Matrix", "draw_matrix", "short_number"]

CELL = 13.0
"""The height of a cell."""

_LEAST, _BESIDE, _ABOVE = 15.0, 6.0, 13.0
_LARGE = 1e4


class Matrix(NamedTuple):
    """A matrix that is drawn.

    Args:
        symbol: what formulas call it.
        rows: its numbers; minus infinity is a score that the mask hides.
        high: the weight that has the full colour; None if the numbers aren't weights.
    """

    symbol: str
    rows: Sequence[Sequence[float]]
    high: float | None = None

    @property
    def shape(self) -> str:
        """Its rows and columns.

        Example:
            >>> Matrix("I", [[1, 0], [0, 2], [1, 1]]).shape
            '3 × 2'
        """
        return f"{len(self.rows)} × {len(self.rows[0])}"

    def cell(self, sheet: Sheet) -> float:
        """The width of its cells, which hold the longest number."""
        texts = (short_number(value) for row in self.rows for value in row)
        return max(_LEAST, max(sheet.size(text)[0] for text in texts) + _BESIDE)

    def width(self, sheet: Sheet) -> float:
        """The width that it takes, with its symbol and its shape."""
        above = sheet.size(self.symbol, bold=True)[0] + 4 + sheet.size(self.shape, SMALL)[0] if self.symbol else 0.0
        return max(self.cell(sheet) * len(self.rows[0]), above)

    @property
    def height(self) -> float:
        """The height that it takes."""
        return CELL * len(self.rows) + (_ABOVE if self.symbol else 0.0)


def short_number(value: float) -> str:
    """A number for a cell: an integer as it is, any other with two decimals, and a large one with four digits.

    Example:
        >>> [short_number(value) for value in (2.0, 1.99999, 1e-6, -1e-17, 12345.6, float("-inf"))]
        ['2', '2.00', '0.00', '0', '1.235e+04', '−∞']
    """
    if not math.isfinite(value):
        return f"{value:+}".replace("+inf", "∞").replace("-inf", "−∞").removeprefix("+")
    if abs(value) >= _LARGE:
        text = f"{value:.4g}"
    else:
        # Sums in float64 leave remainders like 1e-17 where the result is an integer.
        text = f"{value:.0f}" if abs(value - round(value)) < 1e-12 else f"{value:.2f}"
    return text.removeprefix("-") if not float(text) else text.replace("-", "−", 1) if value < 0 else text


def draw_matrix(sheet: Sheet, x: float, y: float, matrix: Matrix, *, framed: int | None = None, gid: str = "") -> None:
    """Draw a matrix.

    Args:
        sheet, x, y: where its left upper corner is.
        matrix: the matrix.
        framed: the index of a row that has a frame; None for none.
        gid: the id of its cells in an SVG file.
    """
    if matrix.symbol:
        sheet.text(x, y + 5, matrix.symbol, bold=True)
        after = x + sheet.size(matrix.symbol, bold=True)[0] + 4
        sheet.text(after, y + 5, matrix.shape, SMALL, colour=QUIET)
        y += _ABOVE
    cell, columns = matrix.cell(sheet), len(matrix.rows[0])
    for row, numbers in enumerate(matrix.rows):
        for column, value in enumerate(numbers):
            left, top = x + column * cell, y + row * CELL
            fill, ink = _colours(value, matrix.high)
            name = f"{gid}-{row + 1}.{column + 1}" if gid else None
            sheet.box(left, top, cell, CELL, fill=fill, edge=LINE, line=0.5, gid=name)
            sheet.text(left + cell / 2, top + CELL / 2, short_number(value), LABEL, align="center", colour=ink)
    if framed is not None:
        sheet.box(x, y + framed * CELL, cell * columns, CELL, edge=WEIGHT_INK, line=1.3)


def _colours(value: float, high: float | None) -> tuple[str, str]:
    """The colours of a cell and of its number."""
    if math.isinf(value) and value < 0:
        return MASKED, QUIET
    if high is None:
        return RAISED, INK
    share = math.sqrt(min(1.0, max(0.0, value / high))) if math.isfinite(value) else 1.0
    return weight_colours(np.array([value]), high)[0], ink_on_blue(share)
