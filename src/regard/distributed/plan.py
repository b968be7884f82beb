"""How ranks share a call: by heads, in rounds, or by gathering keys; what each sends and computes, and why."""

from collections.abc import Mapping
from dataclasses import dataclass

from regard.attention.user_parts import UserPosition, unwrapped
from regard.distributed.call import Call
from regard.distributed.merging import merges
from regard.errors import RefusedError, UnknownNameError

__all__ = ["EXCHANGES", "SharedPlan", "plan_of"]

EXCHANGES = ("heads", "ring", "gather")

# For an estimate of which takes longer, not of how long: multiply-adds and bytes a second of one process.
_SPEED, _BANDWIDTH = 2e10, 1e9
# Rounds compute each block again before its gradient.
_ROUNDS = 4 / 3


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
        ranks = len(self.received)
        total = sum(self.pairs)
        lines = [f"attend on {ranks} ranks", f"-> {self.exchange}: {self.why}"]
        lines += [
            f"   rank {rank}  receives {self.received[rank] / 2**20:.3g} MiB forward, computes "
            f"{self.pairs[rank] / max(total, 1):.0%} of the pairs, holds {self.keys[rank]} keys at once"
            for rank in range(ranks)
        ]
        lines += [f"   not {name}: {reason}" for name, reason in self.refused.items()]
        return "\n".join(lines)


@dataclass(frozen=True)
class Widths:
    """Sizes of a call that its plan needs: heads of keys, features, values, and bytes of a number."""

    key_heads: int
    feature: int
    value: int
    itemsize: int


def plan_of(call: Call, exchange: str, widths: Widths) -> SharedPlan:
    """The plan of a call.

    Raises:
        RefusedError: the exchange was named and can't share the call.
        UnknownNameError: there is no such exchange.
    """
    if exchange not in ("auto", *EXCHANGES):
        raise UnknownNameError("exchange", exchange, ["auto", *EXCHANGES])
    refused = {name: _refusal(name, call, widths) for name in EXCHANGES}
    if exchange != "auto":
        reason = refused[exchange]
        if reason is not None:
            raise RefusedError(
                f"`exchange` {exchange!r} can't share this call: {reason}. "
                "Use exchange='auto', which takes one that can."
            )
        others = {name: reason or "another was asked for by name" for name, reason in refused.items()}
        return _plan(call, exchange, "it was asked for by name", others, widths)
    able = [name for name in EXCHANGES if refused[name] is None]
    most = 2 * max(call.keys.counts)
    gathered = max(stop - start for rank in range(call.peers.size) for start, stop in [call.bounds(rank)])
    if "gather" in able and len(able) > 1 and gathered > most:
        able.remove("gather")
        refused["gather"] = f"a rank would gather {gathered} keys, more than two ranks hold"
    seconds = {name: _seconds(call, name, widths) for name in able}
    chosen = min(able, key=lambda name: seconds[name])
    others = {
        name: refused[name]
        or f"by estimate it would take {seconds[name] / max(seconds[chosen], 1e-12):.1f} times as long"
        for name in EXCHANGES
        if name != chosen
    }
    why = "the only one that can" if len(able) == 1 else "the fastest of those that need few keys at once, by estimate"
    return _plan(call, chosen, why, others, widths)


def _plan(call: Call, exchange: str, why: str, others: dict[str, str], widths: Widths) -> SharedPlan:
    others.pop(exchange, None)
    pairs = tuple(each * call.heads for each in _pairs(call, exchange))
    return SharedPlan(
        exchange, why, others, tuple(_received(call, exchange, widths)), pairs, tuple(_keys(call, exchange))
    )


def _refusal(name: str, call: Call, widths: Widths) -> str | None:
    """Why an exchange can't share a call, or None."""
    ranks, parts = call.peers.size, call.parts
    if name == "heads":
        if widths.key_heads % ranks:
            return f"{widths.key_heads} heads of the keys can't be divided among {ranks} ranks"
        if isinstance(parts.position, UserPosition):
            return "a position scheme of your own may ask which head it is in"
    if name == "ring" and not merges(parts):
        part = unwrapped(parts.weights)
        kind = getattr(part, "__name__", type(part).__name__)
        return f"rows of {kind} aren't merged from rows over fewer keys"
    return None


def _received(call: Call, name: str, widths: Widths) -> list[int]:
    """Bytes that each rank receives in a forward pass."""
    ranks = call.peers.size
    a_key = call.batch * widths.key_heads * (widths.feature + widths.value) * widths.itemsize
    if name == "heads":
        # Others' queries, keys and values of these heads; and of its own queries the outputs of other heads.
        queries, keys = call.queries.counts, call.keys.counts
        of_query = call.batch * call.heads * widths.itemsize
        return [
            (
                (sum(queries) - queries[rank]) * of_query * widths.feature
                + (sum(keys) - keys[rank]) * a_key
                + queries[rank] * (ranks - 1) * of_query * widths.value
            )
            // ranks
            for rank in range(ranks)
        ]
    return [
        sum(
            (stop - start) * a_key
            for other, of_other in enumerate(call.wanted[rank])
            if other != rank
            for start, stop in of_other
        )
        for rank in range(ranks)
    ]


def _pairs(call: Call, name: str) -> list[int]:
    """How many pairs each rank computes, of one head."""
    if name == "heads":
        return [sum(call.pairs) // call.peers.size] * call.peers.size
    return call.pairs


def _keys(call: Call, name: str) -> list[int]:
    """How many keys each rank holds at once at most, its own included."""
    own, ranks = call.keys.counts, range(call.peers.size)
    if name == "heads":
        return [-(-call.keys.length // call.peers.size) + own[rank] for rank in ranks]
    if name == "gather":
        return [own[rank] + stop - start for rank in ranks for start, stop in [call.bounds(rank)]]
    of_others = [
        sorted(
            (
                sum(stop - start for start, stop in of_other)
                for other, of_other in enumerate(call.wanted[rank])
                if other != rank
            ),
            reverse=True,
        )
        for rank in ranks
    ]
    # One that is computed with, and one that is on its way.
    return [own[rank] + sum(of_others[rank][:2]) for rank in ranks]


def _seconds(call: Call, name: str, widths: Widths) -> float:
    """About how long the slowest rank takes."""
    work = call.batch * call.heads * (widths.feature + widths.value) * (_ROUNDS if name == "ring" else 1.0)
    computed, received = _pairs(call, name), _received(call, name, widths)
    return max(pairs * work / _SPEED + bytes_ / _BANDWIDTH for pairs, bytes_ in zip(computed, received, strict=True))
