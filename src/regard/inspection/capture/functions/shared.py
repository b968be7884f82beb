"""`regard.distributed.attend`, of which each process records its own queries with the keys of all."""

from typing import Any

from torch import Tensor

from regard.distributed import attend
from regard.distributed.standalone import Standalone, standalone
from regard.inspection.capture.call import AttentionCall

__all__ = ["FUNCTION", "read"]

FUNCTION = attend


def read(
    query: Tensor, key: Tensor, value: Tensor, *, dropout: float, seed: int | None, engine: str, **named: Any
) -> AttentionCall:
    """The call with these arguments, of which the operator passes all to a mode.

    What is other ranks' is gathered here, so that all that is read from the record can be computed on one rank.
    """
    call = standalone(query, key, value, engine=engine, **named)
    parts = {name: named[name] for name in ("score", "weights", "position")}
    return AttentionCall(
        "regard.distributed.attend",
        query,
        call.key,
        call.value,
        {**parts, "mask": call.mask},
        dropout,
        returned=lambda outputs: outputs.to(query.dtype),
        outputs=lambda given, rows: given[:, :, rows],
        notes=[] if call.ranks == 1 else [_note(call, query.shape[2])],
    )


def _note(call: Standalone, queries: int) -> str:
    """Which queries a record has, as a sentence."""
    origin = call.mask.origin
    ranges = [f"{each.start} to {each.stop - 1}" for each in origin.slices(slice(0, queries))] if queries else ["none"]
    return (
        f"Of {origin.queries} queries, counted from 0, it has {' and '.join(ranges)}, those of rank {call.rank} of "
        f"{call.ranks}, and all keys."
    )
