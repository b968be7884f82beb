"""All positions of some heads instead of some positions of all heads, and back: an all-to-all exchange."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from regard.attention.user_parts import UserPosition
from regard.distributed.call import Call
from regard.distributed.exchange import Exchange
from regard.distributed.layout import Layout
from regard.distributed.peers import Peers

__all__ = ["Heads"]


class Heads(Exchange):
    """Each rank computes all positions of some heads. For every part, with the work divided equally."""

    name: ClassVar[str] = "heads"

    def refuse(self, call: Call) -> str | None:
        if call.key_heads % self.heads_multiple(call):
            return f"{call.key_heads} heads of the keys can't be divided among {call.peers.size} ranks"
        if isinstance(call.parts.position, UserPosition):
            return "a position scheme of your own may ask which head it is in"
        return None

    def heads_multiple(self, call: Call) -> int:
        return call.peers.size

    def attend(self, call: Call, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        share = call.heads // call.peers.size
        first = call.peers.rank * share
        query = by_heads(call.peers, call.queries, query)
        key, value = (by_heads(call.peers, call.keys, tensor) for tensor in (key, value))
        output = call.compute(query, key, value, call.parts_of_heads(first, share), (0, 0, first))
        return by_positions(call.peers, call.queries, output)

    def received(self, call: Call) -> list[int]:
        # Others' queries, keys and values of these heads; and of its own queries the outputs of other heads.
        ranks, number = call.peers.size, call.batch * call.heads * call.itemsize
        queries, keys = call.queries.length, call.keys.length
        return [
            (
                (queries - own) * number * call.feature
                + (keys - own_keys) * call.bytes_of_key
                + own * (ranks - 1) * number * call.value_size
            )
            // ranks
            for own, own_keys in zip(call.queries.counts, call.keys.counts, strict=True)
        ]

    def keys(self, call: Call) -> list[int]:
        return [own - (-call.keys.length // call.peers.size) for own in call.keys.counts]

    def pairs(self, call: Call) -> list[int]:
        return [sum(call.pairs) // call.peers.size] * call.peers.size


def by_heads(peers: Peers, layout: Layout, tensor: Tensor) -> Tensor:
    """(batch, head, own item, size) -> (batch, own head, item, size). The heads must be a multiple of the ranks.

    Every rank must call it. It has gradients of any order: those of `by_positions`.

    Source: Jacobs et al. 2023, DeepSpeed Ulysses (arXiv 2309.14509), section 3.1.
    """
    return _Swap.apply(_Plan(peers, layout), True, tensor)  # pyright: ignore[reportReturnType]


def by_positions(peers: Peers, layout: Layout, tensor: Tensor) -> Tensor:
    """(batch, own head, item, size) -> (batch, head, own item, size): the inverse of `by_heads`."""
    return _Swap.apply(_Plan(peers, layout), False, tensor)  # pyright: ignore[reportReturnType]


@dataclass(frozen=True)
class _Plan:
    peers: Peers
    layout: Layout


class _Swap(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plan: _Plan, to_heads: bool, tensor: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.plan, ctx.to_heads = plan, to_heads
        return (_to_heads if to_heads else _to_positions)(plan.peers, plan.layout, tensor)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, None, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return None, None, _Swap.apply(ctx.plan, not ctx.to_heads, grad)  # pyright: ignore[reportReturnType]


def _to_heads(peers: Peers, layout: Layout, tensor: Tensor) -> Tensor:
    batch, heads, _, size = tensor.shape
    share, counts = heads // peers.size, layout.counts
    others = [rank for rank in range(peers.size) if rank != peers.rank]
    outgoing = {rank: [tensor[:, rank * share : (rank + 1) * share]] for rank in others}
    incoming = {rank: [((batch, share, counts[rank], size), tensor.dtype)] for rank in others}
    transfer = peers.transfer(outgoing, incoming, tensor.device)
    result = tensor.new_empty(batch, share, layout.length, size)
    _put(result, layout, peers.rank, tensor[:, peers.rank * share : (peers.rank + 1) * share])
    for rank, (part,) in transfer.wait().items():
        _put(result, layout, rank, part)
    return result


def _put(result: Tensor, layout: Layout, rank: int, part: Tensor) -> None:
    """Put a rank's items where they belong."""
    for whole, local in zip(layout.slices[rank], layout.local(rank), strict=True):
        result[:, :, whole] = part[:, :, local]


def _to_positions(peers: Peers, layout: Layout, tensor: Tensor) -> Tensor:
    batch, share, _, size = tensor.shape
    count = layout.counts[peers.rank]
    others = [rank for rank in range(peers.size) if rank != peers.rank]
    outgoing = {rank: [_taken(tensor, layout, rank)] for rank in others}
    incoming = {rank: [((batch, share, count, size), tensor.dtype)] for rank in others}
    transfer = peers.transfer(outgoing, incoming, tensor.device)
    found = {peers.rank: [_taken(tensor, layout, peers.rank)], **transfer.wait()}
    return torch.cat([found[rank][0] for rank in range(peers.size)], 1)


def _taken(tensor: Tensor, layout: Layout, rank: int) -> Tensor:
    """A rank's items."""
    parts = [tensor[:, :, whole] for whole in layout.slices[rank]]
    return parts[0] if len(parts) == 1 else torch.cat(parts, 2)
