"""The one way from `attend` to autograd: the output, its gradient, and the gradient of that gradient.

A computation says how they come about. Eager calls have one of the two in this file, transforms and compilers one each
of their own (`function_transforms.py`, `custom_operator.py`). All go through the same functions of autograd, so that
what a computation saves, skips and refuses is decided once. Memory stays linear up to the second order: `blocked`
computes the gradient of a gradient, and the tangent, from the inputs, whichever engine computed the output.
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
from regard.attention.engines.blocked.tangents import tangent
from regard.attention.gradients.forward_over_forward import no_forward_over_forward
from regard.attention.known import Known
from regard.attention.parts import flatten_part, operands, unflatten_part
from regard.attention.precision import no_autocast
from regard.attention.pytorch_internals import default_device, in_forward_mode, in_transform
from regard.attention.request import Parts, Request
from regard.errors import RefusedError

__all__ = ["Computation", "apply", "apply_transformed", "as_gradient_of", "run_recomputing", "run_saving"]


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

    def tangent(self, moved: list[int], tensors: Sequence[Tensor], tangents: Sequence[Tensor]) -> Tensor:
        """The tangent of the output.

        Args:
            moved: the numbers of the tensors that have tangents.
            tensors: as `forward` got them.
            tangents: those of the tensors that have one.
        """
        with no_autocast(tensors[0]), self.on_device():
            request = self.request(*tensors)
            every: list[Tensor | None] = [None] * (3 + len(operands(request.parts)))
            for i, one in zip(moved, _for_each_head(request, moved, tangents), strict=True):
                every[i] = one
            return tangent(request.expanded, every)

    def on_device(self) -> AbstractContextManager[Any]:
        """The default device that the forward pass had."""
        return nullcontext() if self.device is None else self.device

    def in_one_batch(self, tensors: Sequence[Tensor], dims: Sequence[int | None]) -> list[Tensor] | None:
        """The samples of a `torch.vmap` as items of one larger batch; None if they must be computed one by one."""
        return None


def apply(computation: Computation, *tensors: Tensor) -> Tensor:
    """The output, (batch, head, query, value), differentiable in all tensors of real numbers."""
    if in_transform():
        return apply_transformed(computation, *tensors)
    return _Output.apply(computation, *tensors)  # pyright: ignore[reportReturnType]


def apply_transformed(computation: Computation, *tensors: Tensor) -> Tensor:
    """The same under torch.func's transforms and in forward mode."""
    return _TransformedOutput.apply(computation, *tensors)[0]  # pyright: ignore


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
        output, *saved = computation.forward(*tensors)
        # A tangent must lie in memory as what it belongs to.
        return output.contiguous() if in_forward_mode() else output, *saved

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)
        _save(ctx, inputs[0], inputs[1:], output)
        ctx.save_for_forward(*inputs[1:])
        ctx.results = len(output)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor | None, *_: Any) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        if grad_output is None:
            return (None,) * (1 + ctx.count)
        return _backward(ctx, grad_output)

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Tensor | None) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        moved, tensors = _moved(tangents), ctx.saved_tensors[: ctx.count]
        (of_output,) = _Tangent.apply(ctx.computation, moved, ctx.count, *tensors, *(tangents[i] for i in moved))  # pyright: ignore
        return of_output, *[None] * (ctx.results - 1)

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
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors[: 1 + ctx.count])
        # The gradient of another direction takes what the engine saved, too.
        ctx.save_for_forward(*tensors)
        ctx.rest = len(tensors) - 1 - ctx.count

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        tensors = ctx.saved_tensors
        cotangents = tuple(
            torch.zeros_like(tensors[1 + i]) if each is None else each
            for i, each in zip(ctx.needed, cotangents, strict=True)
        )
        # If a graph is needed, its backward raises an error: there is no third derivative.
        compute: Any = _Second.apply if _is_recorded() else _second
        found = iter(compute(ctx.computation, ctx.needed, len(tensors), *tensors, *cotangents))
        grads = [next(found) if tensor.is_floating_point() else None for tensor in tensors]
        return None, None, None, *grads, *[None] * ctx.rest

    @staticmethod
    def jvp(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, _: None, __: None, ___: None, of_above: Tensor | None, *tangents: Tensor | None
    ) -> tuple[Tensor, ...]:
        """Of a gradient, by the symmetry of second derivatives."""
        above, *saved = ctx.saved_tensors
        tensors, moved = saved[: ctx.count], _moved(tangents[: ctx.count])
        found: Any = [torch.zeros_like(tensors[i]) for i in ctx.needed]
        if of_above is not None:
            found = _Gradient.apply(ctx.computation, ctx.needed, ctx.count, of_above, *saved)
        if moved:
            directions = (tangents[i] for i in moved)
            every: Any = _Second.apply(ctx.computation, moved, 1 + ctx.count, above, *tensors, *directions)
            real = [i for i, tensor in enumerate(tensors) if tensor.is_floating_point()]
            found = [a + every[1 + real.index(i)] for i, a in zip(ctx.needed, found, strict=True)]
        return tuple(found)

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
    def jvp(ctx: Any, *tangents: Tensor | None) -> tuple[Tensor, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise RefusedError(
            "attend has derivatives up to the second, and this is the tangent of a second one. If you call backward on "
            "a tangent, do so when the level of dual numbers has ended. Use engine='dense' for the third."
        )

    @staticmethod
    def vmap(  # pyright: ignore[reportIncompatibleMethodOverride]
        info: Any, in_dims: tuple[Any, ...], computation: Computation, needed: list[int], count: int, *given: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        return _by_sample(
            info.batch_size, None, in_dims[3:], given, lambda *own: _Second.apply(computation, needed, count, *own)
        )


class _Tangent(torch.autograd.Function):
    """The tangent of the output; `moved` are the numbers of the tensors that have one."""

    @staticmethod
    def forward(computation: Computation, moved: list[int], count: int, *given: Tensor) -> tuple[Tensor, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return (computation.tangent(moved, given[:count], given[count:]),)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.computation, ctx.moved, ctx.count, *given = inputs
        ctx.save_for_backward(*given)

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """It is linear in the tangents, by the Jacobian whose transpose is the gradient."""
        tensors, tangents = ctx.saved_tensors[: ctx.count], ctx.saved_tensors[ctx.count :]
        second: Any = _Second.apply if _is_recorded() else _second
        first: Any = _Gradient.apply if _is_recorded() else _gradient
        _, *found = second(ctx.computation, ctx.moved, 1 + ctx.count, above, *tensors, *tangents)
        of_tensors = iter(found)
        grads = [next(of_tensors) if tensor.is_floating_point() else None for tensor in tensors]
        return None, None, None, *grads, *first(ctx.computation, ctx.moved, ctx.count, above, *tensors)

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> tuple[Tensor, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise no_forward_over_forward()

    @staticmethod
    def vmap(  # pyright: ignore[reportIncompatibleMethodOverride]
        info: Any, in_dims: tuple[Any, ...], computation: Computation, moved: list[int], count: int, *given: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        return _by_sample(
            info.batch_size,
            computation,
            in_dims[3:],
            given,
            lambda *own: _Tangent.apply(computation, moved, count, *own),
        )


def _moved(tangents: Sequence[Tensor | None]) -> list[int]:
    """The numbers of the tensors that have a tangent."""
    return [i for i, each in enumerate(tangents) if each is not None]


def _is_recorded() -> bool:
    """Whether what runs now may be differentiated."""
    return torch.is_grad_enabled() or in_transform() or in_forward_mode()


def _gradient(
    computation: Computation, needed: list[int], count: int, grad_output: Tensor, *saved: Tensor
) -> tuple[Tensor, ...]:
    return tuple(computation.backward(needed, grad_output, saved[:count], saved[count:]))


def _second(computation: Computation, needed: list[int], count: int, *given: Tensor) -> tuple[Tensor, ...]:
    """The gradients of the first `count` given, the output's gradient and the tensors, if they are real numbers.

    The others are the gradients with respect to each of the first gradients.
    """
    grad_output, *tensors = given[:count]
    with no_autocast(grad_output), computation.on_device():
        request = computation.request(*tensors)
        cotangents = _for_each_head(request, needed, given[count:])
        found = blocked.second(request.expanded, grad_output, needed, cotangents)
        if (repeat := _queries_of_a_key(request)) > 1:
            # Of the output's gradient, query, key and value: summed over the query heads that share a key head.
            found[2:4] = [None if each is None else each.unflatten(1, (-1, repeat)).sum(2) for each in found[2:4]]
    # Only one of the two may end with operands (of an engine that saves) or a seed; neither has a gradient.
    pairs = zip(given[:count], found, strict=False)
    return tuple(as_gradient_of(tensor, grad) for tensor, grad in pairs if tensor.is_floating_point())


def _queries_of_a_key(request: Request) -> int:
    """How many heads of queries share one of keys."""
    return request.query.shape[1] // max(request.key.shape[1], 1)


def _for_each_head(request: Request, which: Sequence[int], tensors: Sequence[Tensor]) -> list[Tensor]:
    """Tensors, those of key and value (1 and 2 among the numbers `which`) repeated for each head of queries."""
    repeat = _queries_of_a_key(request)
    return [
        each.repeat_interleave(repeat, dim=1) if repeat > 1 and i in (1, 2) else each
        for i, each in zip(which, tensors, strict=True)
    ]


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
