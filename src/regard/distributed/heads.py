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
        plan = _Plan(call.peers, (call.queries, call.keys, call.keys))
        query, key, value = _Swap.apply(plan, True, query, key, value)
        output = call.compute(query, key, value, call.parts_of_heads(first, share), (0, 0, first))
        (output,) = _Swap.apply(_Plan(call.peers, (call.queries,)), False, output)
        return output

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


@dataclass(frozen=True)
class _Plan:
    """Which ranks, and the layout of each tensor."""

    peers: Peers
    layouts: tuple[Layout, ...]

    @property
    def others(self) -> list[int]:
        """The ranks, without this one."""
        return [rank for rank in range(self.peers.size) if rank != self.peers.rank]


class _Swap(torch.autograd.Function):
    """(batch, head, own item, size) -> (batch, own head, item, size) of some tensors in one message, or the inverse.

    Every rank must call it. The heads must be a multiple of the ranks. It has gradients of any order: those of either
    direction are the other.

    Source: Jacobs et al. 2023, DeepSpeed Ulysses (arXiv 2309.14509), section 3.1.
    """

    @staticmethod
    def forward(ctx: Any, plan: _Plan, to_heads: bool, *tensors: Tensor) -> tuple[Tensor, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.plan, ctx.to_heads = plan, to_heads
        return (_to_heads if to_heads else _to_positions)(plan, tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return None, None, *_Swap.apply(ctx.plan, not ctx.to_heads, *grads)


def _to_heads(plan: _Plan, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    peers = plan.peers
    shares = [each.shape[1] // peers.size for each in tensors]
    given = list(zip(tensors, plan.layouts, shares, strict=True))
    outgoing = {rank: [each[:, rank * share : (rank + 1) * share] for each, _, share in given] for rank in plan.others}
    incoming = {
        rank: [
            ((each.shape[0], share, layout.counts[rank], each.shape[3]), each.dtype) for each, layout, share in given
        ]
        for rank in plan.others
    }
    own = [each[:, peers.rank * share : (peers.rank + 1) * share] for each, _, share in given]
    with peers.exchange(outgoing, incoming, tensors[0].device) as found:
        results = [each.new_empty(each.shape[0], share, layout.length, each.shape[3]) for each, layout, share in given]
        for rank, parts in {peers.rank: own, **found}.items():
            for result, layout, part in zip(results, plan.layouts, parts, strict=True):
                _put(result, layout, rank, part)
    return tuple(results)


def _put(result: Tensor, layout: Layout, rank: int, part: Tensor) -> None:
    """Put a rank's items where they belong."""
    for whole, local in zip(layout.slices[rank], layout.local(rank), strict=True):
        result[:, :, whole] = part[:, :, local]


def _to_positions(plan: _Plan, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    peers = plan.peers
    given = list(zip(tensors, plan.layouts, strict=True))
    results = [
        each.new_empty(each.shape[0], each.shape[1] * peers.size, layout.counts[peers.rank], each.shape[3])
        for each, layout in given
    ]
    # Where the heads that a rank computes belong: these places show shapes, too.
    places = {
        rank: [
            result[:, rank * each.shape[1] : (rank + 1) * each.shape[1], local]
            for result, (each, layout) in zip(results, given, strict=True)
            for local in layout.local(peers.rank)
        ]
        for rank in range(peers.size)
    }
    outgoing = {
        rank: [each[:, :, whole] for each, layout in given for whole in layout.slices[rank]]
        for rank in range(peers.size)
    }
    own = outgoing.pop(peers.rank)
    incoming = {rank: [(tuple(each.shape), each.dtype) for each in places[rank]] for rank in plan.others}
    with peers.exchange(outgoing, incoming, tensors[0].device) as found:
        for rank, parts in {peers.rank: own, **found}.items():
            for place, part in zip(places[rank], parts, strict=True):
                place.copy_(part)
    return tuple(results)
