"""`attend` as torch.func's transforms see it: a function with a gradient, a gradient of that, and a rule for vmap.

What runs is chosen when all transforms have been taken off and the tensors have numbers. Under `torch.vmap` the samples
are taken one by one, or as one larger batch where the call can't tell samples from items of a batch.
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
    """`regard.attend` inside of a transform.

    Args:
        query, key, value, dropout, seed, engine: as `attend` got them.
        parts: score, weights, mask and position, likewise.

    Raises:
        ArgumentError: a part computes with a tensor that is transformed, but doesn't declare it.
    """
    parts_spec, operands = flatten_part(parts)
    call = CallSpec(parts_spec, float(dropout), engine)
    if not _is_builtin(parts_spec):
        _refuse_captured(call, (query, key, value, *operands))
    seeds = []
    if dropout:
        # A tensor: where vmap is told that randomness is different, every sample has a seed of its own.
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
        needed = [i for i, needed in enumerate(ctx.needs_input_grad[2:]) if needed]
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
    """What makes the request of so many tensors, and the seed behind them, if there is one."""
    return lambda *tensors: call.request(tensors[:count], tensors[count] if len(tensors) > count else None)


def _can_join_batch(call: CallSpec, count: int, dims: tuple[int | None, ...]) -> bool:
    """Whether samples are as good as items of one batch: nothing but query, key and value is there to differ."""
    return count == 3 and not call.dropout and None not in dims and _is_builtin(call.parts)


def _in_one_batch(tensors: tuple[Tensor, ...], dims: tuple[int | None, ...]) -> list[Tensor]:
    return [tensor.movedim(dim, 0).flatten(0, 1) for tensor, dim in zip(tensors, dims, strict=True)]  # pyright: ignore


def _is_builtin(parts_spec: Any) -> bool:
    """Whether nothing in the parts is the user's own, which could know more than its arguments."""
    if parts_spec is None or isinstance(parts_spec, str | bool | int | float):
        return True
    if isinstance(parts_spec, tuple):
        return all(_is_builtin(item) for item in parts_spec)
    if not is_builtin(parts_spec):
        return False
    return not dataclasses.is_dataclass(parts_spec) or all(
        _is_builtin(getattr(parts_spec, field.name)) for field in dataclasses.fields(parts_spec)
    )


def _refuse_captured(call: CallSpec, tensors: tuple[Tensor, ...]) -> None:
    """Refuse a part that computes with a transformed tensor which is none of its operands.

    By the time the part is called, the transform is off, and knows nothing of that tensor: no gradient, no samples. A
    corner of the call is computed with zeros that no transform knows: what comes out transformed shows the tensor.

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
            "dataclass (see docs/own.md)."
        )


def _is_transformed(tensor: Tensor) -> bool:
    if tensor.requires_grad or is_batchedtensor(tensor):
        return True
    return is_functorch_wrapped_tensor(tensor) and _is_transformed(get_unwrapped(tensor))
