"""A shared call as one rank can compute it alone: its own queries with all keys of the sequence."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from regard.attention.masks import Slice
from regard.distributed.gathering import gathered
from regard.distributed.peers import Peers
from regard.distributed.shared_call import shared_call

__all__ = ["Standalone", "standalone"]


@dataclass(frozen=True, eq=False)
class Standalone:
    """What a rank needs beside its queries and the other parts to compute their outputs and weights alone.

    Attributes:
        key, value: (batch, key_head, key, feature) and (batch, key_head, key, value), those of the whole sequence.
        mask: a `Slice`, which says which queries of the whole these are; of a single process, the mask as it was given.
        rank, ranks: the number of this rank, and how many there are.
    """

    key: Tensor
    value: Tensor
    mask: Any
    rank: int
    ranks: int


def standalone(
    query: Tensor, key: Tensor, value: Tensor, *, group: Any, order: str, exchange: str, engine: str, **parts: Any
) -> Standalone:
    """Gather what this rank needs to compute its part of a call of `regard.distributed.attend` alone.

    Every rank must call it before that call. Where some don't, nothing is gathered on any rank, and they can go on.

    Args:
        query, key, value, group, order, exchange, engine, parts: those of the call, without dropout.

    Raises:
        ArgumentError: an argument can't be used, or ranks have different ones.
        RegardError: another rank has ended, or doesn't call it.
    """
    peers = Peers(group)
    if peers.size == 1:
        return Standalone(key, value, parts["mask"], 0, 1)
    named = {**parts, "order": order, "exchange": exchange, "engine": engine}
    call = shared_call(peers, "attend", query, key, value, named, recorded=True)
    wanted = [[[(each.start, each.stop) for each in own] for own in call.keys.slices]] * peers.size
    key, value = gathered(peers, call.keys, wanted, (0, call.keys.length), key, value)
    return Standalone(key, value, Slice(call.parts.mask, call.origin()), peers.rank, peers.size)
