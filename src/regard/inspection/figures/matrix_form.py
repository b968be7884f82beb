"""Attention in matrix form as a figure: I to Q, K and V, Q by K to the scores, the weights, and the output."""

import math
from collections.abc import Sequence
from typing import Any

import torch

from regard.errors import ArgumentError
from regard.inspection.figures.colours import QUIET
from regard.inspection.figures.matrix import CELL, Matrix, draw_matrix
from regard.inspection.figures.sheet import LABEL, SMALL, Sheet
from regard.inspection.record.numbered import numbered
from regard.inspection.steps.examples import WorkedExample
from regard.inspection.steps.matrices import Matrices
from regard.inspection.steps.named_parts import named_parts
from regard.inspection.steps.steps import Steps, check_index, steps
from regard.page.visible import visible

__all__ = ["MOST_ROWS", "is_drawable", "matrix_form"]

MOST_ROWS = 12
"""The most rows and columns of a matrix that is drawn."""

_GAP, _APART, _ABOVE = 6.0, 14.0, 13.0
_SIGN, _LONGEST_NAME = 11.0, 60.0
# Lines are as wide as they must be, up to a whole page on its side.
_WIDEST = 720.0
_PROJECTED = {"query": ("Wq", "Q"), "key": ("Wk", "K"), "value": ("Wv", "V")}
_PRODUCTS = {"dot", "scaled_dot"}


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
        inputs = Matrix("I", example.inputs)
        for name, (projection, result) in _PROJECTED.items():
            made = Matrix(result, getattr(matrices, name).tolist())
            line = [inputs, "·", Matrix(projection, example.projections[name]), "=", made]
            y = _draw_line(sheet, y, matrices.items, line, framed=dict.fromkeys((0, 4) if name == "query" else (), row))
    for line, marked in _products(matrices, walks, names):
        y = _draw_line(sheet, y, named, line, framed=dict.fromkeys(marked, row))
    return sheet.finish()


def _products(
    matrices: Matrices, walks: Sequence[Steps], names: dict[str, Any]
) -> list[tuple[list[Matrix | str], Sequence[int]]]:
    """The lines from queries and keys to the output, each with the places of the matrices that have a row a query."""
    query, key, value = (each.tolist() for each in (matrices.query, matrices.key, matrices.value))
    score = names["score"]
    if score in ("dot", "scaled_dot"):
        keys: list[Matrix | str] = [Matrix("Kᵀ", matrices.key.T.tolist())]
    else:
        keys = [Matrix("K", key)]
    scale = [f"/ √{matrices.query.shape[1]}"] if score == "scaled_dot" else []
    scores = Matrix("A", [_scores(each).tolist() for each in walks])
    found = [each.weights.tolist() for each in walks]
    high = max([1e-9, *(weight for each in found for weight in each if math.isfinite(weight))])
    weights = Matrix("A′", found, high)
    outputs = Matrix("O", [each.output.tolist() for each in walks])
    normaliser, temperature = names.get("weights", "softmax"), names.get("temperature", 1.0)
    cooled = f", T = {temperature:g}" if temperature != 1 else ""
    return [
        ([Matrix("Q", query), "·" if score in _PRODUCTS else score, *keys, *scale, "=", scores], (0, 4 + len(scale))),
        ([scores, f"→ {normaliser}{cooled} →", weights], (0, 2)),
        ([weights, "·", Matrix("V", value), "=", outputs], (0, 4)),
    ]


def _scores(walk: Steps) -> torch.Tensor:
    """What is normalised; a hidden row has scores of minus infinity."""
    return walk.scores if walk.allowed.any() else torch.full_like(walk.weights, -math.inf)


def _draw_line(
    sheet: Sheet, y: float, names: Sequence[str], line: Sequence[Matrix | str], *, framed: dict[int, int]
) -> float:
    """Draw the names of queries, and matrices with the signs between them; the result is where the next line begins."""
    height = max(each.height for each in line if isinstance(each, Matrix))
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
        draw_matrix(sheet, x, top, each, framed=framed.get(place), gid=gid)
        for row, name in enumerate(names if place == 0 else ()):
            text = sheet.clip(name, _LONGEST_NAME, SMALL)
            sheet.text(-_GAP, top + _ABOVE + (row + 0.5) * CELL, text, SMALL, colour=QUIET, align="right")
        x += each.width(sheet) + _GAP
    return y + height + _APART
