"""How ranks share a call, and why: what each receives, computes and holds."""

from collections.abc import Mapping
from dataclasses import dataclass

from regard.distributed.call import Call
from regard.distributed.exchange import Exchange
from regard.distributed.gather import Gather
from regard.distributed.heads import Heads
from regard.distributed.ring import Ring
from regard.errors import RefusedError, UnknownNameError

__all__ = ["EXCHANGES", "SharedPlan", "choose", "plan_of"]

EXCHANGES: dict[str, Exchange] = {each.name: each for each in (Heads(), Ring(), Gather())}


@dataclass(frozen=True)
class SharedPlan:
    """What `regard.distributed.attend` would do. Print it to read it.

    Attributes:
        exchange: "heads", "ring" or "gather".
        why: why it is chosen.
        refused: exchange -> why it can't share the call, or why it isn't chosen.
        received: of each rank, the bytes that it receives in a forward pass.
        pairs: of each rank, the pairs of query and key that it computes, of all heads of an item.
        keys: of each rank, how many keys it holds at once at most, counted in keys of all heads.
    """

    exchange: str
    why: str
    refused: Mapping[str, str]
    received: tuple[int, ...]
    pairs: tuple[int, ...]
    keys: tuple[int, ...]

    def __str__(self) -> str:
        ranks, total = len(self.received), sum(self.pairs)
        lines = [f"attend on {ranks} rank{'s' if ranks > 1 else ''}", f"-> {self.exchange}: {self.why}"]
        lines += [
            f"   rank {rank}  receives {self.received[rank] / 2**20:.3g} MiB forward, computes "
            f"{self.pairs[rank] / max(total, 1):.0%} of the pairs, holds {self.keys[rank]} keys at once"
            for rank in range(ranks)
        ]
        lines += [f"   not {name}: {reason}" for name, reason in self.refused.items()]
        return "\n".join(lines)


def choose(call: Call, name: str) -> Exchange:
    """The way to share a call.

    Args:
        name: that of one, or "auto".

    Raises:
        RefusedError: it was named and can't share the call.
        UnknownNameError: there is none of that name.
    """
    if name != "auto":
        if name not in EXCHANGES:
            raise UnknownNameError("exchange", name, ["auto", *EXCHANGES])
        reason = EXCHANGES[name].refuse(call)
        if reason is not None:
            raise RefusedError(
                f"`exchange` {name!r} can't share this call: {reason}. Use exchange='auto', which takes one that can."
            )
        return EXCHANGES[name]
    able = [each for each in EXCHANGES.values() if each.refuse(call) is None]
    lean = [each for each in able if each.too_many_keys(call) is None]
    return min(lean or able, key=lambda each: each.seconds(call))


def plan_of(call: Call, name: str) -> SharedPlan:
    """The plan of a call.

    Raises:
        RefusedError, UnknownNameError: as `choose`.
    """
    chosen = choose(call, name)
    others = {each.name: _why_not(each, chosen, call, name) for each in EXCHANGES.values() if each is not chosen}
    pairs = tuple(each * call.heads for each in chosen.pairs(call))
    return SharedPlan(
        chosen.name, _why(call, name), others, tuple(chosen.received(call)), pairs, tuple(chosen.keys(call))
    )


def _why(call: Call, name: str) -> str:
    """Why an exchange is chosen."""
    if name != "auto":
        return "it was asked for by name"
    able = [each for each in EXCHANGES.values() if each.refuse(call) is None]
    return "the only one that can" if len(able) == 1 else "the fastest of those that need few keys at once, by estimate"


def _why_not(other: Exchange, chosen: Exchange, call: Call, name: str) -> str:
    """Why another isn't chosen."""
    reason = other.refuse(call)
    if reason is not None:
        return reason
    if name != "auto":
        return "another was asked for by name"
    times = other.seconds(call) / max(chosen.seconds(call), 1e-12)
    return other.too_many_keys(call) or f"by estimate it would take {times:.1f} times as long"
