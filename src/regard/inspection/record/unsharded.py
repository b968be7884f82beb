"""The records of several processes that shared a call, put together to one of the whole sequence."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard.attention.masks import Dense, Slice
from regard.distributed.gathering import gathered
from regard.distributed.layout import Layout
from regard.distributed.peers import Peers
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.inspection.record.seen_layer import SeenLayer

__all__ = ["unsharded_calls"]

# Two in zigzag.
_MOST_SLICES = 2


def unsharded_calls(layers: "list[SeenLayer]", group: Any) -> "list[SeenLayer]":
    """The calls with the queries of all ranks; those that weren't shared stay as they are.

    Raises:
        ArgumentError: ranks have different calls, or there is no such group.
    """
    peers = Peers(group)
    device = layers[0].query.device if layers else torch.device("cpu")
    shared = [number for number, layer in enumerate(layers) if layer.is_part]
    told = peers.tell([len(layers), len(shared), sum(shared)], device)
    others = [rank for rank, each in enumerate(told) if each != told[0]]
    if others:
        raise ArgumentError(
            f"All ranks must have seen the same calls, but ranks {others} have seen others than rank 0. Watch the "
            "same calls on every rank."
        )
    return [_unsharded(layer, peers) if layer.is_part else layer for layer in layers]


def _unsharded(layer: "SeenLayer", peers: Peers) -> "SeenLayer":
    mask: Slice = layer.mask
    origin, own = mask.origin, layer.query.shape[2]
    slices = origin.slices(slice(0, own))
    ends = [end for each in slices for end in (each.start, each.stop)]
    numbers = [origin.queries, origin.keys, len(layer.rows), *ends, *[0] * (2 * _MOST_SLICES - len(ends))]
    told = peers.tell(numbers, layer.query.device)
    layout = Layout(tuple(tuple(map(slice, each[3::2], each[4::2])) for each in told))
    if any(each[:2] != told[0][:2] for each in told) or layout.length != origin.queries:
        raise ArgumentError(
            f"The ranks must have the {origin.queries} queries of {layer.name or 'the model itself'} together, but "
            f"have {layout.length}. Pass the `group` that shared the call."
        )
    sampled = Layout.of([each[2] for each in told], "contiguous")
    rows = layer.query_numbers.to(layer.rows.device)[layer.rows]
    rows, order = _whole(rows[None, None], sampled, peers)[0, 0].sort()
    notes = [note for note in layer.notes if f"those of rank {peers.rank} of {peers.size}, " not in note]
    return replace(
        layer,
        query=_whole(layer.query, layout, peers),
        mask=None if type(mask.mask) is Dense else mask.mask,
        rows=rows,
        outputs=_whole(layer.outputs, sampled, peers)[:, :, order],
        notes=[*notes, f"Put together from the records of {peers.size} ranks."],
    )


def _whole(tensor: Tensor, layout: Layout, peers: Peers) -> Tensor:
    """The items (batch, head, item, ...) of all ranks."""
    wanted = [[[(each.start, each.stop) for each in own] for own in layout.slices]] * peers.size
    with torch.no_grad():
        (whole,) = gathered(peers, layout, wanted, (0, layout.length), tensor)
    return whole
