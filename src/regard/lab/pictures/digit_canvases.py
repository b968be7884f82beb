"""Canvases with several handwritten digits, and where each of them is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int64, UInt8
from torch import Tensor
from torch.nn.functional import interpolate

from regard.errors import ArgumentError
from regard.lab.training import real_digits

__all__ = ["CLASSES", "SIDE", "Canvases", "draw_canvases", "mnist_canvases"]

SIDE, CLASSES, MOST = 64, 10, 5
# The smallest and the largest scale of a digit of 28 x 28 pixels.
_SCALES = 0.6, 1.2
# Two boxes share at most this part of the smaller one.
_OVERLAP = 0.15
_TRIES = 30
# What is darker than that isn't part of a digit.
_INK = 32


@dataclass(frozen=True, eq=False)
class Canvases:
    """Pictures with the digits that are on them.

    Args:
        pixels: from 0, the paper, to 255.
        labels: the digits; -1 after the last one of a canvas.
        boxes: (x, y, width, height) of each digit's ink, in parts of the canvas, as in `regard.modules.vision.boxes`.
    """

    pixels: UInt8[Tensor, "canvas row column"]
    labels: Int64[Tensor, "canvas digit"]
    boxes: Tensor

    def __len__(self) -> int:
        return len(self.pixels)


def draw_canvases(
    pictures: UInt8[Tensor, "picture row column"], labels: Sequence[int], count: int, *, seed: int
) -> Canvases:
    """Put 1 to 5 digits on each of so many canvases of 64 x 64 pixels.

    The digits, their scales from 0.6 to 1.2 and their places are drawn uniformly, and depend on the seed only. Boxes
    share at most 15 % of the smaller one; a digit for which no place is found in 30 tries is left out.

    Args:
        pictures: of one digit each.
        labels: their digits.
        count: the number of canvases.
        seed: of everything that is drawn.

    Raises:
        ArgumentError: there are no pictures, or a picture is blank.

    Example:
        >>> square = torch.full((1, 20, 20), 255, dtype=torch.uint8)
        >>> found = draw_canvases(square, [7], 3, seed=0)
        >>> found.pixels.shape, int(found.labels[0, 0]), bool((found.boxes <= 1).all())
        (torch.Size([3, 64, 64]), 7, True)
    """
    if not len(pictures) or len(pictures) != len(labels):
        raise ArgumentError(f"`labels` must be one for each picture, but are {len(labels)} for {len(pictures)}.")
    draw = np.random.default_rng(seed)
    numbers = draw.integers(1, MOST + 1, count)
    chosen = draw.integers(len(pictures), size=(count, MOST))
    sizes = np.rint(pictures.shape[1] * draw.uniform(*_SCALES, (count, MOST))).astype(int)
    inks = _inks(pictures, chosen, sizes)
    pixels = np.zeros((count, SIDE, SIDE), np.uint8)
    drawn = np.full((count, MOST), -1)
    boxes = np.zeros((count, MOST, 4), np.float32)
    for canvas in range(count):
        edges: list[tuple[int, int, int, int]] = []
        for digit in range(numbers[canvas]):
            ink = inks[canvas * MOST + digit]
            place = _place(ink.shape, edges, draw)
            if place is None:
                continue
            left, top, right, bottom = place
            part = pixels[canvas, top:bottom, left:right]
            np.maximum(part, ink, out=part)
            drawn[canvas, len(edges)] = labels[chosen[canvas, digit]]
            boxes[canvas, len(edges)] = (left + right) / 2, (top + bottom) / 2, right - left, bottom - top
            edges.append(place)
    return Canvases(torch.from_numpy(pixels), torch.from_numpy(drawn), torch.from_numpy(boxes / SIDE))


def mnist_canvases(split: str, count: int, seed: int = 0) -> Canvases:
    """Canvases of the digits of a split of MNIST, whose splits share no digits.

    Raises:
        DataError: MNIST isn't there; says how to get it.
    """
    pictures, labels = real_digits(split)
    return draw_canvases(pictures, labels.tolist(), count, seed=seed)


def _inks(pictures: Tensor, chosen: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
    """The scaled digits, cut to their ink."""
    flat, cut = chosen.ravel(), [np.zeros((0, 0), np.uint8)] * chosen.size
    for size in np.unique(sizes):
        (which,) = np.nonzero(sizes.ravel() == size)
        scaled = interpolate(pictures[flat[which]][:, None].float(), (int(size), int(size)), mode="area")
        for index, picture in zip(which, scaled[:, 0].round().to(torch.uint8).numpy(), strict=True):
            rows, columns = np.nonzero((picture >= _INK).any(1))[0], np.nonzero((picture >= _INK).any(0))[0]
            if not len(rows):
                raise ArgumentError("`pictures` must each show a digit, but one is blank.")
            cut[index] = picture[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    return cut


def _place(
    size: tuple[int, ...], others: list[tuple[int, int, int, int]], draw: np.random.Generator
) -> tuple[int, int, int, int] | None:
    """A random place that hardly overlaps with others: left, top, right, bottom."""
    height, width = size
    for _ in range(_TRIES):
        left, top = int(draw.integers(SIDE - width + 1)), int(draw.integers(SIDE - height + 1))
        right, bottom = left + width, top + height
        if all(
            max(0, min(right, other[2]) - max(left, other[0])) * max(0, min(bottom, other[3]) - max(top, other[1]))
            <= _OVERLAP * min(width * height, (other[2] - other[0]) * (other[3] - other[1]))
            for other in others
        ):
            return left, top, right, bottom
    return None
