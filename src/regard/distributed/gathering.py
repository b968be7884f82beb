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


def gathered(peers: Peers, layout: "Layout", wanted: Wanted, tensor: Tensor, bounds: tuple[int, int]) -> Tensor:
    """The items from bounds[0] to bounds[1], (batch, head, item, size), zeros where this rank wants none.

    Every rank must call it. Its gradient is the sum over ranks, in their order, and has a gradient itself.
    """
    return _Gather.apply(_Plan(peers, layout, wanted, bounds), tensor)  # pyright: ignore[reportReturnType]


def returned(peers: Peers, layout: "Layout", wanted: Wanted, tensor: Tensor, bounds: tuple[int, int]) -> Tensor:
    """The reverse of `gathered`: numbers of the items from bounds[0] to bounds[1], added up where the items are held.

    Args:
        tensor: (batch, head, item, ...); what this rank didn't want is left out.

    Returns:
        The sums over ranks, in their order, of this rank's own items, (batch, head, own item, ...).
    """
    plan = _Plan(peers, layout, wanted, bounds)
    return _Return.apply(plan, layout.counts[peers.rank], tensor)  # pyright: ignore[reportReturnType]


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


def _cut(tensor: Tensor, ranges: Sequence[slice]) -> list[Tensor]:
    return [tensor[:, :, each] for each in ranges]


def _shapes(tensor: Tensor, ranges: Sequence[slice]) -> list[tuple[tuple[int, ...], torch.dtype]]:
    batch, heads, _, *sizes = tensor.shape
    return [((batch, heads, each.stop - each.start, *sizes), tensor.dtype) for each in ranges]


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plan: _Plan, tensor: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.plan, ctx.length = plan, tensor.shape[2]
        batch, heads, _, *sizes = tensor.shape
        result = tensor.new_zeros(batch, heads, plan.bounds[1] - plan.bounds[0], *sizes)
        outgoing = {rank: _cut(tensor, plan.sent(rank)) for rank in plan.others}
        incoming = {rank: _shapes(tensor, plan.received(rank)) for rank in plan.others}
        transfer = plan.peers.transfer(_some(outgoing), _some(incoming), tensor.device)
        own = plan.peers.rank
        for place, local in zip(plan.received(own), plan.sent(own), strict=True):
            result[:, :, place] = tensor[:, :, local]
        for rank, found in transfer.wait().items():
            for place, part in zip(plan.received(rank), found, strict=True):
                result[:, :, place] = part
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return None, _Return.apply(ctx.plan, ctx.length, grad)  # pyright: ignore[reportReturnType]


class _Return(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plan: _Plan, length: int, grad: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.plan = plan
        batch, heads, _, *sizes = grad.shape
        total = torch.zeros(batch, heads, length, *sizes, dtype=wide_dtype(grad), device=grad.device)
        outgoing = {rank: _cut(grad, plan.received(rank)) for rank in plan.others}
        incoming = {rank: _shapes(grad, plan.sent(rank)) for rank in plan.others}
        found = plan.peers.transfer(_some(outgoing), _some(incoming), grad.device).wait()
        found[plan.peers.rank] = _cut(grad, plan.received(plan.peers.rank))
        # In the order of the ranks, so that the sum is reproducible.
        for rank in sorted(found):
            for local, part in zip(plan.sent(rank), found[rank], strict=True):
                total[:, :, local] += part
        return total.to(grad.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, None, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return None, None, _Gather.apply(ctx.plan, grad)  # pyright: ignore[reportReturnType]


def _some(messages: dict[int, Any]) -> dict[int, Any]:
    """Without the ranks to which nothing goes."""
    return {rank: parts for rank, parts in messages.items() if parts}
