"""Biases that depend only on the distance, added to the scores as a view of one line of numbers instead of a table."""

from functools import partial
from typing import ClassVar

from torch import Tensor

from regard.attention.gradients.vjp import vjp
from regard.attention.parts import Differentiable, operands, optional_method
from regard.attention.positions.position import Position
from regard.attention.positions.skewing import diagonal_sums, line_offsets, skew
from regard.attention.sizes import Index

__all__ = ["OffsetBias"]


class OffsetBias(Position):
    """score_ij += b(j - i). Subclass it as a frozen dataclass and write `bias`, in linear memory for any length.

    Example:
        >>> import torch
        >>> from dataclasses import dataclass
        >>> from regard.attention import weigh
        >>> @dataclass(frozen=True)
        ... class Near(OffsetBias):
        ...     def bias(self, offset):
        ...         return -offset.square().float()
        >>> x = torch.zeros(1, 1, 3, 4)
        >>> weigh(x, x, position=Near())[0, 0]
        tensor([[0.7214, 0.2654, 0.0132],
                [0.2119, 0.5761, 0.2119],
                [0.0132, 0.2654, 0.7214]])
    """

    adds_constants: ClassVar[bool] = True

    def bias(self, offset: Tensor) -> Tensor:
        """The bias at these distances: integers (1 or group, row, column) to numbers that broadcast against them."""
        raise NotImplementedError(f"{type(self).__name__} must define bias(offset)")

    def bias_vjp(self, gradient: Tensor, offset: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of the operands, given that of the biases (group, row, column); by default by autograd."""
        parts = Differentiable(self)

        def biases(*changed: Tensor) -> Tensor:
            (given,) = parts.with_operands(*changed)
            return given.bias(offset).expand(gradient.shape).to(gradient.dtype)

        if not parts.operands:
            return (None,) * len(operands(self))
        _, vjp_fn = vjp(biases, *parts.operands)
        return tuple(parts.gradients(vjp_fn(gradient))[0])

    def scores(self, scores: Tensor, query: Tensor, key: Tensor, at: Index) -> Tensor:
        rows, columns = scores.shape[1:]
        line = line_offsets(at, rows, columns)
        if line is None:
            return scores + self.bias(at.offset).to(scores.dtype)
        return scores + skew(self.bias(line).to(scores.dtype).expand(-1, rows, line.shape[-1]))

    def scores_vjp(self, grad_scores: Tensor, query: Tensor, key: Tensor, at: Index) -> tuple[Tensor | None, ...]:
        # A subclass that overrides `bias` but not `bias_vjp` gets the gradient by autograd.
        vjp_fn = optional_method(self, "bias_vjp", "bias") or partial(OffsetBias.bias_vjp, self)
        line = line_offsets(at, *grad_scores.shape[1:])
        if line is None:
            return None, None, *vjp_fn(grad_scores, at.offset)
        return None, None, *vjp_fn(diagonal_sums(grad_scores), line)
