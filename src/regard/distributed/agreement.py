"""What the ranks of a call tell each other of their arguments, so that all refuse those that don't fit together."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.distributed.peers import Peers
from regard.errors import ArgumentError, RegardError

__all__ = ["Told", "check_alike", "tell"]

_SIZES = ("batch size", "heads", "heads of the keys", "features", "features of the keys", "size of the values", "dtype")
_MOST_NAMED = 16
_DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


@dataclass(frozen=True)
class Told:
    """What a rank tells.

    Attributes:
        sizes: in the order of `_SIZES`, the dtype by its number; nothing if the arguments can't be used.
        queries, keys: how many it holds.
        needs_gradients: whether an input requires gradients.
        drawn: a seed, if dropout needs one and none is given.
        recorded: whether it is about to gather what a record of the call holds, before the call itself.
        function: a digest of what is called.
        threads: that it computes with on a CPU.
        digests: of the other arguments: equal ones have equal digests.
    """

    sizes: tuple[int, ...]
    queries: int
    keys: int
    needs_gradients: bool
    drawn: int
    recorded: bool
    function: int
    threads: int
    digests: tuple[int, ...]

    @property
    def usable(self) -> bool:
        """Whether its tensors can be used."""
        return self.sizes[0] >= 0


def tell(
    peers: Peers, function: str, query: Any, key: Any, value: Any, named: Mapping[str, Any], *, recorded: bool = False
) -> list[Told]:
    """Tell the other ranks, and learn what each of them has.

    Args:
        function: what is called.
        named: the other arguments, equal on all ranks; with a seed if there is dropout.
        recorded: as in `Told`.
    """
    digests = [zlib.crc32(_described(each).encode()) for each in named.values()]
    # As many whatever is called, so that ranks that call different functions learn that.
    digests += [0] * (_MOST_NAMED - len(digests))
    sizes, lengths, needs_gradients = [-1] * len(_SIZES), [0, 0], False
    if _are_usable(query, key, value):
        sizes = [*query.shape[:2], key.shape[1], query.shape[3], key.shape[3], value.shape[3]]
        sizes.append(_DTYPES.index(query.dtype))
        lengths = [query.shape[2], key.shape[2]]
        needs_gradients = torch.is_grad_enabled() and any(each.requires_grad for each in (query, key, value))
    drawn = int(torch.randint(2**62, (1,), device="cpu")) if named.get("dropout") and named["seed"] is None else 0
    device = query.device if isinstance(query, Tensor) else torch.device("cpu")
    numbers = [*sizes, *lengths, int(needs_gradients), drawn, int(recorded), zlib.crc32(function.encode())]
    numbers += [torch.get_num_threads(), *digests]
    count = len(_SIZES)
    found = peers.tell(numbers, device)
    # A rank that records the call learns so that this one doesn't, and comes back to make the call itself.
    while not recorded and any(each[count + 4] for each in found):
        found = peers.tell(numbers, device)
    return [
        Told(
            tuple(each[:count]),
            each[count],
            each[count + 1],
            bool(each[count + 2]),
            each[count + 3],
            bool(each[count + 4]),
            each[count + 5],
            each[count + 6],
            tuple(each[count + 7 :]),
        )
        for each in found
    ]


def check_alike(told: Sequence[Told], names: Sequence[str]) -> None:
    """Check that the arguments of all ranks fit together.

    Args:
        names: those of the digests.

    Raises:
        ArgumentError: they don't.
        RegardError: those of a rank can't be used.
    """
    for rank, each in enumerate(told):
        if not each.usable:
            raise RegardError(f"Rank {rank} refused its arguments, so no rank can go on. Its own message says why.")
    unrecorded = [rank for rank, each in enumerate(told) if not each.recorded]
    if 0 < len(unrecorded) < len(told):
        raise RegardError(
            f"All ranks must watch a call that they share, but ranks {unrecorded} don't. Open the block of watch on "
            "every rank."
        )
    others = [rank for rank, each in enumerate(told) if each.function != told[0].function]
    if others:
        raise ArgumentError(f"All ranks must make the same call, but ranks {others} call another function than rank 0.")
    for i, name in enumerate(_SIZES):
        found = [_DTYPES[each.sizes[i]] if name == "dtype" else each.sizes[i] for each in told]
        if len(set(found)) > 1:
            raise ArgumentError(f"All ranks must have tensors of the same {name}, but have {found}.")
    for i, name in enumerate(names):
        others = [rank for rank, each in enumerate(told) if each.digests[i] != told[0].digests[i]]
        if others:
            raise ArgumentError(f"`{name}` must be equal on all ranks, but ranks {others} have another than rank 0.")
    if len({each.needs_gradients for each in told}) > 1:
        needing = [rank for rank, each in enumerate(told) if each.needs_gradients]
        raise ArgumentError(
            f"On all ranks `query`, `key` or `value` must require gradients, or on none, but those of ranks {needing} "
            "do, and the others would be waited for in backward. Call .requires_grad_() on the others', too."
        )


def _are_usable(query: Any, key: Any, value: Any) -> bool:
    three = query, key, value
    if not all(isinstance(each, Tensor) and each.ndim == 4 and each.dtype in _DTYPES for each in three):
        return False
    return key.shape[:3] == value.shape[:3] and len({each.dtype for each in three}) == 1


def _described(argument: Any) -> str:
    """An argument as far as it is the same in every process: a name or number, or else what kind of part it is."""
    if argument is None or isinstance(argument, str | int | float):
        return repr(argument)
    return type(argument).__qualname__
