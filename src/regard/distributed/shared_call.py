"""The call that all ranks make, once they have told each other what each of them has."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from regard.attention.request import Request
from regard.distributed.agreement import check_alike, tell
from regard.distributed.call import Call
from regard.distributed.layout import Layout
from regard.distributed.peers import Peers
from regard.errors import ArgumentError

__all__ = ["shared_call"]

_PARTS = ("score", "weights", "mask", "position")


def shared_call(
    peers: Peers,
    function: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    named: Mapping[str, Any],
    *,
    check: Callable[[], Any] | None = None,
    recorded: bool = False,
) -> Call:
    """The call that all ranks share. Every rank must ask for it.

    Args:
        function: what is called.
        named: the four parts, `order`, and what else must be equal on all ranks, by name.
        check: raises ArgumentError if an argument of this rank can't be used that may differ between ranks.
        recorded: whether it is the round before a call in which ranks gather what a record of that call holds.

    Raises:
        ArgumentError: an argument can't be used, or ranks have different ones.
        RegardError: those of another rank can't be used, or it doesn't record the call.
    """
    refused = None
    try:
        if check is not None:
            check()
    except ArgumentError as error:
        refused = error
    told = tell(peers, function, query, key if refused is None else None, value, named, recorded=recorded)
    if refused is not None:
        raise refused
    parts, dropout = {name: named[name] for name in _PARTS}, named.get("dropout", 0.0)
    if not told[peers.rank].usable:
        # As one process would refuse them.
        Request.of(query, key, value, **parts, dropout=dropout, seed=0)
    check_alike(told, list(named))
    queries = Layout.of([each.queries for each in told], named["order"], "query")
    keys = Layout.of([each.keys for each in told], named["order"], "key")
    seed = named.get("seed")
    seed = told[0].drawn if seed is None else seed
    # Nothing of these is read but their shapes, which are those of the whole sequence.
    whole = [
        tensor[:, :, :1].detach().new_zeros(1).expand(*tensor.shape[:2], layout.length, tensor.shape[3])
        for tensor, layout in ((query, queries), (key, keys), (value, keys))
    ]
    request = Request.of(*whole, **parts, dropout=dropout, seed=seed)
    return Call(
        peers=peers,
        queries=queries,
        keys=keys,
        parts=request.parts,
        batch=query.shape[0],
        heads=query.shape[1],
        key_heads=key.shape[1],
        feature=query.shape[3],
        value_size=value.shape[3],
        itemsize=query.element_size(),
        device=query.device,
        dropout=request.dropout,
        seed=seed,
        engine=named["engine"],
        threads=max(each.threads for each in told),
    )
