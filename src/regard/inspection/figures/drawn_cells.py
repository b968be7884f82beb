"""The cells of a map: single weights, or of many items cells that join several, and which of them the mask hides."""

import math
from typing import NamedTuple

import numpy as np

from regard.inspection.figures.colours import MASKED, rgb, weight_pixels
from regard.inspection.record.record import LayerRecord
from regard.inspection.views.layer_arrays import hidden_pairs, joined_cells
from regard.page.scale import full_colour

__all__ = ["DrawnCells", "cells_of", "high_of"]

# Of larger layers a few queries of each cell are looked at.
_ALL = 2**25
_TAKEN = 8


class DrawnCells(NamedTuple):
    """The cells of a map.

    Args:
        sums: (row, column), weights summed over the keys of a cell and averaged over its queries.
        largest: (row, column), the largest single weight in each cell.
        masked: (row, column), whether the mask hides all pairs of a cell.
        tall, wide: how many queries and keys a cell joins.
        taken: how many of the queries of a cell were looked at.
    """

    sums: np.ndarray
    largest: np.ndarray
    masked: np.ndarray
    tall: int
    wide: int
    taken: int

    def pixels(self, high: float) -> np.ndarray:
        """The colours (row, column, RGB) of the cells, as bytes, on a scale up to `high`."""
        pixels = weight_pixels(self.sums, high)
        pixels[self.masked] = rgb(MASKED)
        return pixels

    @property
    def joined(self) -> bool:
        """Whether a cell is more than one weight."""
        return self.tall * self.wide > 1


def cells_of(layer: LayerRecord, heads: list[int | None], most: int) -> list[DrawnCells]:
    """The cells of some heads of a layer.

    Args:
        layer: the layer.
        heads: the numbers of heads, from 0; None: their average.
        most: the most rows and columns.
    """
    few = None if math.prod((layer.heads, *layer.shape)) <= _ALL else _TAKEN
    found = joined_cells(layer, most, few)
    mask = hidden_pairs(layer)
    return [
        DrawnCells(
            (found.sums.mean(0) if head is None else found.sums[head]).double().numpy(),
            (found.largest.amax(0) if head is None else found.largest[head]).double().numpy(),
            _masked(mask, layer, head, found.tall, found.wide),
            found.tall,
            found.wide,
            found.taken,
        )
        for head in heads
    ]


def high_of(cells: list[DrawnCells]) -> float:
    """The number that has the full colour: the largest, if equal weights wouldn't be dark on its scale."""
    numbers = [(each.sums[np.isfinite(each.sums)], each.sums.shape[1]) for each in cells]
    return max([1e-9, *(full_colour(float(sums.max()), columns) for sums, columns in numbers if sums.size)])


def _masked(
    mask: dict[str, np.ndarray] | None, layer: LayerRecord, head: int | None, tall: int, wide: int
) -> np.ndarray:
    """Which cells have no pair that is allowed."""
    queries, keys = layer.shape
    rows, columns = -(-queries // tall), -(-keys // wide)
    masked = np.zeros((rows, columns), bool)
    if not mask:
        return masked
    for row in range(rows):
        which = slice(row * tall, min(queries, (row + 1) * tall))
        if "start" in mask:
            number = np.arange(keys)
            allowed = ((number >= mask["start"][which, None]) & (number < mask["stop"][which, None])).any(0)
        else:
            # One table may stand for all heads. Of the average, a pair is hidden that all heads hide.
            table = mask["pair"]
            own = table.max(0) if head is None else table[min(head, len(table) - 1)]
            allowed = own[which].max(0) > 0
        padded = np.pad(allowed, (0, columns * wide - keys))
        masked[row] = ~padded.reshape(columns, wide).any(1)
    return masked
