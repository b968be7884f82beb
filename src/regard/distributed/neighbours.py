"""A rank's slice of a sequence with the items next to it, which other ranks hold: what a convolution needs."""

from typing import Any

from torch import Tensor

from regard.attention.validation import check_count
from regard.distributed.gathering import gathered
from regard.distributed.layout import Layout
from regard.distributed.peers import Peers

__all__ = ["with_neighbours"]


def with_neighbours(
    tensor: Tensor, before: int, after: int, *, dim: int = 2, group: Any = None
) -> tuple[Tensor, slice, int]:
    """This rank's slice of a sequence with the items next to it, whose gradients go back to the ranks that hold them.

    Every rank must call it. At the ends of the sequence there are fewer.

    Args:
        tensor: this rank's slice, in contiguous order, of any length, as (batch, ...) with the sequence along `dim`.
        before: how many items before the slice.
        after: how many items after it.
        dim: the axis of the sequence, 1 or more; 2 in (batch, head, item, feature).
        group: the ranks that share the sequence; None: all.

    Returns:
        the items, at least one if the sequence has any; where among them the slice lies; and the number of the first in
        the whole sequence.

    Raises:
        ArgumentError: there is no such group, or `before` or `after` is negative.
    """
    check_count("before", before, "how many items before its own each rank gets", least=0)
    check_count("after", after, "how many items after its own each rank gets", least=0)
    peers = Peers(group)
    counts = [each[0] for each in peers.tell([tensor.shape[dim]], tensor.device)]
    layout = Layout.of(counts, "contiguous", "tensor")
    bounds = [_bounds(own, before, after, layout.length) for (own,) in layout.slices]
    wanted = [[[_common(each, held) for held in of_rank] for of_rank in layout.slices] for each in bounds]
    # (batch, ..., item, ...) -> (batch, 1, item, ...): what is gathered has an axis of heads.
    moved = tensor.movedim(dim, 1).unsqueeze(1)
    first, last = bounds[peers.rank]
    (found,) = gathered(peers, layout, wanted, (first, last), moved)
    (own,) = layout.slices[peers.rank]
    return found.squeeze(1).movedim(1, dim), slice(own.start - first, own.stop - first), first


def _bounds(own: slice, before: int, after: int, length: int) -> tuple[int, int]:
    """The first item that a rank gets, and the one after the last."""
    first = max(0, min(own.start - before, length - 1))
    return first, min(length, max(own.stop + after, first + 1))


def _common(bounds: tuple[int, int], held: slice) -> tuple[int, int]:
    """The items between the bounds that a slice holds."""
    first, last = max(bounds[0], held.start), min(bounds[1], held.stop)
    return (first, last) if first < last else (held.start, held.start)
