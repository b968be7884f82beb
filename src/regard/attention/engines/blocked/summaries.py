"""Statistics of a tile of weights, a few numbers per row, in plain PyTorch for every device."""

import itertools
from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["TileSummary", "WeightsTile", "seen", "summarise_tile"]


class TileSummary(NamedTuple):
    """The statistics of one tile of weights. A tile holds whole rows, so those of a row are final.

    Attributes:
        seen: (group or 1, row), how many keys each row may see.
        top_column: (group, row, top), the columns of the largest weights; -1 if there are fewer.
        top_weight: (group, row, top), these weights, the largest first; 0 if there are fewer.
        entropy: (group, row).
        distance: (group, row).
        zeros: (group, row), how many weights of allowed pairs are exactly 0.
        received: (group, column), the sum of each column.
        sums: (group, row, cell), the sum of a row over each cell of columns.
        most: (group, row, cell), the largest weight of a row in each cell.
    """

    seen: Tensor
    top_column: Tensor
    top_weight: Tensor
    entropy: Tensor
    distance: Tensor
    zeros: Tensor
    received: Tensor
    sums: Tensor
    most: Tensor


class WeightsTile(NamedTuple):
    """A tile of weights, and what its statistics are of.

    Attributes:
        weights: (group, row, column), 0 where hidden.
        allowed: (group or 1, row, column), which pairs are allowed, or None for all.
        unmasked: columns that are known to be allowed for all rows.
        keys: (column,), the positions of the keys.
        positions: (group or 1, row), the positions of the queries.
        cells: where each cell of columns starts, and where the last one ends.
        top: how many of the largest weights to find.
    """

    weights: Tensor
    allowed: Tensor | None
    unmasked: slice
    keys: Tensor
    positions: Tensor
    cells: list[int]
    top: int


def summarise_tile(tile: WeightsTile) -> TileSummary:
    """Compute the statistics of a tile of weights."""
    weights, allowed, unmasked, keys, positions, cells, top = tile
    shown = weights.abs()
    mass = shown.sum(-1)
    distances = (keys - positions.unsqueeze(-1)).abs()
    # With p = w / sum w: -sum p log p = log(sum w) - (sum w log w) / sum w.
    entropy = (mass.log() + torch.special.entr(shown).sum(-1) / mass).clamp(min=0.0)
    distance = (shown * distances).sum(-1) / mass
    none = mass == 0
    zero = weights == 0
    count = seen(weights, allowed, unmasked)
    sums, most = (weights.new_zeros(*weights.shape[:2], len(cells) - 1) for _ in range(2))
    for cell, (start, stop) in enumerate(itertools.pairwise(cells)):
        if start < stop:
            sums[..., cell] = weights[..., start:stop].sum(-1)
            most[..., cell] = weights[..., start:stop].amax(-1)
    return TileSummary(
        count,
        *_top(weights, allowed, top),
        torch.where(none, 0.0, entropy),
        torch.where(none, 0.0, distance),
        (zero if allowed is None else zero & allowed).sum(-1, dtype=weights.dtype),
        weights.sum(1),
        sums,
        most,
    )


def seen(weights: Tensor, allowed: Tensor | None, unmasked: slice) -> Tensor:
    """How many keys each row may see. Columns known to be allowed for all rows are not counted one by one."""
    if allowed is None:
        return weights.new_full((1, weights.shape[1]), weights.shape[2])
    known = max(unmasked.stop - unmasked.start, 0)
    if not known:
        return allowed.sum(-1, dtype=weights.dtype)
    rest = (allowed[..., : unmasked.start], allowed[..., unmasked.stop :])
    return sum((part.sum(-1, dtype=weights.dtype) for part in rest), start=weights.new_tensor(float(known)))


def _top(weights: Tensor, allowed: Tensor | None, top: int) -> tuple[Tensor, Tensor]:
    """Columns and weights of the largest, found one by one, since `topk` doesn't say which of equal ones it returns."""
    left = weights.clone() if allowed is None else torch.where(allowed, weights, -torch.inf)
    columns = torch.full((*weights.shape[:2], top), -1, device=weights.device)
    values = weights.new_zeros(columns.shape)
    for rank in range(min(top, weights.shape[2])):
        column = left.argmax(-1, keepdim=True)  # the first of equals
        value = left.gather(-1, column)
        found = value != -torch.inf
        columns[..., rank : rank + 1] = torch.where(found, column, -1)
        values[..., rank : rank + 1] = torch.where(found, value, 0.0)
        left.scatter_(-1, column, -torch.inf)
    return columns, values
