"""A product of two tensors, (..., row, inner) times (..., inner, column), whatever computes it; and its precision."""

import functools
from dataclasses import dataclass, replace

import torch
from torch import Tensor

__all__ = ["DTYPES", "Product", "as_multiplied"]


@dataclass(frozen=True)
class Product:
    """A product: addend + factor * left @ right.

    Attributes:
        operand: the left operand as it was passed.
        left: the same as (..., row, inner).
        right: the right operand as (..., inner, column).
        order: how the axes of the result are ordered: axis i of the result is axis order[i] of (..., row, column).
        at: where `operand` has its row and its inner axis, counted from its end: -1 is its last axis.
        other: the right operand as it was passed.
        other_at: where `other` has its column and its inner axis.
        factor: what the product is multiplied by.
        addend: what is added then; None: nothing.
        is_map: whether the function is that of linear maps, so that it is a product of queries and keys only if softmax
            makes weights of it.
    """

    operand: Tensor
    left: Tensor
    right: Tensor
    order: tuple[int, ...]
    at: tuple[int, int]
    other: Tensor
    other_at: tuple[int, int]
    factor: float = 1.0
    addend: Tensor | None = None
    is_map: bool = False

    @property
    def in_order(self) -> bool:
        """Whether the result is (..., row, column)."""
        return self.order == tuple(range(len(self.order)))

    @property
    def is_plain(self) -> bool:
        """Whether nothing is multiplied and added."""
        return self.addend is None and self.factor == 1.0

    @property
    def result_at(self) -> tuple[int, int]:
        """Where the result has its row and its column, counted from its end."""
        count = len(self.order)
        return self.order.index(count - 2) - count, self.order.index(count - 1) - count

    @property
    def mirrored(self) -> "Product":
        """The same product with its operands exchanged: A B is the transpose of B^T A^T."""
        count = len(self.order)
        swapped = {count - 2: count - 1, count - 1: count - 2}
        order = tuple(swapped.get(axis, axis) for axis in self.order)
        operands = {"operand": self.other, "left": self.right.mT, "right": self.left.mT, "other": self.operand}
        return replace(self, **operands, order=order, at=self.other_at, other_at=self.at)

    def to_result(self, tensor: Tensor) -> Tensor:
        """A tensor (..., row, column) with the axes of the result."""
        return tensor if self.in_order else tensor.permute(self.order)

    def from_result(self, result: Tensor) -> Tensor:
        """The result as (..., row, column)."""
        return (
            result
            if self.in_order
            else result.permute(tuple(self.order.index(axis) for axis in range(len(self.order))))
        )


DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
"""What the operator multiplies."""


def as_multiplied(*tensors: Tensor, by_autocast: bool = True) -> list[Tensor]:
    """Factors in the dtype in which they are multiplied: that of autocast, or else the most precise of theirs.

    Args:
        tensors: the factors; where one is of another dtype than `DTYPES`, all stay as they are.
        by_autocast: whether the function that multiplies them is one of those that autocast runs in its own dtype.

    Example:
        >>> half, single = torch.zeros(1, dtype=torch.bfloat16), torch.zeros(1)
        >>> [each.dtype for each in as_multiplied(half, single)]
        [torch.float32, torch.float32]
        >>> with torch.autocast("cpu", torch.bfloat16):
        ...     [each.dtype for each in as_multiplied(half, single)]
        [torch.bfloat16, torch.bfloat16]
    """
    kind, dtypes = tensors[0].device.type, {each.dtype for each in tensors}
    if not dtypes.issubset(DTYPES):
        return [*tensors]
    cast = by_autocast and torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
    if cast and torch.float64 not in dtypes:
        dtype = torch.get_autocast_dtype(kind)
    else:
        dtype = functools.reduce(torch.promote_types, dtypes)
    return [each.to(dtype) for each in tensors]
