"""The plan of a request: which engine runs it, why, what each other engine refused, and what it costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from torch import Tensor

from regard.attention.engines import AUTO, ENGINES
from regard.attention.engines.blocked import tile_size, tiles
from regard.attention.request import Request
from regard.errors import RefusedError, UnknownNameError

__all__ = ["Plan", "choose", "plan"]


@dataclass(frozen=True)
class Plan:
    """What `attend` would do. `print` it to read it.

    Attributes:
        engine: the engine that runs.
        why: why it is this one.
        refused: engine -> why it can't, or why it isn't chosen.
        shape: batch, heads, queries, keys, feature size and value size.
        parts: the parts by name.
        tiles: how many tiles of rows x keys are skipped, partial and full.
        work: multiplications and additions of the forward pass.
        memory: about how many bytes stand at the peak of the forward pass, beside the inputs.
    """

    engine: str
    why: str
    refused: Mapping[str, str]
    shape: tuple[int, int, int, int, int, int]
    parts: Mapping[str, str]
    tiles: Mapping[str, int]
    work: int
    memory: int

    def __str__(self) -> str:
        batch, heads, queries, keys, feature, value = self.shape
        lines = [
            f"attend  batch {batch}, heads {heads}, queries {queries}, keys {keys}, feature {feature}, value {value}",
            "  " + ", ".join(f"{kind} {part}" for kind, part in self.parts.items()),
            f"-> {self.engine}: {self.why}",
            f"   tiles   {', '.join(f'{count} {kind}' for kind, count in self.tiles.items())}",
            f"   work    {self.work / 1e9:.3g} GFLOP forward",
            f"   memory  about {self.memory / 2**20:.3g} MiB beside the inputs",
        ]
        lines += [f"   not {name}: {reason}" for name, reason in self.refused.items()]
        return "\n".join(lines)


def choose(request: Request, engine: str) -> tuple[str, str, dict[str, str]]:
    """The engine for a request, why, and why not the others.

    Raises:
        UnknownNameError: there is no such engine.
        RefusedError: the engine was asked for by name and can't do it; it never falls back.
    """
    if engine != "auto":
        if engine not in ENGINES:
            raise UnknownNameError("engine", engine, ["auto", *ENGINES])
        reason = ENGINES[engine].refuse(request)
        if reason is not None:
            raise RefusedError(
                f"`engine` {engine!r} can't do this request: {reason}. Use engine='auto', which takes one that can."
            )
        return engine, "it was asked for by name", {}
    refused: dict[str, str] = {}
    for name in AUTO:
        reason = ENGINES[name].refuse(request)
        if reason is None:
            why = "the first in order of speed that refuses nothing" if not refused else "the fastest that can"
            return name, why, refused
        refused[name] = reason
    raise RefusedError(f"No engine can do this request: {refused}.")


def plan(
    query: Float[Tensor, "batch head query feature"],
    key: Float[Tensor, "batch key_head key feature"],
    value: Float[Tensor, "batch key_head key value"],
    *,
    score: Any = "scaled_dot",
    weights: Any = "softmax",
    mask: Any = None,
    position: Any = None,
    dropout: float = 0.0,
    seed: int | None = None,
    engine: str = "auto",
) -> Plan:
    """Say what `attend` would do with the same arguments, without doing it.

    Raises:
        ArgumentError: an argument can't be used.
        RefusedError: `engine` names an engine that can't do this.

    Example:
        >>> import torch
        >>> x = torch.zeros(1, 2, 512, 16)
        >>> print(plan(x, x, x, mask="no_self"))
        attend  batch 1, heads 2, queries 512, keys 512, feature 16, value 16
          score ScaledDot(), weights Softmax(), mask NoSelf(), position none
        -> blocked: the fastest that can
           tiles   0 skipped, 2 partial, 0 full
           work    0.0336 GFLOP forward
           memory  about 5.06 MiB beside the inputs
           not fused: it takes a mask such as NoSelf only as a tensor of all pairs
           not dense: it takes quadratic memory, so it runs only when asked for by name
    """
    request = Request.of(
        query, key, value, score=score, weights=weights, mask=mask, position=position, dropout=dropout, seed=seed or 0
    )
    name, why, refused = choose(request, engine)
    if name != "dense":
        refused["dense"] = "it takes quadratic memory, so it runs only when asked for by name"
    return _described(request, name, why, refused)


def _described(request: Request, engine: str, why: str, refused: dict[str, str]) -> Plan:
    batch, heads, queries, feature = request.query.shape
    keys, value = request.value.shape[2:]
    found = list(tiles(request.spans, batch, heads, queries, keys))
    possible = 0
    if queries and keys:
        rows, together = tile_size(queries, keys)
        possible = -(-batch * heads // together) * -(-queries // rows)
    pairs = sum(_size(t.groups) * _size(t.rows) * _size(t.keys) for t in found)
    if engine == "dense":
        pairs = batch * heads * queries * keys
    width = max(request.query.element_size(), 4)
    largest = max((_size(t.groups) * _size(t.rows) * _size(t.keys) for t in found), default=0)
    output = batch * heads * queries * value * request.query.element_size()
    position = type(request.parts.position).__name__
    # Scores, weights, what is allowed and two temporaries stand at once in a tile (or, dense, for all pairs); a
    # position scheme adds indices and products, dropout the 64-bit states of its hash.
    matrices = 5 * width + (8 + width) * (position != "Position") + 3 * 8 * (request.dropout > 0)
    copied = sum(tensor.nbytes for tensor in (request.query, request.key, request.value))
    held = {
        "dense": pairs * matrices,
        "blocked": largest * matrices,
        "fused": copied if feature != value else 0,
    }[engine]
    return Plan(
        engine=engine,
        why=why,
        refused=refused,
        shape=(batch, heads, queries, keys, feature, value),
        parts={
            "score": _name(request.parts.score),
            "weights": _name(request.parts.weights),
            "mask": _name(request.parts.mask),
            "position": "none" if position == "Position" else position,
        },
        tiles={
            "skipped": possible - len(found),
            "partial": sum(not t.full for t in found),
            "full": sum(t.full for t in found),
        },
        work=2 * pairs * (feature + value),
        memory=held + output,
    )


def _size(part: slice) -> int:
    return part.stop - part.start


def _name(part: Any) -> str:
    return getattr(part, "__name__", None) or repr(part)
