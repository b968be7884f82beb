"""Ranges of a sequence brought to the ranks that want them, and their gradients back to the ranks that hold them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard.attention.precision import wide_dtype
from regard.distributed.peers import Peers

if TYPE_CHECKING:
    from regard.distributed.layout import Layout

__all__ = ["Wanted", "gathered", "places", "returned"]

Wanted = Sequence[Sequence[Sequence[tuple[int, int]]]]
"""Which items rank r wants of rank s: for each slice of s, the first and the one after the last; equal if none."""


def gathered(
    peers: Peers, layout: "Layout", wanted: Wanted, bounds: tuple[int, int], *tensors: Tensor
) -> tuple[Tensor, ...]:
    """Of each tensor the items from bounds[0] to bounds[1], (batch, head, item, ...), zeros where this rank wants none.

    Every rank must call it. Its gradient is the sum over ranks, in their order, and has a gradient itself.
    """
    return _Gather.apply(_Plan(peers, layout, wanted, bounds), *tensors)  # pyright: ignore[reportReturnType]


def returned(peers: Peers, layout: "Layout", wanted: Wanted, tensor: Tensor, bounds: tuple[int, int]) -> Tensor:
    """The reverse of `gathered`: numbers of the items from bounds[0] to bounds[1], added up where the items are held.

    Args:
        tensor: (batch, head, item, ...); what this rank didn't want is left out.

    Returns:
        The sums over ranks, in their order, of this rank's own items, (batch, head, own item, ...).
    """
    (sums,) = _Return.apply(_Plan(peers, layout, wanted, bounds), tensor)
    return sums


def places(layout: "Layout", rank: int, wanted: Sequence[tuple[int, int]]) -> Iterator[tuple[slice, slice]]:
    """Where the items wanted of a rank lie in its own tensor, and in the sequence; nothing for empty ranges."""
    for (start, stop), whole, local in zip(wanted, layout.slices[rank], layout.local(rank), strict=True):
        if start < stop:
            first = local.start + start - whole.start
            yield slice(first, first + stop - start), slice(start, stop)


@dataclass(frozen=True)
class _Plan:
    """What goes where."""

    peers: Peers
    layout: "Layout"
    wanted: Wanted
    bounds: tuple[int, int]

    def sent(self, rank: int) -> list[slice]:
        """What a rank wants of this one, in this one's own tensor."""
        own = self.peers.rank
        return [local for local, _ in places(self.layout, own, self.wanted[rank][own])]

    def received(self, rank: int) -> list[slice]:
        """What this rank wants of another, in the result."""
        first = self.bounds[0]
        found = places(self.layout, rank, self.wanted[self.peers.rank][rank])
        return [slice(whole.start - first, whole.stop - first) for _, whole in found]

    @property
    def others(self) -> list[int]:
        """The ranks, without this one."""
        return [rank for rank in range(self.peers.size) if rank != self.peers.rank]


def _cut(tensors: Sequence[Tensor], ranges: Sequence[slice]) -> list[Tensor]:
    return [tensor[:, :, each] for tensor in tensors for each in ranges]


def _shapes(tensors: Sequence[Tensor], ranges: Sequence[slice]) -> list[tuple[tuple[int, ...], torch.dtype]]:
    return [
        ((*tensor.shape[:2], each.stop - each.start, *tensor.shape[3:]), tensor.dtype)
        for tensor in tensors
        for each in ranges
    ]


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plan: _Plan, *tensors: Tensor) -> tuple[Tensor, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.plan = plan
        outgoing = {rank: _cut(tensors, plan.sent(rank)) for rank in plan.others}
        incoming = {rank: _shapes(tensors, plan.received(rank)) for rank in plan.others}
        own, length = plan.peers.rank, plan.bounds[1] - plan.bounds[0]
        with plan.peers.exchange(outgoing, incoming, tensors[0].device) as found:
            results = [each.new_zeros(*each.shape[:2], length, *each.shape[3:]) for each in tensors]
            for rank, parts in {own: _cut(tensors, plan.sent(own)), **found}.items():
                for place, part in zip(_cut(results, plan.received(rank)), parts, strict=True):
                    place.copy_(part)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return None, *_Return.apply(ctx.plan, *grads)


class _Return(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plan: _Plan, *grads: Tensor) -> tuple[Tensor, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.plan = plan
        own, length = plan.peers.rank, plan.layout.counts[plan.peers.rank]
        outgoing = {rank: _cut(grads, plan.received(rank)) for rank in plan.others}
        incoming = {rank: _shapes(grads, plan.sent(rank)) for rank in plan.others}
        with plan.peers.exchange(outgoing, incoming, grads[0].device) as found:
            found[own] = _cut(grads, plan.received(own))
            sums = [
                torch.zeros(*each.shape[:2], length, *each.shape[3:], dtype=wide_dtype(each), device=each.device)
                for each in grads
            ]
            # In the order of the ranks, so that the sum is reproducible.
            for rank in sorted(found):
                for place, part in zip(_cut(sums, plan.sent(rank)), found[rank], strict=True):
                    place += part
        return tuple(total.to(grad.dtype) for total, grad in zip(sums, grads, strict=True))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return None, *_Gather.apply(ctx.plan, *grads)
