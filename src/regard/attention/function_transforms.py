"""`attend` under torch.func's transforms: a function with a gradient, a gradient of the gradient, and vmap rules.

The engine is chosen after all transforms have been unwrapped, when the tensors have values. Under `torch.vmap` the
samples are computed one by one, or as one larger batch if nothing distinguishes samples from items of a batch.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import get_unwrapped, is_batchedtensor, is_functorch_wrapped_tensor

from regard.attention.call_spec import CallSpec, seed_as_int64, untraced
from regard.attention.engines.blocked.reference import tile_output
from regard.attention.engines.blocked.tile import take
from regard.attention.engines.blocked.tiles import MIN_ROWS, Tile
from regard.attention.parts import flatten_part, is_builtin
from regard.attention.precision import no_autocast
from regard.attention.recomputed_in_backward import second_order, stack_samples, vmap_samples
from regard.attention.request import Request
from regard.errors import ArgumentError

__all__ = ["attend"]


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    parts: tuple[Any, Any, Any, Any],
    dropout: float,
    seed: int | None,
    engine: str,
) -> Tensor:
    """`regard.attend` under a transform.

    Args:
        query, key, value, dropout, seed, engine: as passed to `attend`.
        parts: score, weights, mask and position, likewise.

    Raises:
        ArgumentError: a part computes with a transformed tensor that isn't one of its operands.
    """
    parts_spec, operands = flatten_part(parts)
    call = CallSpec(parts_spec, float(dropout), engine)
    if not _is_builtin(parts_spec):
        _refuse_captured(call, (query, key, value, *operands))
    seeds = []
    if dropout:
        # A tensor, so that with vmap(randomness="different") every sample has its own seed.
        seeds = [torch.randint(2**62, ()) if seed is None else torch.tensor(seed_as_int64(seed))]
    if query.ndim == key.ndim == value.ndim == 4:
        repeat, rest = divmod(query.shape[1], max(key.shape[1], 1))
        if repeat > 1 and not rest:
            key, value = (tensor.repeat_interleave(repeat, dim=1) for tensor in (key, value))
    return _Output.apply(call, 3 + len(operands), query, key, value, *operands, *seeds)  # pyright: ignore[reportReturnType]


class _Output(torch.autograd.Function):
    @staticmethod
    @untraced
    def forward(call: CallSpec, count: int, *tensors: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        with no_autocast(tensors[0]):
            return call.output(_request(call, count)(*tensors))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.call, ctx.count, *tensors = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        needed = [i for i, is_needed in enumerate(ctx.needs_input_grad[2:]) if is_needed]
        tensors = ctx.saved_tensors
        found: Any = _Gradient.apply(ctx.call, ctx.count, needed, grad_output, *tensors)
        grads: list[Tensor | None] = [None] * len(tensors)
        for i, grad in zip(needed, found, strict=True):
            grads[i] = grad
        return None, None, *grads

    @staticmethod
    def vmap(  # pyright: ignore[reportIncompatibleMethodOverride]
        info: Any, in_dims: tuple[Any, ...], call: CallSpec, count: int, *tensors: Tensor
    ) -> tuple[Tensor, int]:
        dims = in_dims[2:]
        if _can_join_batch(call, count, dims):
            output: Any = _Output.apply(call, count, *_in_one_batch(tensors, dims))
            return output.unflatten(0, (info.batch_size, -1)), 0
        outputs: Any = [_Output.apply(call, count, *sample) for sample in vmap_samples(info.batch_size, dims, tensors)]
        return torch.stack(outputs), 0


class _Gradient(torch.autograd.Function):
    @staticmethod
    @untraced
    def forward(
        call: CallSpec, count: int, needed: list[int], grad_output: Tensor, *tensors: Tensor
    ) -> tuple[Tensor, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        with no_autocast(grad_output):
            seed = tensors[count] if len(tensors) > count else None
            return tuple(call.gradients(tensors[:count], seed, grad_output, needed))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.call, ctx.count, ctx.needed, *tensors = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        request_of = _request(ctx.call, ctx.count)
        return None, None, None, *second_order(request_of, ctx.needed, ctx.saved_tensors, cotangents)

    @staticmethod
    def vmap(  # pyright: ignore[reportIncompatibleMethodOverride]
        info: Any, in_dims: tuple[Any, ...], call: CallSpec, count: int, needed: list[int], *tensors: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        dims = in_dims[3:]
        if _can_join_batch(call, count, dims):
            found: Any = _Gradient.apply(call, count, needed, *_in_one_batch(tensors, dims))
            return tuple(grad.unflatten(0, (info.batch_size, -1)) for grad in found), (0,) * len(found)
        return stack_samples(
            _Gradient.apply(call, count, needed, *sample) for sample in vmap_samples(info.batch_size, dims, tensors)
        )


def _request(call: CallSpec, count: int) -> Callable[..., Request]:
    """The function that makes the request from `count` tensors, followed by the seed if there is one."""
    return lambda *tensors: call.request(tensors[:count], tensors[count] if len(tensors) > count else None)


def _can_join_batch(call: CallSpec, count: int, dims: tuple[int | None, ...]) -> bool:
    """Whether samples can be items of one batch, because only query, key and value differ between them."""
    return count == 3 and not call.dropout and None not in dims and _is_builtin(call.parts)


def _in_one_batch(tensors: tuple[Tensor, ...], dims: tuple[int | None, ...]) -> list[Tensor]:
    return [tensor.movedim(dim, 0).flatten(0, 1) for tensor, dim in zip(tensors, dims, strict=True)]  # pyright: ignore


def _is_builtin(spec: Any) -> bool:
    """Whether no part is the user's own, which might compute with more than its arguments."""
    if spec is None or isinstance(spec, str | bool | int | float):
        return True
    if isinstance(spec, tuple):
        return all(_is_builtin(item) for item in spec)
    if not is_builtin(spec):
        return False
    return not dataclasses.is_dataclass(spec) or all(
        _is_builtin(getattr(spec, field.name)) for field in dataclasses.fields(spec)
    )


def _refuse_captured(call: CallSpec, tensors: tuple[Tensor, ...]) -> None:
    """Refuse a part that computes with a transformed tensor that isn't one of its operands.

    When the part is called, the transform has been unwrapped and ignores that tensor: it would get no gradient and no
    samples. So a few rows are computed with zeros that aren't transformed: if the result is, there is such a tensor.

    Raises:
        ArgumentError: there is such a tensor.
    """
    zeros = [torch.zeros((), dtype=tensor.dtype, device=tensor.device).expand(tensor.shape) for tensor in tensors]
    request = call.request(zeros, None)
    rows, keys = request.query.shape[2], request.key.shape[2]
    if 0 in (*request.query.shape, keys):
        return
    tile = Tile(slice(0, 1), slice(0, min(rows, MIN_ROWS)), slice(0, keys), slice(0, 0))
    group, row, column = (torch.arange(size, device=request.query.device) for size in (1, min(rows, MIN_ROWS), keys))
    at = request.index(group, row, column, tile=(0, 0))
    taken = (
        take(tensor, tile, which) for tensor, which in ((zeros[0], "rows"), (zeros[1], "keys"), (zeros[2], "keys"))
    )
    result = tile_output(request, tile, at, *taken, safe=True)
    if _is_transformed(result):
        raise ArgumentError(
            "`score`, `weights`, `mask` or `position` computes with a tensor that is transformed (torch.func.grad, "
            "torch.vmap) or requires grad, but doesn't declare it, so it would get no gradient. Make the part a frozen "
            "dataclass with the tensor as a field, or give the module that owns it a method part() that returns such a "
            "dataclass (see docs/how-to/own-parts.md)."
        )


def _is_transformed(tensor: Tensor) -> bool:
    if tensor.requires_grad or is_batchedtensor(tensor):
        return True
    return is_functorch_wrapped_tensor(tensor) and _is_transformed(get_unwrapped(tensor))
