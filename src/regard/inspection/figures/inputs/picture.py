"""A picture whose patches are as blue as their weights."""

import numpy as np

from regard.inspection.figures.colours import INK, PAPER, WEIGHT, WEIGHT_INK
from regard.inspection.figures.inputs.below import Below
from regard.inspection.figures.sheet import Sheet
from regard.inspection.figures.shown import Shown
from regard.inspection.figures.weighed import heaviest, strengths
from regard.inspection.record.drawn_inputs import DrawnPicture
from regard.page.numbers import percent

__all__ = ["draw_picture"]

_SIDE = 210.0
# How much of the picture the blue of the largest weight hides.
_COVER = 0.72
_LEAST_NUMBERED = 19.0


def draw_picture(sheet: Sheet, shown: Shown, drawn: DrawnPicture, weights: np.ndarray) -> Below:
    """Draw the picture, the frame of the patch for which is predicted, and the largest weights."""
    tall, wide = drawn.pixels.shape[:2]
    scale = min(_SIDE, sheet.width) / max(tall, wide)
    width, height = wide * scale, tall * scale
    pixels = drawn.pixels.repeat(3, axis=2) if drawn.pixels.shape[2] == 1 else drawn.pixels
    sheet.image(0, 0, width, height, pixels, smooth=scale < 0.5)
    (rows, columns), first = drawn.grid, drawn.first
    size = width / columns, height / rows
    strength = strengths(weights)
    corners = {
        first + patch: (patch % columns * size[0], patch // columns * size[1]) for patch in range(rows * columns)
    }
    for item, (x, y) in corners.items():
        if strength[item]:
            sheet.box(x, y, *size, fill=WEIGHT, alpha=_COVER * float(strength[item]), gid=f"patch-{item + 1}")
    if min(size) >= _LEAST_NUMBERED:
        for item in heaviest(weights):
            if item in corners:
                x, y = corners[item]
                text = percent(float(weights[item])).removesuffix("%")
                sheet.text(x + size[0] / 2, y + size[1] / 2, text, 7.5, colour=INK, align="center", on=PAPER)
    if shown.own in corners:
        sheet.box(*corners[shown.own], *size, edge=WEIGHT_INK, line=1.8)
    apart = [item for item in range(len(weights)) if item not in corners]
    return Below(height, apart=apart, cover=_COVER)
