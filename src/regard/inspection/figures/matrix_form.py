"""Attention in matrix form as a figure: I to Q, K and V, Q by K to the scores, the weights, and the output."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from regard.errors import ArgumentError
from regard.inspection.figures.colours import INK, LINE, MASKED, QUIET, RAISED, WEIGHT_INK, ink_on_blue, weight_colours
from regard.inspection.figures.sheet import LABEL, SMALL, Sheet
from regard.inspection.record.numbered import numbered
from regard.inspection.steps.examples import WorkedExample
from regard.inspection.steps.matrices import Matrices
from regard.inspection.steps.named_parts import named_parts
from regard.inspection.steps.steps import Steps, check_index, steps
from regard.page.visible import visible

__all__ = ["MOST_ROWS", "is_drawable", "matrix_form", "short_number"]

MOST_ROWS = 12
"""The most rows and columns of a matrix that is drawn."""

# A matrix: the height of a cell, its least width, the room beside its number, and that of the symbol above.
_CELL, _LEAST, _BESIDE, _ABOVE = 13.0, 15.0, 6.0, 13.0
_LARGE = 1e4
# A line of matrices.
_GAP, _APART, _SIGN, _LONGEST_NAME = 6.0, 14.0, 11.0, 60.0
# Lines are as wide as they must be, up to a whole page on its side.
_WIDEST = 720.0
_PROJECTED = {"query": ("Wq", "Q"), "key": ("Wk", "K"), "value": ("Wv", "V")}
_PRODUCTS = {"dot", "scaled_dot"}


class _Matrix(NamedTuple):
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
            >>> _Matrix("I", [[1, 0], [0, 2], [1, 1]]).shape
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
        return _CELL * len(self.rows) + (_ABOVE if self.symbol else 0.0)


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


def _draw_matrix(
    sheet: Sheet, x: float, y: float, matrix: _Matrix, *, framed: int | None = None, gid: str = ""
) -> None:
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
            left, top = x + column * cell, y + row * _CELL
            fill, ink = _colours(value, matrix.high)
            name = f"{gid}-{row + 1}.{column + 1}" if gid else None
            sheet.box(left, top, cell, _CELL, fill=fill, edge=LINE, line=0.5, gid=name)
            sheet.text(left + cell / 2, top + _CELL / 2, short_number(value), LABEL, align="center", colour=ink)
    if framed is not None:
        sheet.box(x, y + framed * _CELL, cell * columns, _CELL, edge=WEIGHT_INK, line=1.3)


def _colours(value: float, high: float | None) -> tuple[str, str]:
    """The colours of a cell and of its number."""
    if math.isinf(value) and value < 0:
        return MASKED, QUIET
    if high is None:
        return RAISED, INK
    share = math.sqrt(min(1.0, max(0.0, value / high))) if math.isfinite(value) else 1.0
    return weight_colours(np.array([value]), high)[0], ink_on_blue(share)


def is_drawable(matrices: Matrices) -> bool:
    """Whether `matrix_form` can draw these matrices: of up to 12 rows and columns.

    Example:
        >>> [is_drawable(Matrices.of([[1]], [[1]] * keys, [[1]] * keys)) for keys in (12, 13)]
        [True, False]
    """
    each = (matrices.query, matrices.key, matrices.value)
    return all(min(matrix.shape) > 0 and max(matrix.shape) <= MOST_ROWS for matrix in each)


def matrix_form(worked: WorkedExample | Matrices, *, row: int = 0, font: str | None = None, **parts: Any) -> Any:
    """Draw attention in matrix form: a line for each product, in which every matrix has its numbers and its shape.

    An example that has its inputs begins with Q = I Wq, K = I Wk and V = I Wv; other matrices with the scores. Rows are
    queries and columns are keys, so each row of the weights is normalised. Numbers have two decimals; weights are blue.

    Args:
        worked: the example, or the matrices, of up to 12 rows and columns.
        row: the index of the query whose row is framed in all matrices.
        font: the name of an installed font; None: DejaVu Sans.
        parts: `score`, `weights`, `temperature` and `mask` of `named_parts`; the score is that of the example, or
            "scaled_dot".

    Returns:
        a `matplotlib.figure.Figure`. pyplot doesn't know it.

    Raises:
        ArgumentError: the matrices are larger, there is no such row, or a part can't be used.
        UnknownNameError: there is no such score or normaliser.
        MissingExtraError: matplotlib isn't installed.

    Example:
        >>> drawn = matrix_form(Matrices.of([[1, 0]], [[1, 1], [1, 1]], [[2], [4]]), score="dot")
        >>> [text.get_text() for text in drawn.axes[0].texts][-3:]
        ['O', '1 × 1', '3']
    """
    example = worked if isinstance(worked, WorkedExample) else None
    matrices = worked.matrices if isinstance(worked, WorkedExample) else worked
    names: dict[str, Any] = {"score": example.score if example else "scaled_dot", **parts}
    if not is_drawable(matrices):
        raise ArgumentError(
            f"`worked` must be matrices of 1 to {MOST_ROWS} rows and columns, but isn't. Choose some rows, or use "
            "`steps_page`."
        )
    check_index("row", row, len(matrices.query))
    used = named_parts(matrices, **names)
    walks = [steps(*matrices.tensors, **used, row=i) for i in range(len(matrices.query))]
    named = [visible(name).strip() or str(i) for i, name in enumerate(numbered(matrices.query_items), start=1)]
    sheet = Sheet(_WIDEST, font)
    y = 0.0
    if example is not None and example.inputs:
        inputs = _Matrix("I", example.inputs)
        for name, (projection, result) in _PROJECTED.items():
            made = _Matrix(result, getattr(matrices, name).tolist())
            line = [inputs, "·", _Matrix(projection, example.projections[name]), "=", made]
            y = _draw_line(sheet, y, matrices.items, line, framed=dict.fromkeys((0, 4) if name == "query" else (), row))
    for line, marked in _products(matrices, walks, names):
        y = _draw_line(sheet, y, named, line, framed=dict.fromkeys(marked, row))
    return sheet.finish()


def _products(
    matrices: Matrices, walks: Sequence[Steps], names: dict[str, Any]
) -> list[tuple[list[_Matrix | str], Sequence[int]]]:
    """The lines from queries and keys to the output, each with the places of the matrices that have a row a query."""
    query, key, value = (each.tolist() for each in (matrices.query, matrices.key, matrices.value))
    score = names["score"]
    if score in ("dot", "scaled_dot"):
        keys: list[_Matrix | str] = [_Matrix("Kᵀ", matrices.key.T.tolist())]
    else:
        keys = [_Matrix("K", key)]
    scale = [f"/ √{matrices.query.shape[1]}"] if score == "scaled_dot" else []
    scores = _Matrix("A", [_scores(each).tolist() for each in walks])
    found = [each.weights.tolist() for each in walks]
    high = max([1e-9, *(weight for each in found for weight in each if math.isfinite(weight))])
    weights = _Matrix("A′", found, high)
    outputs = _Matrix("O", [each.output.tolist() for each in walks])
    normaliser, temperature = names.get("weights", "softmax"), names.get("temperature", 1.0)
    cooled = f", T = {temperature:g}" if temperature != 1 else ""
    return [
        ([_Matrix("Q", query), "·" if score in _PRODUCTS else score, *keys, *scale, "=", scores], (0, 4 + len(scale))),
        ([scores, f"→ {normaliser}{cooled} →", weights], (0, 2)),
        ([weights, "·", _Matrix("V", value), "=", outputs], (0, 4)),
    ]


def _scores(walk: Steps) -> torch.Tensor:
    """What is normalised; a hidden row has scores of minus infinity."""
    return walk.scores if walk.allowed.any() else torch.full_like(walk.weights, -math.inf)


def _draw_line(
    sheet: Sheet, y: float, names: Sequence[str], line: Sequence[_Matrix | str], *, framed: dict[int, int]
) -> float:
    """Draw the names of queries, and matrices with the signs between them; the result is where the next line begins."""
    height = max(each.height for each in line if isinstance(each, _Matrix))
    x = 0.0
    for place, each in enumerate(line):
        if isinstance(each, str):
            size = _SIGN if each in "·=" else LABEL
            sheet.text(x, y + (height + _ABOVE) / 2, each, size)
            x += sheet.size(each, size)[0] + _GAP
            continue
        top = y + (height - each.height) / 2
        # The result of a line is in no other line's end, so that its ids are its own.
        gid = each.symbol.replace("A′", "weights") if place == len(line) - 1 else ""
        _draw_matrix(sheet, x, top, each, framed=framed.get(place), gid=gid)
        for row, name in enumerate(names if place == 0 else ()):
            text = sheet.clip(name, _LONGEST_NAME, SMALL)
            sheet.text(-_GAP, top + _ABOVE + (row + 0.5) * _CELL, text, SMALL, colour=QUIET, align="right")
        x += each.width(sheet) + _GAP
    return y + height + _APART
