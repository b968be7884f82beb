"""Heads that share keys, as queries: how Hugging Face's models call attention for a single query with grouped keys.

A step of generation has one query. If it also has a mask, the query's heads that share a head of keys are put in the
place of the queries, since kernels don't take a mask with grouped keys. The first pass repeats the keys instead.
"""

from dataclasses import replace

import torch
from torch import Tensor

from regard.inspection.joined_positions import JoinedCall
from regard.inspection.rules import interval_rule

__all__ = ["distinct_heads", "unpacked"]


def unpacked(call: JoinedCall, heads: int) -> JoinedCall | None:
    """The call with one query of so many heads; None if it isn't one whose heads stand in the place of queries."""
    layer = call.layer
    groups, queries = layer.query.shape[1:3]
    is_packed = 1 < queries == len(layer.rows) and groups * queries == heads
    if not is_packed or layer.position is not None or layer.projection is not None:
        return None
    start, stop = (_of_one_query(each, queries) for each in (call.start, call.stop))
    if start is None or stop is None:
        return None
    mask = interval_rule(start.to(layer.query.device), stop.to(layer.query.device), layer.key.shape[2])
    own = replace(
        layer,
        query=layer.query.flatten(1, 2).unsqueeze(2),
        outputs=layer.outputs.flatten(1, 2).unsqueeze(2),
        rows=layer.rows[:1],
        mask=mask,
    )
    return JoinedCall(own, start, stop)


def _of_one_query(bound: Tensor, heads: int) -> Tensor | None:
    """The bound that all queries have, for each head; None if they differ."""
    if not torch.equal(bound, bound[:, :, :1].expand_as(bound)):
        return None
    return bound[:, :, :1] if bound.shape[1] == 1 else bound[:, :, :1].repeat_interleave(heads, dim=1)


def distinct_heads(keys: Tensor, heads: int) -> Tensor:
    """The keys, or values, of so many heads, if they are those heads repeated; otherwise as they are."""
    own = keys.shape[1]
    if own == heads or not heads or own % heads:
        return keys
    grouped = keys.unflatten(1, (heads, own // heads))
    return grouped[:, :, 0] if torch.equal(grouped, grouped[:, :, :1].expand_as(grouped)) else keys
