"""The figures of the lecture notes, drawn from what regard computes: a changed operator changes the picture.

The inputs are the three of note 000's worked example and a fourth one, and its matrices Wq, Wk and Wv. As in the
lecture, vectors stand upright, and a figure of the flow is read from below.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.attention import INPUT_POSITIONS
from regard.inspection.figures.colours import INK, LINE, PAPER, QUIET, RAISED, WEIGHT, ink_on_blue, shade
from regard.inspection.figures.matrix_form import matrix_form, short_number
from regard.inspection.figures.sheet import LABEL, SMALL, Sheet
from regard.inspection.figures.weighed import width_of
from regard.inspection.figures.written import figure_bytes
from regard.inspection.steps import EXAMPLES, Steps, steps
from regard.page.colours import hexadecimal

__all__ = ["PICTURES"]

WIDTH = 300.0
CELL, ROW, BESIDE = 15.0, 11.0, 23.0
EXAMPLE = EXAMPLES["000"]
FOURTH = (0, 1, 1, 0)
# The matrix that each head multiplies q, k and v with, and the one that joins the outputs of both heads.
HEADS = (((1, 0), (0, 1), (0, 0)), ((0, 0), (1, 0), (0, 1)))
JOINED = ((1, 0, 0), (0, 1, 0), (0, 1, 0), (0, 0, 1))
POSITIONS, FEATURES = 48, 32
# From the lowest number of a picture to the highest, whose greys differ in lightness alone.
GREYS = [hexadecimal((each, each, min(255, each + 4))) for each in range(252, 20, -16)]
UPPER, LOWER = "⁰¹²³⁴", "₀₁₂₃₄"


def projected() -> tuple[Tensor, dict[str, Tensor]]:
    """The four inputs, (4, 4), and the queries, keys and values of them, each (4, 3)."""
    inputs = torch.tensor([*EXAMPLE.inputs, FOURTH], dtype=torch.float64)
    matrices = {name: torch.tensor(rows, dtype=torch.float64) for name, rows in EXAMPLE.projections.items()}
    return inputs, {name: inputs @ matrix for name, matrix in matrices.items()}


def first_row(query: Tensor, key: Tensor, value: Tensor, **parts: Any) -> Steps:
    """How the output of the first query comes about."""
    return steps(query[None, None], key[None, None], value[None, None], row=0, **parts)


def strip(
    sheet: Sheet, x: float, y: float, values: Sequence[float], name: str, *, faint: bool = False, size: float = LABEL
) -> None:
    """Draw an upright vector, with its name to the left; `x` is its middle, `y` its top."""
    colour = QUIET if faint else INK
    texts = [short_number(value) for value in values]
    width = max(CELL, *(sheet.size(text)[0] + 4 for text in texts))
    for number, text in enumerate(texts):
        top = y + number * ROW
        sheet.box(x - width / 2, top, width, ROW, fill=PAPER if faint else RAISED, edge=LINE, line=0.6)
        sheet.text(x, top + ROW / 2, text, LABEL, align="center", colour=colour)
    bottom = y + len(texts) * ROW
    if name:
        sheet.text(x, bottom + 6, name, size, align="center", bold=not faint and size == LABEL, colour=colour)


def chip(sheet: Sheet, x: float, y: float, text: str, *, weight: float | None = None, high: float = 1.0) -> None:
    """Draw a number in a box around (x, y), in the colour of its weight if it is one."""
    wide = sheet.size(text)[0] + 8
    share = 0.0 if weight is None else (weight / high) ** 0.5
    fill = RAISED if weight is None else shade(share)
    sheet.box(x - wide / 2, y - 7, wide, 14, fill=fill, edge=LINE, line=0.6, round=3.0)
    sheet.text(x, y, text, LABEL, align="center", bold=weight is not None, colour=ink_on_blue(share))


def wire(sheet: Sheet, *points: tuple[float, float], width: float = 0.8, colour: str = QUIET) -> None:
    """A line of right angles."""
    sheet.line(points, colour=colour, width=width)


def sources(sheet: Sheet, y: float, inputs: Tensor, of: dict[str, Tensor]) -> list[float]:
    """Draw the inputs, and above them, from `y` on, their q, k and v, of which only the first query is used.

    Returns:
        the middles of the inputs; q stands `BESIDE` to the left, v as much to the right.
    """
    column = WIDTH / len(inputs)
    middles = [(number + 0.5) * column for number in range(len(inputs))]
    below = y + 3 * ROW + 12
    for number, middle in enumerate(middles):
        fork = below + 24
        for x, name in ((middle - BESIDE, "query"), (middle, "key"), (middle + BESIDE, "value")):
            unused = name == "query" and number > 0
            wire(sheet, (middle, fork + 8), (middle, fork), (x, fork), (x, below), colour=LINE if unused else QUIET)
            sheet.text(x, below + 12, f"W{name[0]}", SMALL, align="center", colour=QUIET, on=PAPER)
            strip(sheet, x, y, of[name][number].tolist(), f"{name[0]}{UPPER[number + 1]}", faint=unused)
        strip(sheet, middle, fork + 8, inputs[number].tolist(), f"a{UPPER[number + 1]}")
    return middles


def weighed(
    sheet: Sheet, y: float, walk: Steps, keys: Sequence[float], values: Sequence[float], bottom: float, centre: float
) -> None:
    """Draw scores, softmax, weights, products and the sum, from `bottom`, where keys and values end, up to `y`."""
    total, product, weight, softmax, score = y, y + 27, y + 56, y + 83, y + 110
    high = float(walk.weights.max())
    weights = walk.weights.tolist()
    # The lines are below what stands on them, and the shorter ones of the sum above the longer ones.
    for key, value in zip(keys, values, strict=True):
        wire(sheet, (key, bottom), (key, product))
        wire(sheet, (value, bottom), (value, product), (key, product))
    for number in sorted(range(len(keys)), key=lambda number: -abs(keys[number] - centre)):
        colour = shade(0.25 + 0.75 * weights[number] / high)
        points = (keys[number], product), (keys[number], total), (centre, total)
        wire(sheet, *points, width=width_of(weights[number]), colour=colour)
    for number, key in enumerate(keys):
        chip(sheet, key, score, short_number(float(walk.scores[number])))
        chip(sheet, key, weight, short_number(weights[number]), weight=weights[number], high=high)
        sheet.disc(key, product, 5.0, fill=PAPER, edge=QUIET, line=0.8)
        sheet.text(key, product, "×", LABEL, align="center")
    left, right = keys[0] - 15, values[-1] + 8
    sheet.box(left, softmax - 8, right - left, 16, fill=PAPER, edge=QUIET, line=0.8, round=4.0)
    sheet.text((left + right) / 2, softmax, "softmax", LABEL, align="center")
    sheet.disc(centre, total, 7.0, fill=PAPER, edge=WEIGHT, line=1.2)
    sheet.text(centre, total, "Σ", LABEL, align="center", bold=True)


def flow() -> Any:
    """One output, from the inputs: q, k and v, the scores of the first query, softmax, and the weighted sum."""
    inputs, of = projected()
    walk = first_row(of["query"], of["key"], of["value"])
    sheet = Sheet(WIDTH)
    y_sum, y_vectors = 62.0, 216.0
    column = WIDTH / len(inputs)
    keys = [(number + 0.5) * column for number in range(len(inputs))]
    weighed(sheet, y_sum, walk, keys, [key + BESIDE for key in keys], y_vectors, WIDTH / 2)
    bus = y_vectors - 14
    wire(sheet, (keys[0] - BESIDE, y_vectors), (keys[0] - BESIDE, bus), (keys[-1], bus), colour=INK, width=1.1)
    for number, key in enumerate(keys):
        sheet.disc(key, bus, 2.2, fill=INK)
        place = f"₁{LOWER[number + 1]}"
        sheet.text(key - BESIDE, y_sum + 110, f"α{place}", LABEL, align="center")
        sheet.text(key - BESIDE, y_sum + 56, f"α′{place}", LABEL, align="center")
    sources(sheet, y_vectors, inputs, of)
    wire(sheet, (WIDTH / 2, y_sum - 7), (WIDTH / 2, 3 * ROW + 12), colour=WEIGHT, width=2.0)
    strip(sheet, WIDTH / 2, 0, walk.output.tolist(), "b¹")
    formulas(sheet, 0, f"α₁ⱼ = q¹ · kʲ / √{of['query'].shape[1]}", "α′₁ⱼ = softmaxⱼ α₁ⱼ")
    formulas(sheet, WIDTH, "b¹ = Σⱼ α′₁ⱼ vʲ", align="right")
    return sheet.finish()


def formulas(sheet: Sheet, x: float, *texts: str, y: float = 8.0, align: str = "left") -> None:
    """Write formulas below each other."""
    for number, text in enumerate(texts):
        sheet.text(x, y + 14 * number, text, LABEL, colour=QUIET, align=align)


def two_heads() -> Any:
    """Two heads: q, k and v are split by two matrices, each head attends with its own, and the outputs are joined."""
    inputs, of = projected()
    heads = [{name: each @ torch.tensor(matrix).double() for name, each in of.items()} for matrix in HEADS]
    walks = [first_row(head["query"], head["key"], head["value"]) for head in heads]
    joined = torch.cat([walk.output for walk in walks])
    sheet = Sheet(WIDTH)
    half, middle = (WIDTH - 8) / 2, WIDTH / 2
    y_joined, y_heads, y_sum = 66.0, 92.0, 142.0
    y_keys = y_sum + 150
    y_query = y_keys + 48
    y_vectors = y_query + 74
    first = WIDTH / 2 / len(inputs) - BESIDE
    for number, (head, walk) in enumerate(zip(heads, walks, strict=True)):
        name, left = UPPER[number + 1], number * (half + 8)
        centre, step, query = left + half / 2, (half - 22) / len(inputs), left + 10
        keys = [left + 20 + (each + 0.5) * step - 9 for each in range(len(inputs))]
        values = [key + 15.5 for key in keys]
        sheet.box(left, y_sum - 14, half, y_query - y_sum + 4, fill=RAISED, edge=LINE, line=0.6, round=5.0)
        sheet.text(left + 5, y_sum - 5, f"h = {number + 1}", LABEL, bold=True)
        weighed(sheet, y_sum, walk, keys, values, y_keys, centre)
        sheet.text(left + 6, y_sum + 110, "α", LABEL, align="center")
        sheet.text(left + 6, y_sum + 56, "α′", LABEL, align="center")
        bus = y_keys - 16
        wire(sheet, (query, y_query), (query, bus), (keys[-1], bus), colour=INK, width=1.1)
        fork = y_query + 2 * ROW + 30
        wire(sheet, (first, y_vectors), (first, fork), (query, fork), (query, y_query + 2 * ROW + 12), colour=INK)
        sheet.text(query, fork - 10, f"Wq,{name}", SMALL, align="center", colour=QUIET, on=PAPER)
        for each, (key, value) in enumerate(zip(keys, values, strict=True)):
            sheet.disc(key, bus, 2.2, fill=INK)
            strip(sheet, key, y_keys, head["key"][each].tolist(), f"k{UPPER[each + 1]},{name}", size=SMALL)
            strip(sheet, value, y_keys, head["value"][each].tolist(), f"v{UPPER[each + 1]},{name}", size=SMALL)
        strip(sheet, query, y_query, head["query"][0].tolist(), f"q¹,{name}")
        wire(sheet, (centre, y_sum - 7), (centre, y_heads + 2 * ROW + 12), colour=WEIGHT, width=2.0)
        at = y_joined + (1 + 2 * number) * ROW
        wire(sheet, (centre, y_heads), (centre, at), (middle, at), colour=INK)
        strip(sheet, centre, y_heads, walk.output.tolist(), f"b¹,{name}")
    sources(sheet, y_vectors, inputs, of)
    wire(sheet, (middle, y_joined), (middle, 3 * ROW + 12), colour=INK)
    sheet.text(middle, 3 * ROW + 22, "Wo", SMALL, align="center", colour=QUIET, on=PAPER)
    strip(sheet, middle, y_joined, joined.tolist(), "")
    strip(sheet, middle, 0, (joined @ torch.tensor(JOINED).double()).tolist(), "b¹")
    formulas(sheet, 0, "b¹ = Wo (b¹,¹; b¹,²)")
    formulas(sheet, 30, "kʲ,ʰ = Wk,ʰ kʲ,  vʲ,ʰ = Wv,ʰ vʲ", y=y_query + 18)
    return sheet.finish()


def positions() -> Any:
    """The vectors of the schemes that the lecture's paper compares: a column is a position, a row a feature.

    The schemes that are learned are drawn as they are initialised, since no bundled model has one.
    """
    sheet = Sheet(WIDTH)
    left, apart, large, small = 14.0, 18.0, 6.0, 1.75
    y = encoding(sheet, left, 0.0, large, "sinusoidal", every=8)
    for number, name in enumerate(each for each in INPUT_POSITIONS if each != "sinusoidal"):
        encoding(sheet, left + number * (POSITIONS * small + apart), y + 8, small, name, every=16)
    scale(sheet, left + POSITIONS * large / 2 - 30, y + 8 + 19 + FEATURES * small + 24)
    return sheet.finish()


def encoding(sheet: Sheet, x: float, y: float, cell: float, name: str, *, every: int) -> float:
    """Draw the vectors of one scheme, with a tick at every so many positions and features; the result is its bottom."""
    torch.manual_seed(0)
    with torch.no_grad():
        vectors = INPUT_POSITIONS[name](FEATURES).double().encode(POSITIONS).T.numpy()
    largest = float(np.abs(vectors).max())
    levels = np.clip(((vectors / largest + 1) / 2 * len(GREYS)).astype(int), 0, len(GREYS) - 1)
    wide, high = POSITIONS * cell, FEATURES * cell
    sheet.text(x, y, name, LABEL, bold=True)
    text = short_number(largest) if largest >= 0.01 else f"{largest:.3f}"
    sheet.text(x + wide, y + 10 * (every > 8), f"±{text}", SMALL, align="right", colour=QUIET)
    y += 9 + 10 * (every > 8)
    sheet.shaded(x, y, (cell, cell), levels, GREYS, gid=name)
    sheet.box(x, y, wide, high, edge=LINE, line=0.6)
    for at in range(0, POSITIONS, every):
        middle = x + (at + 0.5) * cell
        sheet.line([(middle, y + high), (middle, y + high + 2.5)], colour=QUIET, width=0.6)
        sheet.text(middle, y + high + 8, str(at), SMALL, align="center", colour=QUIET)
    for at in range(0, FEATURES, every):
        middle = y + (at + 0.5) * cell
        sheet.line([(x - 2.5, middle), (x, middle)], colour=QUIET, width=0.6)
        sheet.text(x - 4, middle, str(at), SMALL, align="right", colour=QUIET)
    sheet.text(x + wide, y + high + 8, "i →", SMALL, align="right", colour=QUIET)
    return y + high + 16


def scale(sheet: Sheet, x: float, y: float) -> None:
    """The greys from the lowest number to the highest."""
    sheet.shaded(x, y - 3, (60 / len(GREYS), 6), np.arange(len(GREYS))[None], GREYS, gid="scale")
    sheet.box(x, y - 3, 60, 6, edge=LINE, line=0.5)
    for at, text in ((0, "−"), (30, "0"), (60, "+")):
        sheet.text(x + at, y + 8, text, SMALL, align="center", colour=QUIET)


def drawn(figure: Callable[[], Any]) -> str:
    """A figure as the text of an SVG file."""
    return figure_bytes(figure(), "svg").decode("utf-8")


PICTURES: dict[str, Callable[[], str]] = {
    name: functools.partial(drawn, figure)
    for name, figure in {
        "flow": flow,
        "matrices": lambda: matrix_form(EXAMPLE),
        "heads": two_heads,
        "positions": positions,
    }.items()
}
"""The name of a figure -> what draws it."""
