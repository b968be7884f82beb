"""A shared call computed a few heads at a time, a chunk, so that what is only needed meanwhile takes little memory.

That is the keys received from other ranks, gradients in float32, and what kernels return. Heads don't depend on each
other, and each chunk is a call of its own: sending and computing overlap within it.
"""

from typing import Any

import torch
from torch import Tensor

from regard.attention.user_parts import UserPosition
from regard.distributed.call import Call
from regard.distributed.exchange import Exchange

__all__ = ["attend_in_chunks", "heads_at_once"]

# Of a rank's own keys and values in a chunk: fewer aren't worth another call and its messages. A kernel on a GPU wants
# many heads at once; that number is an estimate, not measured.
LEAST_BYTES, LEAST_BYTES_ON_GPU = 2**22, 2**26


def attend_in_chunks(exchange: Exchange, call: Call, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The output for this rank's queries, (batch, head, own query, value)."""
    at_once = heads_at_once(exchange, call)
    if at_once >= call.key_heads:
        return exchange.attend(call, query, key, value)
    group = call.heads // call.key_heads
    chunks = zip(_divided(query, at_once * group), _divided(key, at_once), _divided(value, at_once), strict=True)
    outputs = [
        exchange.attend(call.of_heads(number * at_once, three[1].shape[1]), *three)
        for number, three in enumerate(chunks)
    ]
    return torch.cat(outputs, 1)


def heads_at_once(exchange: Exchange, call: Call) -> int:
    """How many heads of the keys make a chunk; the same on every rank."""
    if isinstance(call.parts.position, UserPosition):
        # It may ask which head it is in.
        return call.key_heads
    least = LEAST_BYTES if call.device.type == "cpu" else LEAST_BYTES_ON_GPU
    own_bytes = call.keys.length * call.bytes_of_key // (call.peers.size * max(call.key_heads, 1))
    enough = -(-least // max(own_bytes, 1))
    # Kernels share heads among threads.
    multiple = exchange.heads_multiple(call)
    queries_of_a_key = call.batch * call.heads // max(call.key_heads, 1)
    enough = max(enough, -(-call.threads * multiple // max(queries_of_a_key, 1)))
    return min(-(-enough // multiple) * multiple, call.key_heads)


class _Whole:
    """The gradient of a tensor whose chunks' gradients come one after the other."""

    def __init__(self) -> None:
        self.gradient: Tensor | None = None


def _divided(tensor: Tensor, count: int) -> list[Tensor]:
    """So many heads of (batch, head, item, size) at a time.

    A chunk's gradient is put where it belongs as soon as it is there, and its own memory is free again for those of the
    next chunk. Autograd would keep all of them, and concatenate them at the end.
    """
    if not (torch.is_grad_enabled() and tensor.requires_grad):
        return list(tensor.split(count, 1))
    whole = _Whole()
    chunks = _Divide.apply(whole, count, tensor)
    return [_Chunk.apply(whole, slice(i * count, (i + 1) * count), tensor.shape, each) for i, each in enumerate(chunks)]  # pyright: ignore


class _Divide(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, whole: _Whole, count: int, tensor: Tensor) -> tuple[Tensor, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.whole = whole
        return tensor.split(count, 1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, None, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        found, ctx.whole.gradient = ctx.whole.gradient, None
        return None, None, torch.cat(grads, 1) if torch.is_grad_enabled() else found  # pyright: ignore[reportReturnType]


class _Chunk(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, whole: _Whole, heads: slice, shape: torch.Size, chunk: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.whole, ctx.heads, ctx.shape = whole, heads, shape
        return chunk.view_as(chunk)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, None, None, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        if torch.is_grad_enabled():
            # The gradient has a gradient itself, which a copy in place would lose.
            return None, None, None, grad
        if ctx.whole.gradient is None:
            ctx.whole.gradient = grad.new_empty(ctx.shape)
        place = ctx.whole.gradient[:, ctx.heads]
        return None, None, None, place.copy_(grad)
