"""What autograd sees of an engine that keeps something of its forward pass for its gradient.

The gradient of that gradient, which such a kernel doesn't have, is computed by `blocked` from the inputs again.
"""

from collections.abc import Sequence
from functools import partial
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from regard.attention.recompute import samples, second_order, stacked
from regard.attention.request import Parts, Request

__all__ = ["kept"]


def kept(request: Request, engine: ModuleType) -> Tensor:
    """The output of a reduced request, (batch, head, query, value), with its gradient.

    Args:
        request: reduced, with heads equal; no operand of its parts wants a gradient.
        engine: what offers `begin(request) -> (output, *what it keeps)` and
            `finish(request, grad_output, output, *kept) -> gradients of query, key and value`.
    """
    # What the position does to the heads has been done; such an engine knows no other hooks.
    apply: Any = _Kept.apply
    return apply(engine, request.parts.turned, request._found, request.query, request.key, request.value)


class _Kept(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, engine: ModuleType, parts: Parts, found: dict[str, Any], *three: Tensor) -> Tensor:
        ctx.engine, ctx.parts, ctx.found = engine, parts, found
        output, *rest = engine.begin(_request(parts, found, three))
        ctx.save_for_backward(*three, output, *rest)
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        # Where nobody wants a graph of the gradient, none is made.
        plain = not torch.is_grad_enabled() and not torch._C._are_functorch_transforms_active()
        compute: Any = _gradient if plain else _Gradient.apply
        return None, None, None, *compute(ctx.engine, ctx.parts, ctx.found, grad_output, *ctx.saved_tensors)


def _request(parts: Parts, found: dict[str, Any], tensors: Sequence[Tensor]) -> Request:
    query, key, value = tensors[:3]
    return Request(query, key, value, parts, 0.0, 0, found)


def _gradient(
    engine: ModuleType, parts: Parts, found: dict[str, Any], grad_output: Tensor, *saved: Tensor
) -> tuple[Tensor, ...]:
    return engine.finish(_request(parts, found, saved), grad_output, *saved[3:])


class _Gradient(torch.autograd.Function):
    @staticmethod
    def forward(
        engine: ModuleType, parts: Parts, found: dict[str, Any], grad_output: Tensor, *saved: Tensor
    ) -> tuple[Tensor, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _gradient(engine, parts, found, grad_output, *saved)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        _, ctx.parts, ctx.found, grad_output, *saved = inputs
        ctx.saved = len(saved)
        ctx.save_for_backward(grad_output, *saved[:3])

    @staticmethod
    def backward(ctx: Any, *above: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        grads = second_order(partial(_request_of, ctx.parts, ctx.found), [0, 1, 2], ctx.saved_tensors, above)
        return None, None, None, *grads, *[None] * (ctx.saved - 3)

    @staticmethod
    def vmap(  # pyright: ignore[reportIncompatibleMethodOverride]
        info: Any, in_dims: tuple[Any, ...], engine: ModuleType, parts: Parts, found: dict[str, Any], *tensors: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        return stacked(
            _Gradient.apply(engine, parts, found, *sample) for sample in samples(info.batch_size, in_dims[3:], tensors)
        )


def _request_of(parts: Parts, found: dict[str, Any], *three: Tensor) -> Request:
    return _request(parts, found, three)
