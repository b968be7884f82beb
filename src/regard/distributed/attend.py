"""Attention of one sequence that is divided over several processes."""

from typing import Any

from torch import Tensor
from torch.nn import Parameter
from torch.overrides import handle_torch_function, has_torch_function

from regard.attention import attend as attend_alone
from regard.attention.keywords import NoSuch, refuse_keywords
from regard.attention.pytorch_internals import disable_dynamo, sees_calls
from regard.distributed.chunks import attend_in_chunks
from regard.distributed.dtensors import attend_dtensors, is_dtensor
from regard.distributed.peers import Peers
from regard.distributed.plan import SharedPlan, choose, plan_of
from regard.distributed.shared_call import shared_call

__all__ = ["attend", "plan"]


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
    **unknown: NoSuch,
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
            the keys must be a multiple of the ranks); "ring", keys and values from rank to rank (softmax, sigmoid,
            ReLU); "gather", all the keys and values that a rank's queries may see (any parts; memory grows with them);
            or "auto". With "ring" and "gather" the mask decides which keys are sent.
        score, weights, mask, position, dropout, seed, engine: as in `regard.attend`, equal on every rank. A mask, and
            tables of parts, are those of the whole sequence.

    Returns:
        The outputs of this rank's queries, (batch, head, own query, value).

    Raises:
        ArgumentError: an argument can't be used, or ranks have different ones.
        RefusedError: `exchange` or `engine` names one that can't do this.
        RegardError: another rank has ended.

    Source: heads: Jacobs et al. 2023 (arXiv 2309.14509); ring: Liu et al. 2023 (arXiv 2310.01889).

    Example:
        >>> import torch
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
    if unknown:
        refuse_keywords(attend, unknown)
    if type(query) in (Tensor, Parameter) and has_torch_function((query,)) and sees_calls():
        # A mode is active, such as that of `regard.watch`: it sees the call, as it sees those of PyTorch's functions.
        given: dict[str, Any] = {"group": group, "order": order, "exchange": exchange, "score": score}
        given |= {"weights": weights, "mask": mask, "position": position}
        given |= {"dropout": dropout, "seed": seed, "engine": engine}
        return handle_torch_function(attend, (query,), query, key, value, **given)
    parts = {"score": score, "weights": weights, "mask": mask, "position": position}
    rest: dict[str, Any] = {"dropout": dropout, "seed": seed, "engine": engine}
    if is_dtensor(query) or is_dtensor(key) or is_dtensor(value):
        return attend_dtensors(attend, query, key, value, group=group, order=order, exchange=exchange, **parts, **rest)
    peers = Peers(group)
    if peers.size == 1:
        return attend_alone(query, key, value, **parts, **rest)
    named = {**parts, "order": order, "exchange": exchange, **rest}
    call = shared_call(peers, "attend", query, key, value, named)
    return attend_in_chunks(choose(call, exchange), call, query, key, value)


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
    **unknown: NoSuch,
) -> SharedPlan:
    """Say how `attend` would share the same call, without computing it. Every process of the group must call it.

    Raises:
        ArgumentError: an argument can't be used, or ranks have different ones.
        RefusedError: `exchange` names one that can't do this.
        RegardError: another rank has ended.
    """
    if unknown:
        refuse_keywords(plan, unknown)
    peers = Peers(group)
    parts = {"score": score, "weights": weights, "mask": mask, "position": position}
    named = {**parts, "order": order, "exchange": exchange, "dropout": dropout, "seed": seed, "engine": engine}
    call = shared_call(peers, "plan", query, key, value, named)
    return plan_of(call, exchange)
