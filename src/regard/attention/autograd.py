"""The one way from `attend` to autograd: the output, its gradient, and the gradient of that gradient.

A computation says how they come about. Eager calls have one of the two in this file, transforms and compilers one each
of their own (`function_transforms.py`, `custom_operator.py`). All go through the same three functions of autograd, so
that what a computation saves, skips and refuses is decided once. Memory stays linear up to the second order: `blocked`
computes the gradient of a gradient from the inputs, whichever engine computed the output.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from regard.attention.engines import blocked
from regard.attention.known import Known
from regard.attention.parts import flatten_part, operands, unflatten_part
from regard.attention.precision import no_autocast
from regard.attention.pytorch_internals import default_device, in_transform
from regard.attention.request import Parts, Request
from regard.errors import RefusedError

__all__ = ["Computation", "apply", "as_gradient_of", "run_recomputing", "run_saving"]


class Computation(ABC):
    """How a call of `attend` is computed from its tensors: query, key, value, and those of its parts.

    Attributes:
        device: where a user's part makes its tensors in the gradient too; None: where nothing else is said.
    """

    device: torch.device | None = None

    @abstractmethod
    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """The output (batch, head, query, value), then what the gradient needs of it, if it isn't recomputed."""

    @abstractmethod
    def backward(
        self, needed: list[int], grad_output: Tensor, tensors: Sequence[Tensor], saved: Sequence[Tensor]
    ) -> Sequence[Tensor]:
        """The gradients of the tensors with these numbers.

        Args:
            needed: the numbers.
            grad_output: the gradient of the output.
            tensors: as `forward` got them.
            saved: as `forward` returned them, the output first; nothing if it returned the output alone.
        """

    @abstractmethod
    def request(self, *tensors: Tensor) -> Request:
        """The request with these tensors, for the gradient of the gradient.

        Raises:
            RefusedError: there is none.
        """

    def on_device(self) -> AbstractContextManager[Any]:
        """The default device that the forward pass had."""
        return nullcontext() if self.device is None else self.device

    def in_one_batch(self, tensors: Sequence[Tensor], dims: Sequence[int | None]) -> list[Tensor] | None:
        """The samples of a `torch.vmap` as items of one larger batch; None if they must be computed one by one."""
        return None


def apply(computation: Computation, *tensors: Tensor) -> Tensor:
    """The output, (batch, head, query, value), differentiable in all tensors of real numbers."""
    if in_transform():
        return _TransformedOutput.apply(computation, *tensors)[0]  # pyright: ignore
    return _Output.apply(computation, *tensors)  # pyright: ignore[reportReturnType]


def run_recomputing(request: Request, engine: Any) -> Tensor:
    """The output of a request, (batch, head, query, value), recomputed by `engine` for its gradient.

    Args:
        request: with as many heads of key and value as of query.
        engine: an engine with forward(request) and backward(request, grad_output).
    """
    form = request.known.form
    # Only of calls without a user's part anything is known by now.
    if torch.is_grad_enabled() and "parts" not in form:
        blocked.refuse_captured(request)
    if not request.differentiable:
        return engine.forward(request)
    if "spec" not in form:
        form["spec"], found = flatten_part(request.parts)
    else:
        found = operands(request.parts)
    # A tensor made under inference_mode can't be saved for backward, but a copy of it can.
    given = [tensor.clone() if tensor.is_inference() else tensor for tensor in found] if found else []
    computation = _Recomputing(
        form["spec"], request.dropout, request.seed, request.known, engine, [request], default_device()
    )
    return apply(computation, request.query, request.key, request.value, *given)


def run_saving(request: Request, engine: ModuleType) -> Tensor:
    """The output of a reduced request, (batch, head, query, value), by an engine that saves numbers for its gradient.

    Args:
        request: reduced, with heads equal; no operand of its parts needs a gradient.
        engine: an engine with `forward_and_save(request) -> (output, *saved)` and
            `backward_from_saved(request, grad_output, output, *saved) -> gradients of query, key and value`.
    """
    # The position's change of query and key has been applied; such an engine supports no other hooks.
    computation = _Saving(request.parts.without_position, request.known, engine)
    return apply(computation, request.query, request.key, request.value)


@dataclass(frozen=True)
class _Recomputing(Computation):
    """By an engine that saves only its inputs.

    Attributes:
        spec: that of the request's parts.
        known: what is known of the request.
        whole: the request itself until the forward pass has taken it; autograd saves its tensors for backward.
    """

    spec: Any
    dropout: float
    seed: int
    known: Known
    engine: Any
    whole: list[Request]
    device: torch.device | None

    def request(self, *tensors: Tensor) -> Request:
        query, key, value, *rest = tensors
        parts = unflatten_part(self.spec, rest)
        # What is found inside a transform must not be kept.
        return Request(query, key, value, parts, self.dropout, self.seed, Known() if in_transform() else self.known)

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        # Autograd hands the tensors on as they are; a transform doesn't.
        whole = self.whole.pop() if self.whole else None
        same = whole is not None and whole.query is tensors[0]
        return (self.engine.forward(whole if same else self.request(*tensors)),)

    def backward(
        self, needed: list[int], grad_output: Tensor, tensors: Sequence[Tensor], saved: Sequence[Tensor]
    ) -> Sequence[Tensor]:
        with no_autocast(grad_output), self.on_device():
            found = self.engine.backward(self.request(*tensors), grad_output)
        for i in needed:
            if found[i] is None or found[i].dtype != tensors[i].dtype:
                found[i] = as_gradient_of(tensors[i], found[i])
        return [found[i] for i in needed]


@dataclass(frozen=True)
class _Saving(Computation):
    """By an engine that saves intermediate results. `known`: what is known of the request."""

    parts: Parts
    known: Known
    engine: ModuleType

    def request(self, *tensors: Tensor) -> Request:
        query, key, value = tensors
        return Request(query, key, value, self.parts, 0.0, 0, Known() if in_transform() else self.known)

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        return self.engine.forward_and_save(self.request(*tensors))

    def backward(
        self, needed: list[int], grad_output: Tensor, tensors: Sequence[Tensor], saved: Sequence[Tensor]
    ) -> Sequence[Tensor]:
        with no_autocast(grad_output):
            found = self.engine.backward_from_saved(self.request(*tensors), grad_output, *saved)
        return [found[i] for i in needed]


def as_gradient_of(tensor: Tensor, gradient: Tensor | None) -> Tensor:
    """The gradient in the dtype of its tensor; zeros if there is none."""
    return torch.zeros_like(tensor) if gradient is None else gradient.to(tensor.dtype)


class _Output(torch.autograd.Function):
    # With `setup_context`, which only transforms need, PyTorch takes about 9 us longer for each call.

    @staticmethod
    def forward(ctx: Any, computation: Computation, *tensors: Tensor) -> Tensor:
        output = computation.forward(*tensors)
        _save(ctx, computation, tensors, output)
        return output[0]

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _backward(ctx, grad_output)


class _TransformedOutput(torch.autograd.Function):
    @staticmethod
    def forward(computation: Computation, *tensors: Tensor) -> tuple[Tensor, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return computation.forward(*tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*output[1:])
        _save(ctx, inputs[0], inputs[1:], output)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor, *_: Any) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _backward(ctx, grad_output)

    @staticmethod
    def vmap(  # pyright: ignore[reportIncompatibleMethodOverride]
        info: Any, in_dims: tuple[Any, ...], computation: Computation, *tensors: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        return _by_sample(
            info.batch_size,
            computation,
            in_dims[1:],
            tensors,
            lambda *own: _TransformedOutput.apply(computation, *own),
        )


def _save(ctx: Any, computation: Computation, tensors: Sequence[Tensor], output: Sequence[Tensor]) -> None:
    ctx.computation, ctx.count = computation, len(tensors)
    ctx.save_for_backward(*tensors, *(output if len(output) > 1 else ()))


def _backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
    needed = [i for i, is_needed in enumerate(ctx.needs_input_grad[1:]) if is_needed]
    # Without create_graph, no graph of the gradient is recorded.
    compute: Any = _Gradient.apply if _is_recorded() else _gradient
    # Saved tensors are read once, because PyTorch's checkpointing recomputes them at every access.
    found = compute(ctx.computation, needed, ctx.count, grad_output, *ctx.saved_tensors)
    grads: list[Tensor | None] = [None] * ctx.count
    for i, grad in zip(needed, found, strict=True):
        grads[i] = grad
    return None, *grads


class _Gradient(torch.autograd.Function):
    @staticmethod
    def forward(
        computation: Computation, needed: list[int], count: int, grad_output: Tensor, *saved: Tensor
    ) -> tuple[Tensor, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _gradient(computation, needed, count, grad_output, *saved)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.computation, ctx.needed, ctx.count, *tensors = inputs
        ctx.save_for_backward(*tensors[: 1 + ctx.count])
        ctx.rest = len(tensors) - 1 - ctx.count

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        tensors = ctx.saved_tensors
        # If a graph is needed, its backward raises an error: there is no third derivative.
        compute: Any = _Second.apply if _is_recorded() else _second
        found = iter(compute(ctx.computation, ctx.needed, len(tensors), *tensors, *cotangents))
        grads = [next(found) if tensor.is_floating_point() else None for tensor in tensors]
        return None, None, None, *grads, *[None] * ctx.rest

    @staticmethod
    def vmap(  # pyright: ignore[reportIncompatibleMethodOverride]
        info: Any, in_dims: tuple[Any, ...], computation: Computation, needed: list[int], count: int, *tensors: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        return _by_sample(
            info.batch_size,
            computation,
            in_dims[3:],
            tensors,
            lambda *own: _Gradient.apply(computation, needed, count, *own),
        )


class _Second(torch.autograd.Function):
    @staticmethod
    def forward(computation: Computation, needed: list[int], count: int, *given: Tensor) -> tuple[Tensor, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _second(computation, needed, count, *given)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise RefusedError("attend has derivatives up to the second. Use engine='dense' for the third.")

    @staticmethod
    def vmap(  # pyright: ignore[reportIncompatibleMethodOverride]
        info: Any, in_dims: tuple[Any, ...], computation: Computation, needed: list[int], count: int, *given: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        return _by_sample(
            info.batch_size, None, in_dims[3:], given, lambda *own: _Second.apply(computation, needed, count, *own)
        )


def _is_recorded() -> bool:
    """Whether what runs now may be differentiated."""
    return torch.is_grad_enabled() or in_transform()


def _gradient(
    computation: Computation, needed: list[int], count: int, grad_output: Tensor, *saved: Tensor
) -> tuple[Tensor, ...]:
    return tuple(computation.backward(needed, grad_output, saved[:count], saved[count:]))


def _second(computation: Computation, needed: list[int], count: int, *given: Tensor) -> tuple[Tensor, ...]:
    """The gradients of the first `count` given, the output's gradient and the tensors, if they are real numbers.

    The others are the gradients with respect to each of the first gradients.
    """
    (grad_output, *tensors), cotangents = given[:count], [*given[count:]]
    with no_autocast(grad_output), computation.on_device():
        request = computation.request(*tensors)
        shared = request.key.shape[1]
        repeat = request.query.shape[1] // max(shared, 1)
        if repeat > 1:
            cotangents = [
                each.repeat_interleave(repeat, dim=1) if i in (1, 2) else each
                for i, each in zip(needed, cotangents, strict=True)
            ]
        found = blocked.second(request.expanded, grad_output, needed, cotangents)
        if repeat > 1:
            # Of the output's gradient, query, key and value: summed over the query heads that share a key head.
            found[2:4] = [None if each is None else each.unflatten(1, (shared, repeat)).sum(2) for each in found[2:4]]
    # Only one of the two may end with operands (of an engine that saves) or a seed; neither has a gradient.
    pairs = zip(given[:count], found, strict=False)
    return tuple(as_gradient_of(tensor, grad) for tensor, grad in pairs if tensor.is_floating_point())


def _by_sample(
    size: int, computation: Computation | None, dims: Sequence[int | None], tensors: Sequence[Tensor], run: Any
) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    """What a vmap rule returns: the results for all samples and their batch dimensions."""
    batch = None if computation is None else computation.in_one_batch(tensors, dims)
    if batch is not None:
        found = tuple(result.unflatten(0, (size, -1)) for result in run(*batch))
    else:
        samples = [run(*_sample(tensors, dims, i)) for i in range(size)]
        found = tuple(torch.stack(results) for results in zip(*samples, strict=True))
    return found, (0,) * len(found)


def _sample(tensors: Sequence[Tensor], dims: Sequence[int | None], number: int) -> list[Tensor]:
    """The tensors of one sample; those without a batch dimension are shared by all."""
    return [t if dim is None else t.select(dim, number) for t, dim in zip(tensors, dims, strict=True)]
