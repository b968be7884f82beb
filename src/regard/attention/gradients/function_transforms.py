"""`attend` under torch.func's transforms.

The engine is chosen after all transforms have been unwrapped, when the tensors have values. Under `torch.vmap` the
samples are computed one by one, or as one larger batch if nothing distinguishes samples from items of a batch.
"""

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from regard.attention.compilation.call_spec import CallSpec, seed_as_int64, untraced
from regard.attention.engines.blocked import refusing_random_numbers
from regard.attention.engines.blocked.reference import tile_output
from regard.attention.engines.blocked.tile import take
from regard.attention.engines.blocked.tiles import MIN_ROWS, Tile
from regard.attention.gradients import autograd
from regard.attention.parts import flatten_part, is_builtin
from regard.attention.precision import no_autocast
from regard.attention.pytorch_internals import get_unwrapped, is_batchedtensor, is_dual, is_functorch_wrapped_tensor
from regard.attention.request import Request
from regard.errors import ArgumentError

__all__ = ["attend"]


def attend(
    three: tuple[Tensor, Tensor, Tensor],
    parts: tuple[Any, Any, Any, Any],
    dropout: float,
    seed: int | None,
    engine: str,
    log_sums: bool,
) -> Tensor:
    """`regard.attend` under a transform, with the log-sums joined to the output.

    Args:
        three: query, key and value, as passed to `attend`.
        dropout, seed, engine, log_sums: as passed to `attend`.
        parts: score, weights, mask and position, likewise.

    Raises:
        ArgumentError: a part computes with a transformed tensor that isn't one of its operands.
    """
    query, key, value = three
    parts_spec, operands = flatten_part(parts)
    call = CallSpec(parts_spec, float(dropout), engine, log_sums)
    if not _is_builtin(parts_spec):
        # Without dropout, which would need a seed and captures nothing.
        _refuse_captured(dataclasses.replace(call, dropout=0.0), (query, key, value, *operands))
    seeds = []
    if dropout:
        # A tensor, so that with vmap(randomness="different") every sample has its own seed.
        given = None if seed is None else seed_as_int64(seed)
        seeds = [torch.randint(2**62, (), device="cpu") if given is None else torch.tensor(given, device="cpu")]
    if query.ndim == key.ndim == value.ndim == 4:
        repeat, rest = divmod(query.shape[1], max(key.shape[1], 1))
        if repeat > 1 and not rest:
            key, value = (tensor.repeat_interleave(repeat, dim=1) for tensor in (key, value))
    joins = not operands and not dropout and _is_builtin(parts_spec)
    # A tensor made under inference_mode can't be saved, but a copy of it can.
    given = (tensor.clone() if tensor.is_inference() else tensor for tensor in (query, key, value, *operands))
    return autograd.apply_transformed(_Transformed(call, joins), *given, *seeds)


@dataclasses.dataclass(frozen=True)
class _Transformed(autograd.Computation):
    """The computation of a call whose engine is chosen when it runs.

    Attributes:
        call: the call.
        joins: whether samples can be items of one batch, because only query, key and value may differ between them.
    """

    call: CallSpec
    joins: bool

    def request(self, *tensors: Tensor) -> Request:
        return self.call.request(*tensors)

    @untraced
    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        with no_autocast(tensors[0]):
            return (self.call.output(self.call.request(*tensors)),)

    @untraced
    def backward(
        self, needed: list[int], grad_output: Tensor, tensors: Sequence[Tensor], saved: Sequence[Tensor]
    ) -> Sequence[Tensor]:
        with no_autocast(grad_output):
            return self.call.gradients(needed, grad_output, tensors)

    def in_one_batch(self, tensors: Sequence[Tensor], dims: Sequence[int | None]) -> list[Tensor] | None:
        if not self.joins or None in dims:
            return None
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
    zeros = [
        torch.zeros((), dtype=tensor.dtype, device=tensor.device).expand(tensor.shape)
        if tensor.is_floating_point() or _is_transformed(tensor)
        else tensor  # a whole number that a mask may divide by
        for tensor in tensors
    ]
    request = call.request(*zeros)
    rows, keys = request.query.shape[2], request.key.shape[2]
    if 0 in (*request.query.shape, keys):
        return
    tile = Tile(slice(0, 1), slice(0, min(rows, MIN_ROWS)), slice(0, keys), slice(0, 0))
    group, row, column = (torch.arange(size, device=request.query.device) for size in (1, min(rows, MIN_ROWS), keys))
    at = request.index(group, row, column, tile=(0, 0))
    three = take(zeros[0], tile, "rows"), take(zeros[1], tile, "keys"), take(zeros[2], tile, "keys")
    is_differentiated = any(map(_is_differentiated, tensors))
    refusing = refusing_random_numbers(zeros[0].device, "score`, `weights` or `position")
    with refusing if is_differentiated else nullcontext():
        result = tile_output(request, tile, at, three, safe=True)
    if _is_transformed(result):
        raise ArgumentError(
            "`score`, `weights`, `mask` or `position` computes with a tensor that is transformed (torch.func.grad, "
            "torch.func.jvp, torch.vmap) or requires grad, but doesn't declare it, so it would get no gradient and no "
            "tangent. Make the part a frozen dataclass with the tensor as a field, or give the module that owns it a "
            "method part() that returns such a dataclass (see docs/how-to/own-parts.md)."
        )


def _is_transformed(tensor: Tensor) -> bool:
    return is_batchedtensor(tensor) or _is_differentiated(tensor) or _under(tensor, _is_transformed)


def _is_differentiated(tensor: Tensor) -> bool:
    return tensor.requires_grad or is_dual(tensor) or _under(tensor, _is_differentiated)


def _under(tensor: Tensor, holds: Callable[[Tensor], bool]) -> bool:
    """Whether something holds of the tensor that a transform has wrapped."""
    return is_functorch_wrapped_tensor(tensor) and holds(get_unwrapped(tensor))
