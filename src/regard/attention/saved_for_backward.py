"""What autograd sees of an engine that keeps something of its forward pass for its gradient.

The gradient of that gradient, which such a kernel doesn't have, is computed by `blocked` from the inputs again.
"""

from collections.abc import Sequence
from functools import partial
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from regard.attention.recomputed_in_backward import second_order, stack_samples, vmap_samples
from regard.attention.request import Parts, Request

__all__ = ["run_saving"]


def run_saving(request: Request, engine: ModuleType) -> Tensor:
    """The output of a reduced request, (batch, head, query, value), with its gradient.

    Args:
        request: reduced, with heads equal; no operand of its parts wants a gradient.
        engine: what offers `begin(request) -> (output, *what it keeps)` and
            `finish(request, grad_output, output, *kept) -> gradients of query, key and value`.
    """
    # What the position does to the heads has been done; such an engine knows no other hooks.
    apply: Any = _Output.apply
    return apply(engine, request.parts.without_position, request._cache, request.query, request.key, request.value)


class _Output(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, engine: ModuleType, parts: Parts, cache: dict[str, Any], *inputs: Tensor) -> Tensor:
        ctx.engine, ctx.parts, ctx.cache = engine, parts, cache
        output, *saved = engine.forward_and_save(_request(parts, cache, inputs))
        ctx.save_for_backward(*inputs, output, *saved)
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        # Where nobody wants a graph of the gradient, none is made.
        plain = not torch.is_grad_enabled() and not torch._C._are_functorch_transforms_active()
        compute: Any = _gradient if plain else _Gradient.apply
        return None, None, None, *compute(ctx.engine, ctx.parts, ctx.cache, grad_output, *ctx.saved_tensors)


def _request(parts: Parts, cache: dict[str, Any], tensors: Sequence[Tensor]) -> Request:
    query, key, value = tensors[:3]
    return Request(query, key, value, parts, 0.0, 0, cache)


def _gradient(
    engine: ModuleType, parts: Parts, cache: dict[str, Any], grad_output: Tensor, *saved: Tensor
) -> tuple[Tensor, ...]:
    return engine.backward_from_saved(_request(parts, cache, saved), grad_output, *saved[3:])


class _Gradient(torch.autograd.Function):
    @staticmethod
    def forward(
        engine: ModuleType, parts: Parts, cache: dict[str, Any], grad_output: Tensor, *saved: Tensor
    ) -> tuple[Tensor, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _gradient(engine, parts, cache, grad_output, *saved)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        _, ctx.parts, ctx.cache, grad_output, *saved = inputs
        ctx.saved = len(saved)
        ctx.save_for_backward(grad_output, *saved[:3])

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        grads = second_order(partial(_request_of, ctx.parts, ctx.cache), [0, 1, 2], ctx.saved_tensors, cotangents)
        return None, None, None, *grads, *[None] * (ctx.saved - 3)

    @staticmethod
    def vmap(  # pyright: ignore[reportIncompatibleMethodOverride]
        info: Any, in_dims: tuple[Any, ...], engine: ModuleType, parts: Parts, cache: dict[str, Any], *tensors: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        return stack_samples(
            _Gradient.apply(engine, parts, cache, *sample)
            for sample in vmap_samples(info.batch_size, in_dims[3:], tensors)
        )


def _request_of(parts: Parts, cache: dict[str, Any], *inputs: Tensor) -> Request:
    return _request(parts, cache, inputs)
