"""Draw docs/pictures/generator.png: digits of the generator of `regard lab generator`, and what it attends to.

    python docs/generator_picture.py            train the example of the study, in minutes, and draw it

It needs Pillow, and MNIST where REGARD_DATA says. Another machine may draw slightly other digits.
"""

from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from regard.lab import STUDIES
from regard.page import Page, Picture, Pictures
from regard.page.colours import BOX, COVER, WEIGHT

__all__ = ["PATH", "drawn"]

PATH = Path(__file__).parent / "pictures" / "generator.png"
ZOOM, GAP = 2, 8


def drawn(page: Page) -> Any:
    """A picture of all pictures of a page: a row for each run of pictures of one size, on white."""
    from PIL import Image

    pictures = [picture for block in page.blocks if isinstance(block, Pictures) for picture in block.pictures]
    rows = [_beside([_coloured(each) for each in row]) for _, row in groupby(pictures, key=lambda each: each.size)]
    width = max(row.shape[1] for row in rows)
    filled = [np.pad(row, ((0, GAP), (0, width - row.shape[1]), (0, 0)), constant_values=255) for row in rows]
    return Image.fromarray(np.concatenate(filled)[:-GAP])


def _beside(drawings: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.pad(each, ((0, 0), (0, GAP), (0, 0)), constant_values=255) for each in drawings], axis=1)[
        :, :-GAP
    ]


def _coloured(picture: Picture) -> np.ndarray:
    """Pixels (row, column, 3): the picture, under its weights, in blue, with its boxes in orange."""
    zoom = ZOOM * (3 if picture.weights else 1)
    pixels = 255 * np.asarray(picture.pixels)[..., None].repeat(3, axis=2)
    if picture.weights:
        cell = len(picture.pixels) // len(picture.weights)
        cover = COVER * np.kron(picture.strengths, np.ones((cell, cell)))[..., None]
        pixels = (1 - cover) * pixels + cover * np.array(WEIGHT)
    pixels = np.kron(pixels, np.ones((zoom, zoom, 1)))
    for box in picture.boxes:
        left, top, right, bottom = (round(zoom * edge) for edge in (box.left, box.top, box.right, box.bottom))
        inside = pixels[top + 2 : bottom - 2, left + 2 : right - 2].copy()
        pixels[top:bottom, left:right] = BOX
        pixels[top + 2 : bottom - 2, left + 2 : right - 2] = inside
    return pixels.round().astype(np.uint8)


if __name__ == "__main__":
    drawn(STUDIES["generator"].show_example(progress="auto")).save(PATH, optimize=True)
