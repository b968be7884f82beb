"""All keys and values that a rank's queries may see, gathered before anything is computed. For every part."""

from typing import ClassVar

import torch
from torch import Tensor

from regard.attention.masks import Causal
from regard.distributed.call import Call
from regard.distributed.exchange import Exchange
from regard.distributed.gathering import gathered

__all__ = ["Gather"]


class Gather(Exchange):
    """Each rank keeps its queries, and holds the keys that they may see."""

    name: ClassVar[str] = "gather"

    def refuse(self, call: Call) -> str | None:
        return None

    def too_many_keys(self, call: Call) -> str | None:
        most = max(stop - start for start, stop in map(call.bounds, range(call.peers.size)))
        if most <= 2 * max(call.keys.counts):
            return None
        return f"a rank would gather {most} keys, more than two ranks hold"

    def attend(self, call: Call, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        own = call.peers.rank
        bounds = call.bounds(own)
        key, value = gathered(call.peers, call.keys, call.wanted, bounds, key, value)
        outputs = []
        for rows, local in zip(call.queries.slices[own], call.queries.local(own), strict=True):
            start, stop = call.reach.hull(rows, slice(*bounds))
            seen = slice(start - bounds[0], stop - bounds[0])
            first = rows.start, start, 0
            outputs.append(call.compute(query[:, :, local], key[:, :, seen], value[:, :, seen], call.parts, first))
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs, 2)

    def work(self, call: Call) -> float:
        # PyTorch's kernel takes a causal mask for as many keys as queries only, and 4 / 3 is about what others take.
        causal = call.by_kernel and type(call.parts.mask) is Causal
        return 4 / 3 if causal and any(rows.start > 0 for own in call.queries.slices for rows in own) else 1.0

    def received(self, call: Call) -> list[int]:
        return call.bytes_of_wanted

    def keys(self, call: Call) -> list[int]:
        return [
            own + stop - start
            for own, (start, stop) in zip(call.keys.counts, map(call.bounds, range(call.peers.size)), strict=True)
        ]
