"""Products of two tensors, `matmul`, `bmm` and `einsum` alike, as (..., row, inner) times (..., inner, column)."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

__all__ = ["Product", "as_product", "axes_in_result"]

_MATMUL = {torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm, torch.mm, Tensor.mm}


@dataclass(frozen=True)
class Product:
    """A product.

    Attributes:
        operand: the left operand as it was passed.
        left: the same as (..., row, inner).
        right: the right operand as (..., inner, column).
        order: how the axes of the result are ordered: axis i of the result is axis order[i] of (..., row, column).
        at: where `operand` has its row and its inner axis, counted from its end: -1 is its last axis.
        other: the right operand as it was passed.
        other_at: where `other` has its column and its inner axis.
    """

    operand: Tensor
    left: Tensor
    right: Tensor
    order: tuple[int, ...]
    at: tuple[int, int]
    other: Tensor
    other_at: tuple[int, int]

    @property
    def in_order(self) -> bool:
        """Whether the result is (..., row, column)."""
        return self.order == tuple(range(len(self.order)))

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
        return Product(self.other, self.right.mT, self.left.mT, order, self.other_at, self.operand, self.at)

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


def as_product(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Product | None:
    """The product that a function computes; None if it is none of two tensors with an axis each for row and column.

    Example:
        >>> query, key = torch.zeros(1, 5, 2, 4), torch.zeros(1, 7, 2, 4)
        >>> product = as_product(torch.einsum, ("bqhd,bkhd->bhqk", query, key), {})
        >>> product.left.shape, product.right.shape, product.in_order
        (torch.Size([1, 2, 5, 4]), torch.Size([1, 2, 4, 7]), True)
    """
    if func is torch.einsum:
        return _einsum(args)
    if func not in _MATMUL or len(args) != 2 or kwargs or not all(isinstance(each, Tensor) for each in args):
        return None
    left, right = args
    if left.ndim < 2 or right.ndim < 2:
        return None
    return Product(left, left, right, tuple(range(max(left.ndim, right.ndim))), (-2, -1), right, (-1, -2))


def axes_in_result(args: tuple[Any, ...], number: int, axes: tuple[int, int]) -> tuple[int, int] | None:
    """Where the result of an `einsum` or a `matmul` has two axes of an operand; None if they are summed over.

    Args:
        args: what the function was called with.
        number: which operand.
        axes: two axes of it, counted from its end, as in the answer.

    Example:
        >>> axes_in_result(("gh,bhqk->bqkg", torch.zeros(3, 2), torch.zeros(1, 2, 5, 7)), 1, (-2, -1))
        (-3, -2)
    """
    if not isinstance(args[0], str):
        if len(args) != 2 or not all(isinstance(each, Tensor) and each.ndim > 1 for each in args):
            return None
        inner = -1 if number == 0 else -2
        return None if inner in axes else axes
    inputs, arrow, result = args[0].replace(" ", "").replace("...", ".").partition("->")
    names = inputs.split(",")
    if not arrow or number >= len(names):
        return None
    found = []
    for axis in axes:
        tail = names[number][axis:]
        place = result.find(tail[0])
        # What stands before "..." has no fixed place from the end.
        if len(tail) < -axis or place < 0 or "." in tail + result[place:]:
            return None
        found.append(place - len(result))
    return found[0], found[1]


def _einsum(args: tuple[Any, ...]) -> Product | None:
    if len(args) == 2 and isinstance(args[1], list | tuple):
        args = (args[0], *args[1])
    if len(args) != 3 or not isinstance(args[0], str) or "->" not in args[0] or "." in args[0]:
        return None
    inputs, result = args[0].replace(" ", "").split("->")
    names = inputs.split(",")
    if len(names) != 2 or any(len(set(each)) != len(each) for each in (*names, result)):
        return None
    (left, right), (first, second) = names, args[1:]
    inner = [name for name in left if name in right and name not in result]
    rows = [name for name in left if name not in right]
    columns = [name for name in right if name not in left]
    if len(inner) != 1 or not rows or len(columns) != 1 or not set(rows + columns) <= set(result):
        return None
    # Of several axes that only the left operand has, as with grouped queries, the last is the row.
    row, column = rows[-1], columns[0]
    batch = [name for name in left if name not in (row, inner[0])]
    whole = [*batch, row, column]
    return Product(
        first,
        first.permute(tuple(left.index(name) for name in (*batch, row, inner[0]))),
        _aligned(second, right, [*batch, inner[0], column]),
        tuple(whole.index(name) for name in result),
        (left.index(row) - len(left), left.index(inner[0]) - len(left)),
        second,
        (right.index(column) - len(right), right.index(inner[0]) - len(right)),
    )


def _aligned(tensor: Tensor, names: str, wanted: list[str]) -> Tensor:
    """The tensor with its axes in the wanted order, and size 1 for those that it lacks."""
    tensor = tensor.permute(tuple(names.index(name) for name in wanted if name in names))
    for axis, name in enumerate(wanted):
        if name not in names:
            tensor = tensor.unsqueeze(axis)
    return tensor
