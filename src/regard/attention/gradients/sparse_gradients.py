"""Gradients that are zero outside of a few blocks: what one tile adds to the gradient of a table of all pairs."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

__all__ = ["SparseGradient", "accumulate"]


class SparseGradient:
    """Blocks to add to a gradient, so that a tile needn't materialise all of it.

    Args:
        shape: the shape of the operand, up to four axes.
        blocks: (index, values) pairs, where the index is into (batch, head, query, key); they are added in order.
    """

    def __init__(self, shape: torch.Size, blocks: Sequence[tuple[tuple[Any, ...], Tensor]]):
        self._shape, self._blocks = shape, blocks

    def add_to(self, total: Tensor | None) -> Tensor:
        """Add the blocks to the total in place; to new zeros if the total is None."""
        if total is None:
            like = self._blocks[0][1]
            total = torch.zeros(self._shape, dtype=like.dtype, device=like.device)
        axes = total.view((1,) * (4 - total.ndim) + tuple(total.shape))
        for index, block in self._blocks:
            axes[index] += block
        return total


def accumulate(total: Tensor | None, gradient: "Tensor | SparseGradient") -> Tensor:
    """Add a gradient to the total in place; if the total is None, return a copy of the gradient."""
    if isinstance(gradient, SparseGradient):
        return gradient.add_to(total)
    return gradient.clone() if total is None else total.add_(gradient)
