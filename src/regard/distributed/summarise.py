"""Weights of attention whose queries and keys are divided over several processes, and statistics of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from regard.attention import Summary
from regard.attention import summarise as summarise_alone
from regard.attention import weigh as weigh_alone
from regard.attention.engines import dense
from regard.attention.engines.blocked.statistics import Cells, Totals
from regard.attention.keywords import NoSuch, refuse_keywords
from regard.attention.precision import no_autocast
from regard.attention.pytorch_internals import disable_dynamo
from regard.attention.summarise import check_summary, engine_of, summary_of, totals_by
from regard.attention.validation import selected_rows
from regard.distributed.call import Call
from regard.distributed.dtensors import is_dtensor, local_parts
from regard.distributed.gathering import gathered, returned
from regard.distributed.peers import Peers
from regard.distributed.shared_call import shared_call

__all__ = ["summarise", "weigh"]


@disable_dynamo
def summarise(
    query: Tensor,
    key: Tensor,
    *,
    group: Any = None,
    order: str = "contiguous",
    score: Any = "scaled_dot",
    weights: Any = "softmax",
    mask: Any = None,
    position: Any = None,
    top: int = 8,
    pool: int = 64,
    rows: Sequence[int] | Tensor | None = None,
    engine: str = "auto",
    **unknown: NoSuch,
) -> Summary:
    """`regard.summarise` of a sequence of which each process holds a part. Every process of the group must call it.

    Each process gathers the keys that its queries may see, and no values. So memory grows with the number of keys.

    Args:
        query, key: (batch, head, own query, feature) and (batch, key_head, own key, feature), this rank's, or
            `DTensor`s; as in `regard.distributed.attend`.
        group, order, score, weights, mask, position: as in `regard.distributed.attend`.
        top, pool, engine: as in `regard.summarise`, equal on every rank.
        rows: the row numbers of this rank's queries whose weights are returned in full. Ranks may select different
            ones.

    Returns:
        What one process with the whole sequence would find, to rounding. Of this rank's queries: `top_index`, with the
        numbers that keys have in the whole, `top_weight`, `entropy`, `distance`, `zeros` and `rows`, with the weights
        of all keys. Of this rank's keys: `received`, from the queries of all ranks. Of the whole, on every rank:
        `pooled` and `pooled_max`. Sums are added in the order of the ranks, so they are the same at every call.

    Raises:
        ArgumentError: an argument can't be used, or ranks have different ones.
        RefusedError: `engine` names an engine that can't do this, or the call is inside torch.compile or torch.func.
        RegardError: another rank has ended, or refused its arguments.

    Example:
        >>> import torch.distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> x = torch.eye(3).view(1, 1, 3, 3)
        >>> summarise(x, x, mask="causal").received[0, 0]
        tensor([1.6240, 0.9049, 0.4711])
        >>> dist.destroy_process_group()
    """
    query, key, peers = _shared(summarise, unknown, query, key, group=group, order=order)
    parts = {"score": score, "weights": weights, "mask": mask, "position": position}
    if peers.size == 1:
        return summarise_alone(query, key, **parts, top=top, pool=pool, rows=rows, engine=engine)
    named = {**parts, "order": order, "engine": engine, "top": top, "pool": pool}
    with torch.no_grad():
        call = _call(peers, "summarise", query, key, named, rows)
        check_summary(top, pool)
        selected, shape = selected_rows(rows, query.shape[2], query.device), query.shape[:2]
        bounds = call.bounds(peers.rank)
        (held,) = gathered(peers, call.keys, call.wanted, bounds, key)
        request = call.own_request(query, held, bounds[0])
        cells = _cells(call, pool, peers.rank, slice(*bounds))
        with no_autocast(query):
            totals = totals_by(engine_of(request, engine, top), request, cells, top, selected)
        totals.top_index = torch.where(totals.top_index < 0, -1, totals.top_index + bounds[0])
        received = totals.received.unflatten(0, shape)
        totals.received = returned(peers, call.keys, call.wanted, received, bounds).flatten(0, 1)
        if totals.rows is not None:
            totals.rows = functional.pad(totals.rows, (bounds[0], call.keys.length - bounds[1]))
        _add_up_cells(totals, call, pool)
        return summary_of(totals, shape)


@disable_dynamo
def weigh(
    query: Tensor,
    key: Tensor,
    *,
    group: Any = None,
    order: str = "contiguous",
    score: Any = "scaled_dot",
    weights: Any = "softmax",
    mask: Any = None,
    position: Any = None,
    rows: Sequence[int] | Tensor | None = None,
    **unknown: NoSuch,
) -> Tensor:
    """`regard.weigh` of a sequence of which each process holds a part. Every process of the group must call it.

    Args:
        query, key, group, order, score, weights, mask, position: as in `regard.distributed.summarise`.
        rows: the row numbers of this rank's queries whose weights are computed; None: all. Ranks may select different
            ones.

    Returns:
        The weights of this rank's queries for all keys of the whole sequence, (batch, head, row, key), in float32 or
        wider: in memory that grows with the product of both.

    Raises:
        ArgumentError: an argument can't be used, or ranks have different ones.
        RegardError: another rank has ended, or refused its arguments.

    Example:
        >>> import torch.distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> x = torch.eye(3).view(1, 1, 3, 3)
        >>> weigh(x, x, mask="causal", rows=[1])[0, 0]
        tensor([[0.3595, 0.6405, 0.0000]])
        >>> dist.destroy_process_group()
    """
    query, key, peers = _shared(weigh, unknown, query, key, group=group, order=order)
    parts = {"score": score, "weights": weights, "mask": mask, "position": position}
    if peers.size == 1:
        return weigh_alone(query, key, **parts, rows=rows)
    call = _call(peers, "weigh", query, key, {**parts, "order": order, "engine": "dense"}, rows)
    (every,) = gathered(peers, call.keys, call.wanted, (0, call.keys.length), key)
    with no_autocast(query):
        return dense.weigh(call.own_request(query, every), selected_rows(rows, query.shape[2], query.device))


def _shared(
    function: Callable[..., Any], unknown: Mapping[str, Any], query: Tensor, key: Tensor, *, group: Any, order: str
) -> tuple[Tensor, Tensor, Peers]:
    """This rank's queries and keys, and the ranks that share the sequence.

    Raises:
        ArgumentError: a keyword that the function doesn't have, DTensors that aren't divided alike, or no such group.
    """
    if unknown:
        refuse_keywords(function, unknown)
    if is_dtensor(query) or is_dtensor(key):
        (query, key), group = local_parts({"query": query, "key": key}, group=group, order=order)
    return query, key, Peers(group)


def _call(peers: Peers, function: str, query: Tensor, key: Tensor, named: dict[str, Any], rows: Any) -> Call:
    """The call that all ranks share.

    Raises:
        ArgumentError, RegardError: as `shared_call`.
    """

    def check() -> None:
        if isinstance(query, Tensor) and query.ndim == 4:
            selected_rows(rows, query.shape[2], query.device)

    # Only the weights are needed: values without features cost nothing.
    value = key[..., :0] if isinstance(key, Tensor) else key
    return shared_call(peers, function, query, key, value, named, check=check)


def _cells(call: Call, pool: int, rank: int, held: slice | None = None) -> Cells:
    """The cells of the whole in which a rank's queries lie."""
    return Cells.of(pool, call.queries.length, call.keys.length, call.queries.slices[rank], held)


def _add_up_cells(totals: Totals, call: Call, pool: int) -> None:
    """Put the pooled maps of all ranks together; each sends the others only the cells in which it has queries."""
    peers, names = call.peers, ("pooled", "pooled_max", "seeing")
    touched = [_cells(call, pool, rank).touched for rank in range(peers.size)]
    whole = [getattr(totals, name) for name in names]
    own = [tensor[:, start:stop] for start, stop in touched[peers.rank] for tensor in whole]
    others = [rank for rank in range(peers.size) if rank != peers.rank]
    shapes = {
        rank: [
            ((len(tensor), stop - start, *tensor.shape[2:]), tensor.dtype)
            for start, stop in touched[rank]
            for tensor in whole
        ]
        for rank in others
    }
    sums, most, seeing = (torch.zeros_like(tensor) for tensor in whole)
    with peers.exchange(dict.fromkeys(others, own), shapes, totals.pooled.device) as found:
        found[peers.rank] = own
        # In the order of the ranks, so that the sums are reproducible.
        for rank in range(peers.size):
            parts = iter(found[rank])
            for (start, stop), part, largest, count in zip(touched[rank], parts, parts, parts, strict=True):
                here = slice(start, stop)
                sums[:, here] += part
                most[:, here] = torch.maximum(most[:, here], largest)
                seeing[:, here] += count
    totals.pooled, totals.pooled_max, totals.seeing = sums, most, seeing
