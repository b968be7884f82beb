"""Attention of one sequence that is divided over several processes."""

from typing import Any

import torch
from torch import Tensor

from regard.attention import attend as attend_alone
from regard.attention.pytorch_internals import disable_dynamo
from regard.attention.request import Request
from regard.distributed.call import Call
from regard.distributed.dtensors import attend_dtensors, is_dtensor
from regard.distributed.gathering import gathered
from regard.distributed.heads import by_heads, by_positions
from regard.distributed.layout import Layout
from regard.distributed.merging import merging_of
from regard.distributed.peers import Peers
from regard.distributed.plan import SharedPlan, Widths, plan_of
from regard.distributed.ring import by_rounds
from regard.errors import ArgumentError, RegardError

__all__ = ["attend", "plan"]

_NAMES = ("batch size", "heads", "heads of the keys", "features", "features of the keys", "size of the values", "dtype")
_DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


@disable_dynamo
def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    group: Any = None,
    order: str = "contiguous",
    exchange: str = "auto",
    score: Any = "scaled_dot",
    weights: Any = "softmax",
    mask: Any = None,
    position: Any = None,
    dropout: float = 0.0,
    seed: int | None = None,
    engine: str = "auto",
) -> Tensor:
    """`regard.attend` of a sequence of which each process holds a part. Every process of the group must call it.

    The results and gradients are those of one process with the whole sequence, with the same dropout. Gradients of
    parameters, such as those of a score, are those of this rank's queries: they are summed over the ranks as those of
    every other parameter are. If a rank's output requires gradients, every rank must call `backward`.

    Args:
        query: (batch, head, own query, feature), this rank's.
        key, value: (batch, key_head, own key, feature) and (batch, key_head, own key, value), this rank's. Ranks may
            hold different numbers of queries and keys, and none. Or all three `DTensor`s with Shard(2) on one mesh with
            one dimension; so is the output then.
        group: a process group, a device mesh with one dimension, or None for all processes.
        order: how the sequence is divided: "contiguous", rank 0 holds its beginning; or "zigzag", as
            `shard(..., order="zigzag")` divides it, for causal masks.
        exchange: what is sent: "heads", so that each rank computes some heads of all positions (any parts; the heads of
            the keys must be a multiple of the ranks); "ring", the keys and values in rounds (softmax, sigmoid, ReLU);
            "gather", all the keys and values that a rank's queries may see (any parts; memory grows with them); or
            "auto". With "ring" and "gather" the mask decides which keys are sent.
        score, weights, mask, position, dropout, seed, engine: as in `regard.attend`, equal on every rank. A mask, and
            tables of parts, are those of the whole sequence.

    Returns:
        The outputs of this rank's queries, (batch, head, own query, value).

    Raises:
        ArgumentError: an argument can't be used, or ranks have different ones.
        RefusedError: `exchange` or `engine` names one that can't do this.
        RegardError: another rank has ended.

    Source: heads: Jacobs et al. 2023 (arXiv 2309.14509); rounds: Liu et al. 2023 (arXiv 2310.01889).

    Example:
        >>> import torch.distributed as dist
        >>> store = dist.HashStore()
        >>> dist.init_process_group("gloo", store=store, rank=0, world_size=1)
        >>> x = torch.eye(3).view(1, 1, 3, 3)
        >>> attend(x, x, x, mask="causal")[0, 0]
        tensor([[1.0000, 0.0000, 0.0000],
                [0.3595, 0.6405, 0.0000],
                [0.2645, 0.2645, 0.4711]])
        >>> dist.destroy_process_group()
    """
    parts = {"score": score, "weights": weights, "mask": mask, "position": position}
    rest: dict[str, Any] = {"dropout": dropout, "seed": seed, "engine": engine}
    if is_dtensor(query) or is_dtensor(key) or is_dtensor(value):
        return attend_dtensors(attend, query, key, value, group=group, order=order, exchange=exchange, **parts, **rest)
    peers = Peers(group)
    if peers.size == 1:
        return attend_alone(query, key, value, **parts, **rest)
    call, widths = _call(peers, query, key, value, parts, order, dropout, seed, engine)
    chosen = plan_of(call, exchange, widths).exchange
    if chosen == "heads":
        return _by_heads(call, query, key, value)
    if chosen == "gather":
        return _by_gathering(call, query, key, value)
    merging = merging_of(call.parts, lambda: call.counts(query))
    return by_rounds(call, merging, query, key, value)


def plan(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    group: Any = None,
    order: str = "contiguous",
    exchange: str = "auto",
    score: Any = "scaled_dot",
    weights: Any = "softmax",
    mask: Any = None,
    position: Any = None,
    dropout: float = 0.0,
    seed: int | None = None,
    engine: str = "auto",
) -> SharedPlan:
    """Say how `attend` would share the same call, without computing it. Every process of the group must call it.

    Raises:
        ArgumentError: an argument can't be used, or ranks have different ones.
        RefusedError: `exchange` names one that can't do this.
        RegardError: another rank has ended.
    """
    peers = Peers(group)
    parts = {"score": score, "weights": weights, "mask": mask, "position": position}
    call, widths = _call(peers, query, key, value, parts, order, dropout, seed, engine)
    return plan_of(call, exchange, widths)


def _by_heads(call: Call, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    peers = call.peers
    share = call.heads // peers.size
    first = peers.rank * share
    given = [
        by_heads(peers, layout, tensor)
        for layout, tensor in ((call.queries, query), (call.keys, key), (call.keys, value))
    ]
    output = call.stretch(given[0], given[1], given[2], call.parts_of_heads(first, share), (0, 0, first))
    return by_positions(peers, call.queries, output)


def _by_gathering(call: Call, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    own = call.peers.rank
    bounds = call.bounds(own)
    key, value = (gathered(call.peers, call.keys, call.wanted, tensor, bounds) for tensor in (key, value))
    outputs = []
    for rows, local in zip(call.queries.stretches[own], call.queries.local(own), strict=True):
        start, stop = call.reach.hull(rows, slice(*bounds))
        cut = slice(start - bounds[0], stop - bounds[0])
        first = rows.start, start, 0
        outputs.append(call.stretch(query[:, :, local], key[:, :, cut], value[:, :, cut], call.parts, first))
    return torch.cat(outputs, 2)


def _call(
    peers: Peers,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    parts: dict[str, Any],
    order: str,
    dropout: float,
    seed: int | None,
    engine: str,
) -> tuple[Call, Widths]:
    """The call that all ranks share.

    Raises:
        ArgumentError: an argument can't be used, or ranks have different ones.
    """
    own = _numbers(query, key, value, dropout, seed)
    device = query.device if isinstance(query, Tensor) else torch.device("cpu")
    told = peers.tell(own or [-1] * 11, device)
    if own is None:
        # As one process would refuse them.
        Request.of(query, key, value, **parts, dropout=dropout, seed=0)
    _check_alike(told)
    queries, keys = (Layout.of([each[i] for each in told], order, name) for i, name in ((7, "query"), (8, "key")))
    seed = told[0][10] if seed is None else seed
    # Nothing of these is read but their shapes, which are those of the whole sequence.
    whole = [
        tensor[:, :, :1].detach().new_zeros(1).expand(*tensor.shape[:2], layout.length, tensor.shape[3])
        for tensor, layout in ((query, queries), (key, keys), (value, keys))
    ]
    request = Request.of(*whole, **parts, dropout=dropout, seed=seed)
    batch, heads = query.shape[:2]
    widths = Widths(key.shape[1], query.shape[3], value.shape[3], query.element_size())
    return Call(peers, queries, keys, request.parts, batch, heads, request.dropout, seed, engine), widths


def _numbers(query: Any, key: Any, value: Any, dropout: float, seed: int | None) -> list[int] | None:
    """What a rank tells the others of its arguments; None if they can't be used."""
    three = query, key, value
    if not all(isinstance(each, Tensor) and each.ndim == 4 and each.dtype in _DTYPES for each in three):
        return None
    if key.shape[:3] != value.shape[:3] or len({each.dtype for each in three}) > 1:
        return None
    grads = torch.is_grad_enabled() and any(each.requires_grad for each in three)
    drawn = int(torch.randint(2**62, (1,), device="cpu")) if dropout and seed is None else 0
    (batch, heads, rows, feature), (_, key_heads, columns, key_feature) = query.shape, key.shape
    sizes = batch, heads, key_heads, feature, key_feature, value.shape[3], _DTYPES.index(query.dtype)
    return [*sizes, rows, columns, int(grads), drawn]


def _check_alike(told: list[list[int]]) -> None:
    """Check that all ranks have arguments that fit together."""
    for rank, each in enumerate(told):
        if each[0] < 0:
            raise RegardError(f"Rank {rank} refused its arguments, so no rank can go on. Its own message says why.")
    for i, name in enumerate(_NAMES):
        found = [_DTYPES[each[i]] if name == "dtype" else each[i] for each in told]
        if len(set(found)) > 1:
            raise ArgumentError(f"All ranks must have tensors of the same {name}, but have {found}.")
    if len({each[9] for each in told}) > 1:
        needing = [rank for rank, each in enumerate(told) if each[9]]
        raise ArgumentError(
            f"On all ranks `query`, `key` or `value` must require gradients, or on none, but those of ranks {needing} "
            "do, and the others would be waited for in backward. Call .requires_grad_() on the others', too."
        )
