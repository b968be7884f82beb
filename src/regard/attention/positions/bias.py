"""A bias for every pair, given as a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from regard.attention.gradients.sparse_gradients import SparseGradient
from regard.attention.positions.position import Position
from regard.attention.sizes import Index, Sizes
from regard.attention.tables import check_broadcastable, table_indices
from regard.attention.validation import check_tensor
from regard.errors import ArgumentError

__all__ = ["Bias"]


@dataclass(frozen=True)
class Bias(Position):
    """score_ij += b_ij, as a float mask in other libraries. Its memory is quadratic, because the table is.

    Args:
        table: real numbers, broadcastable to (batch, head, query, key); it may require grad. An axis of size 1 is
            shared. Minus infinity is no substitute for a mask: to hide pairs, use a mask. A query whose row is all
            minus infinity attends to nothing.

    Raises:
        ArgumentError: the table isn't real, or has another number of axes.

    Source: `attn_mask` of PyTorch's scaled_dot_product_attention.

    Example:
        >>> from regard.attention import weigh
        >>> x = torch.zeros(1, 1, 2, 4)
        >>> weigh(x, x, position=Bias(torch.tensor([[0.0, 0.0], [0.0, 1.0]])))[0, 0]
        tensor([[0.5000, 0.5000],
                [0.2689, 0.7311]])
    """

    table: Tensor

    adds_constants: ClassVar[bool] = True
    formulas: ClassVar[Mapping[str, str]] = {"scores": "b_ij, from a table"}

    def __post_init__(self) -> None:
        if isinstance(self.table, Tensor) and self.table.dtype == torch.bool:
            raise ArgumentError("`table` must hold real numbers, but is a bool table, which is a mask.")
        check_tensor("table", self.table, "of two to four axes up to (batch, head, query, key)", (2, 3, 4))

    def check(self, heads: int, sizes: Sizes) -> None:
        check_broadcastable(self.table, (sizes.batch, heads, sizes.queries, sizes.keys))

    def scores(self, scores: Tensor, query: Tensor, key: Tensor, at: Index) -> Tensor:
        table, axes = table_indices(self.table, at)
        if at.first_offset is None or table.device.type != "cpu":
            return scores + table[axes].to(scores.dtype)
        # A contiguous tile is a slice of the table; indexing each pair would cost more than the sum.
        rows, columns = (_slice(axis) for axis in axes[2:])
        groups = [table[item, head, rows, columns] for item, head in _groups(axes[0], axes[1])]
        return scores + (groups[0] if len(groups) == 1 else torch.stack(groups)).to(scores.dtype)

    def scores_vjp(self, grad_scores: Tensor, query: Tensor, key: Tensor, at: Index) -> tuple[Any, ...]:
        table, axes = table_indices(self.table, at)
        shared = tuple(axis for axis in (1, 2) if table.shape[axis + 1] == 1)
        sums = grad_scores.sum(shared, keepdim=True) if shared else grad_scores
        groups = _groups(axes[0], axes[1])
        if at.first_offset is None:
            rows, columns = (axis.flatten() for axis in axes[2:])
            block: Any = rows[: sums.shape[1], None], columns[: sums.shape[2]]
        else:
            block = tuple(_slice(axis) for axis in axes[2:])
        # No pair occurs twice in a group, and groups are added in order, so the result is reproducible.
        blocks = [((*groups[group % len(groups)], *block), part) for group, part in enumerate(sums)]
        return None, None, SparseGradient(self.table.shape, blocks)


def _slice(axis: Tensor) -> slice:
    """The indices of an axis as a slice; they are contiguous, or all 0."""
    flat = axis.flatten()
    return slice(int(flat[0]), int(flat[-1]) + 1)


def _groups(item: Tensor, head: Tensor) -> list[tuple[int, int]]:
    """The item and head of each group; only the first if all are the same."""
    both = torch.stack(torch.broadcast_tensors(item.flatten(), head.flatten()), -1)
    pairs = [(int(i), int(h)) for i, h in both.tolist()]
    return pairs[:1] if len(set(pairs)) == 1 else pairs
