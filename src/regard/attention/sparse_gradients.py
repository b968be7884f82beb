"""A gradient that is zero but in some places: a tile's share of that of a table of all pairs."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

__all__ = ["SparseGradient", "accumulate"]


class SparseGradient:
    """What to add to a gradient and where, so that a tile needn't write out all of it.

    Args:
        shape: that of the operand, up to four axes.
        pieces: index into (batch, head, query, key), and what belongs there, one after the other.
    """

    def __init__(self, shape: torch.Size, blocks: Sequence[tuple[tuple[Any, ...], Tensor]]):
        self._shape, self._blocks = shape, blocks

    def add_to(self, total: Tensor | None) -> Tensor:
        """The sum of all of it and the total, which is written into; a new one if there is none."""
        if total is None:
            like = self._blocks[0][1]
            total = torch.zeros(self._shape, dtype=like.dtype, device=like.device)
        axes = total.view((1,) * (4 - total.ndim) + tuple(total.shape))
        for index, block in self._blocks:
            axes[index] += block
        return total


def accumulate(total: Tensor | None, gradient: "Tensor | SparseGradient") -> Tensor:
    """A gradient added to the total of those before, in place; the first is copied."""
    if isinstance(gradient, SparseGradient):
        return gradient.add_to(total)
    return gradient.clone() if total is None else total.add_(gradient)
