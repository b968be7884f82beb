"""Which part of a sequence each rank holds, and how tensors are divided so and put together again."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.distributed.gathering import gathered
from regard.distributed.peers import Peers
from regard.errors import ArgumentError, UnknownNameError

__all__ = ["ORDERS", "Layout", "check_order", "shard", "unshard"]

ORDERS = ("contiguous", "zigzag")
"""How a sequence is divided: one slice each; or of twice as many, the r-th from either end, by which a causal mask
leaves every rank the same work."""


@dataclass(frozen=True)
class Layout:
    """The slices of a sequence that each rank holds, in the order in which it holds them.

    Attributes:
        slices: of each rank.

    Example:
        >>> Layout.of([4, 4], "zigzag").slices
        ((slice(0, 2, None), slice(6, 8, None)), (slice(2, 4, None), slice(4, 6, None)))
    """

    slices: tuple[tuple[slice, ...], ...]

    @classmethod
    def of(cls, counts: Sequence[int], order: str, name: str = "query") -> "Layout":
        """The layout of ranks that hold so many items.

        Raises:
            ArgumentError: ranks in zigzag don't hold what `shard` gives them.
            UnknownNameError: there is no such order.
        """
        check_order(order)
        if order == "contiguous":
            bounds = list(itertools.accumulate(counts, initial=0))
            return cls(tuple((slice(a, b),) for a, b in itertools.pairwise(bounds)))
        layout = cls.divided(sum(counts), len(counts), order)
        if layout.counts != list(counts):
            raise ArgumentError(
                f"`{name}` must be divided in zigzag as shard(..., order='zigzag') does, {layout.counts} for each "
                f"rank, but ranks hold {list(counts)}."
            )
        return layout

    @classmethod
    def divided(cls, length: int, ranks: int, order: str) -> "Layout":
        """The layout of a sequence divided as equally as can be."""
        check_order(order)
        pieces = ranks if order == "contiguous" else 2 * ranks
        least, more = divmod(length, pieces)
        bounds = list(itertools.accumulate((least + (i < more) for i in range(pieces)), initial=0))
        every = [slice(a, b) for a, b in itertools.pairwise(bounds)]
        if order == "contiguous":
            return cls(tuple((each,) for each in every))
        return cls(tuple((every[rank], every[-1 - rank]) for rank in range(ranks)))

    @property
    def counts(self) -> list[int]:
        """How many items each rank holds."""
        return [sum(each.stop - each.start for each in own) for own in self.slices]

    @property
    def length(self) -> int:
        """How many items there are."""
        return sum(self.counts)

    def local(self, rank: int) -> list[slice]:
        """Where a rank's slices lie in its own tensor."""
        bounds = itertools.accumulate((each.stop - each.start for each in self.slices[rank]), initial=0)
        return [slice(a, b) for a, b in itertools.pairwise(bounds)]


def check_order(order: str) -> None:
    """Check the name of an order.

    Raises:
        UnknownNameError: there is no such order.
    """
    if order not in ORDERS:
        raise UnknownNameError("order", order, ORDERS)


def shard(tensor: Tensor, dim: int = 2, *, group: Any = None, order: str = "contiguous") -> Tensor:
    """This rank's part of a tensor that every rank holds whole.

    Args:
        tensor: with the sequence along `dim`.
        dim: the axis of the sequence; 2 in (batch, head, query, feature).
        group: the ranks that share the sequence; None: all.
        order: "contiguous", or "zigzag" for causal masks: each rank then holds a part from the beginning and one from
            the end, so that all have the same work.

    Raises:
        ArgumentError: there is no such group.
        UnknownNameError: there is no such order.

    Source: zigzag: Brandon et al. 2023, Striped Attention (arXiv 2311.09431), for the imbalance; the Llama 3 team 2024
    (arXiv 2407.21783), section 3.3.2, for the two pieces of each rank.
    """
    peers = Peers(group)
    own = Layout.divided(tensor.shape[dim], peers.size, order).slices[peers.rank]
    parts = [tensor.narrow(dim, each.start, each.stop - each.start) for each in own]
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim)


def unshard(tensor: Tensor, dim: int = 2, *, group: Any = None, order: str = "contiguous") -> Tensor:
    """The whole tensor, on every rank, from the part that each holds; gradients go back to the owners, summed.

    Args:
        tensor: this rank's part, as `shard` gives it, or of any length in contiguous order.
        dim, group, order: as in `shard`.

    Raises:
        ArgumentError: there is no such group, or the parts aren't those of `shard`.
        UnknownNameError: there is no such order.
    """
    peers = Peers(group)
    check_order(order)
    counts = [each[0] for each in peers.tell([tensor.shape[dim]], tensor.device)]
    layout = Layout.of(counts, order, "tensor")
    moved = tensor.movedim(dim, 2) if tensor.ndim > 2 else tensor[None, None].movedim(dim % tensor.ndim + 2, 2)
    wanted = [[[(each.start, each.stop) for each in own] for own in layout.slices]] * peers.size
    (whole,) = gathered(peers, layout, wanted, (0, layout.length), moved)
    return whole.movedim(2, dim) if tensor.ndim > 2 else whole.movedim(2, dim % tensor.ndim + 2)[0, 0]
