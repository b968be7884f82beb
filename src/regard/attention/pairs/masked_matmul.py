"""Matrix products over the allowed pairs, in which no result depends on the values at hidden pairs.

A weight of 0 at hidden pairs isn't enough: 0 x NaN is NaN, in the product and in its gradient.
"""

import math
from typing import Any

import torch
from torch import Tensor

from regard.attention.gradients.forward_over_forward import refuse_forward_over_forward

__all__ = ["masked_matmul"]


def masked_matmul(weights: Tensor, value: Tensor, allowed: Tensor) -> Tensor:
    """weights @ value, where row i ignores every value that is hidden from it; differentiable any number of times.

    Args:
        weights: (group, row, column), 0 where hidden.
        value: (group, column, value).
        allowed: (group, row, column), bool.

    Example:
        >>> value = torch.tensor([[[1.0], [torch.nan]]])
        >>> weights, allowed = torch.tensor([[[0.5, 0.0], [0.5, 0.5]]]), torch.tensor([[[True, False], [True, True]]])
        >>> masked_matmul(weights, value, allowed)
        tensor([[[0.5000],
                 [   nan]]])
    """
    return _MaskedMatmul.apply(weights, value, allowed)  # pyright: ignore[reportReturnType]


class _MaskedMatmul(torch.autograd.Function):
    """(group, row, column) @ (group, column, size), where the first is 0 at hidden pairs."""

    @staticmethod
    def forward(weights: Tensor, value: Tensor, allowed: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        finite = torch.isfinite(value)
        if finite.all():
            return weights @ value
        output = weights @ torch.where(finite, value, 0.0)

        def some(pairs: Tensor, entries: Tensor) -> Tensor:
            return pairs.to(output.dtype) @ entries.to(output.dtype) > 0

        high, low, above, below = value == math.inf, value == -math.inf, weights > 0, weights < 0
        output = torch.where(some(above, high) | some(below, low), math.inf, output)
        output = torch.where(some(above, low) | some(below, high), output - math.inf, output)
        return output.masked_fill(
            some(allowed, torch.isnan(value)) | some(allowed & (weights == 0), high | low), math.nan
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        weights, value, allowed = ctx.saved_tensors
        return (
            _SampledMatmul.apply(grad_output, value, allowed),
            masked_matmul(weights.mT, grad_output, allowed.mT),
            None,
        )  # pyright: ignore

    @staticmethod
    def jvp(ctx: Any, change: Tensor | None, of_value: Tensor | None, _: None) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        refuse_forward_over_forward()
        weights, value, allowed = ctx.saved_tensors
        parts = [
            *([] if change is None else [masked_matmul(torch.where(allowed, change, 0.0), value, allowed)]),
            *([] if of_value is None else [masked_matmul(weights, of_value, allowed)]),
        ]
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor) -> tuple[Any, int]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _MaskedMatmul.apply(*_batched(info.batch_size, in_dims, inputs)), 0


class _SampledMatmul(torch.autograd.Function):
    """(group, row, size) @ (group, column, size)^T at the allowed pairs, 0 at hidden ones (SDDMM)."""

    @staticmethod
    def forward(rows: Tensor, columns: Tensor, allowed: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return torch.where(allowed, rows @ columns.mT, 0.0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad_products: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        rows, columns, allowed = ctx.saved_tensors
        grad = torch.where(allowed, grad_products, 0.0)
        return masked_matmul(grad, columns, allowed), masked_matmul(grad.mT, rows, allowed.mT), None

    @staticmethod
    def jvp(ctx: Any, of_rows: Tensor | None, of_columns: Tensor | None, _: None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        refuse_forward_over_forward()
        rows, columns, allowed = ctx.saved_tensors
        parts = [
            *([] if of_rows is None else [_SampledMatmul.apply(of_rows, columns, allowed)]),
            *([] if of_columns is None else [_SampledMatmul.apply(rows, of_columns, allowed)]),
        ]
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]  # pyright: ignore[reportOperatorIssue]

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor) -> tuple[Any, int]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _SampledMatmul.apply(*_batched(info.batch_size, in_dims, inputs)), 0


def _batched(size: int, dims: tuple[int | None, ...], inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The inputs with the vmap dimension in front: matrix products broadcast over leading dimensions."""
    return tuple(
        one.expand(size, *one.shape) if dim is None else one.movedim(dim, 0)
        for one, dim in zip(inputs, dims, strict=True)
    )
