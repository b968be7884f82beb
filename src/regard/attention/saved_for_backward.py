"""Autograd for engines that save intermediate results of the forward pass for backward.

Such kernels have no gradient of the gradient; `blocked` computes it from the inputs.
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
        request: reduced, with heads equal; no operand of its parts needs a gradient.
        engine: an engine with `forward_and_save(request) -> (output, *saved)` and
            `backward_from_saved(request, grad_output, output, *saved) -> gradients of query, key and value`.
    """
    # The position's change of query and key has been applied; such an engine supports no other hooks.
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
        # Without create_graph, no graph of the gradient is recorded.
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
