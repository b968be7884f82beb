"""A product of two tensors, whatever function computes it, as (..., row, inner) times (..., inner, column)."""

from dataclasses import dataclass, replace

from torch import Tensor

__all__ = ["Product"]


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
