"""The legend of a scale of weights, and the line that says whose weights they are."""

import math

import numpy as np

from regard.inspection.figures.colours import INK, LINE, MASKED, PAPER, QUIET, rgb, shade, weight_pixels
from regard.inspection.figures.sheet import SMALL, Sheet
from regard.page.messages import say
from regard.page.numbers import percent

__all__ = ["draw_legend", "hatching"]

_WIDTH, _HEIGHT, _STEPS = 72.0, 6.0, 48


def draw_legend(
    sheet: Sheet,
    y: float,
    title: str,
    high: float,
    *,
    left: float = 0.0,
    masked: bool = False,
    cover: float | None = None,
    equal: float = 0.0,
    among: int = 0,
) -> float:
    """Draw the scale from 0 to `high` below its title, and return the y at which it ends.

    The scale has numbers at both ends and in the middle, where it is a quarter of `high`: colour follows the square
    root of the weight.

    Args:
        sheet, y, left: where it is drawn.
        title: whose weights they are.
        high: the weight that has the full colour.
        masked: whether there are hidden cells to explain.
        cover: how much the full colour hides of what is below it, where weights are drawn over something; None where
            cells are drawn.
        equal: what each item would have of equal weights, where the scale gets a mark; 0: no mark.
        among: of how many items these are, if a mask hides others; 0: of all.
    """
    y = sheet.paragraph(left, y, title, sheet.width - left, colour=QUIET) + 6
    sheet.text(left, y, "weight", SMALL, colour=QUIET)
    x = left + sheet.size("weight 0", SMALL)[0]
    steps = (np.arange(_STEPS) + 0.5) / _STEPS
    values = high * steps[None] ** 2
    pixels = weight_pixels(values, high)
    if cover is not None:
        pixels = np.array([[rgb(shade(cover * step)) for step in steps.tolist()]], np.uint8)
    sheet.cells(x, y - _HEIGHT / 2, (_WIDTH / _STEPS, _HEIGHT), pixels, gid="legend")
    sheet.box(x, y - _HEIGHT / 2, _WIDTH, _HEIGHT, edge=LINE, line=0.5)
    if 0 < equal <= high:
        mark = x + _WIDTH * math.sqrt(equal / high)
        sheet.line([(mark, y - _HEIGHT / 2 - 2), (mark, y + _HEIGHT / 2 + 2)], colour=INK, width=0.8)
    y += 9
    for share in (0.0, 0.5, 1.0):
        sheet.line([(x + share * _WIDTH, y - 6), (x + share * _WIDTH, y - 4)], colour=QUIET, width=0.5)
        sheet.text(x + share * _WIDTH, y, percent(high * share**2), SMALL, colour=QUIET, align="center")
    if masked:
        x += _WIDTH + 22
        if x + 12 + sheet.size("hidden by the mask", SMALL)[0] > sheet.width:
            x, y = left, y + 19
        hatching(sheet, [(x, y - 12, 8.0, 6.0)])
        sheet.text(x + 12, y - 9, "hidden by the mask", SMALL, colour=QUIET)
    if 0 < equal <= high:
        y += 11
        message = "equalWeightsAllowed" if among else "equalWeights"
        sheet.text(left, y, say(message, share=percent(equal), count=among), SMALL, colour=QUIET)
    return y + 5


def hatching(sheet: Sheet, boxes: list[tuple[float, float, float, float]]) -> None:
    """Strike out the cells that the mask hides, each (x, y, width, height); a single one is filled, too."""
    if not boxes:
        return
    if len(boxes) == 1:
        x, y, width, height = boxes[0]
        sheet.box(x, y, width, height, fill=MASKED, edge=PAPER, line=0.0)
    sheet.lines(
        np.array([[(x + 0.15 * w, y + 0.85 * h), (x + 0.85 * w, y + 0.15 * h)] for x, y, w, h in boxes]),
        colour="#b6bdc6",
        width=0.6,
    )
