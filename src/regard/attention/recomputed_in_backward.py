"""Autograd for engines that save only their inputs: the output, its gradient, and the gradient of that gradient.

Each is recomputed from the inputs, so memory is linear up to the second order. Under `torch.vmap`, which PyTorch
applies to a backward pass that is batched, the samples are computed one by one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.attention.engines import blocked
from regard.attention.parts import flatten_part, unflatten_part
from regard.attention.precision import no_autocast
from regard.attention.request import Request
from regard.errors import RefusedError

__all__ = ["RequestSpec", "run_recomputing", "second_order", "stack_samples", "vmap_samples"]


@dataclass(frozen=True)
class RequestSpec:
    """A request without its tensors: the spec of its parts, dropout, and the engine that runs it."""

    parts: Any
    dropout: float
    seed: int
    engine: Any

    def request(self, query: Tensor, key: Tensor, value: Tensor, *operands: Tensor) -> Request:
        """The request with these tensors."""
        return Request(query, key, value, unflatten_part(self.parts, operands), self.dropout, self.seed)


def run_recomputing(request: Request, engine: Any) -> Tensor:
    """The output of a request, (batch, head, query, value), recomputed by `engine` for its gradient.

    Args:
        request: with as many heads of key and value as of query.
        engine: an engine with forward(request) and backward(request, grad_output).
    """
    if torch.is_grad_enabled():
        blocked.refuse_captured(request)
    if not request.differentiable:
        return engine.forward(request)
    parts, operands = flatten_part(request.parts)
    # A tensor made under inference_mode can't be saved for backward, but a copy of it can.
    operands = tuple(tensor.clone() if tensor.is_inference() else tensor for tensor in operands)
    spec = RequestSpec(parts, request.dropout, request.seed, engine)
    return _Output.apply(spec, request.query, request.key, request.value, *operands)  # pyright: ignore[reportReturnType]


class _Output(torch.autograd.Function):
    @staticmethod
    def forward(spec: RequestSpec, *tensors: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        with torch.no_grad():
            return spec.engine.forward(spec.request(*tensors))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.spec, *tensors = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        wanted = [i for i, needed in enumerate(ctx.needs_input_grad[1:]) if needed]
        plain = not torch.is_grad_enabled() and not torch._C._are_functorch_transforms_active()
        # Without create_graph, no graph of the gradient is recorded.
        compute = _gradient if plain else _Gradient.apply
        # Read once, because PyTorch's checkpointing recomputes them at every access.
        tensors = ctx.saved_tensors
        found = compute(ctx.spec, wanted, grad_output, *tensors)
        grads: list[Tensor | None] = [None] * len(tensors)
        for i, grad in zip(wanted, found, strict=True):  # pyright: ignore[reportArgumentType]
            grads[i] = grad
        return None, *grads


def _gradient(spec: RequestSpec, wanted: list[int], grad_output: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
    with torch.no_grad(), no_autocast(grad_output):
        found = spec.engine.backward(spec.request(*tensors), grad_output)
    return tuple(torch.zeros_like(tensors[i]) if found[i] is None else found[i].to(tensors[i].dtype) for i in wanted)


class _Gradient(torch.autograd.Function):
    @staticmethod
    def forward(spec: RequestSpec, wanted: list[int], grad_output: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _gradient(spec, wanted, grad_output, *tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.spec, ctx.wanted, *tensors = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return None, None, *second_order(ctx.spec.request, ctx.wanted, ctx.saved_tensors, cotangents)

    @staticmethod
    def vmap(  # pyright: ignore[reportIncompatibleMethodOverride]
        info: Any, in_dims: tuple[Any, ...], spec: RequestSpec, wanted: list[int], *tensors: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        return stack_samples(
            _Gradient.apply(spec, wanted, *sample) for sample in vmap_samples(info.batch_size, in_dims[2:], tensors)
        )


def second_order(
    request_of: Callable[..., Request], wanted: list[int], tensors: Sequence[Tensor], cotangents: Sequence[Tensor]
) -> tuple[Tensor | None, ...]:
    """The gradients of a gradient: for the output's gradient, query, key, value and the operands.

    Args:
        request_of: makes the request, with heads equal, from query, key, value and the operands.
        wanted: which of (query, key, value, *operands) the first gradients are of.
        tensors: the output's gradient, query, key, value and the operands.
        cotangents: the gradients with respect to each of the first gradients.
    """
    # If a graph is needed, its backward raises an error: there is no third derivative.
    graph = torch.is_grad_enabled() or torch._C._are_functorch_transforms_active()
    compute = _Second.apply if graph else _second
    found = compute(request_of, wanted, len(tensors), *tensors, *cotangents)
    gradients = iter(found)  # pyright: ignore[reportArgumentType]
    return tuple(next(gradients) if tensor.is_floating_point() else None for tensor in tensors)


def _second(
    request_of: Callable[..., Request], wanted: list[int], count: int, *arguments: Tensor
) -> tuple[Tensor, ...]:
    tensors, cotangents = arguments[:count], arguments[count:]
    grad_output, *inputs = tensors
    with no_autocast(grad_output):
        found = blocked.second(request_of(*inputs), grad_output, wanted, list(cotangents))
    # Some operands, such as lengths, have no gradient; engines that save for backward don't list them.
    return tuple(
        torch.zeros_like(tensor) if grad is None else grad.to(tensor.dtype)
        for grad, tensor in zip(found[:count], tensors, strict=True)
        if tensor.is_floating_point()
    )


class _Second(torch.autograd.Function):
    @staticmethod
    def forward(
        request_of: Callable[..., Request], wanted: list[int], count: int, *arguments: Tensor
    ) -> tuple[Tensor, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _second(request_of, wanted, count, *arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise RefusedError("attend has derivatives up to the second. Use engine='dense' for the third.")

    @staticmethod
    def vmap(  # pyright: ignore[reportIncompatibleMethodOverride]
        info: Any, in_dims: tuple[Any, ...], request_of: Any, wanted: list[int], count: int, *arguments: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        return stack_samples(
            _Second.apply(request_of, wanted, count, *sample)
            for sample in vmap_samples(info.batch_size, in_dims[3:], arguments)
        )


def vmap_samples(count: int, dims: tuple[int | None, ...], tensors: tuple[Tensor, ...]) -> list[list[Tensor]]:
    """The tensors of each sample of a `torch.vmap`; tensors without a batch dimension are shared by all samples."""
    return [
        [tensor if dim is None else tensor.select(dim, i) for tensor, dim in zip(tensors, dims, strict=True)]
        for i in range(count)
    ]


def stack_samples(found: Any) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    """The results of all samples and their batch dimensions, as a vmap rule returns them."""
    together = tuple(torch.stack(results) for results in zip(*found, strict=True))
    return together, (0,) * len(together)
