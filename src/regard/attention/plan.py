"""The plan of a request: which engine runs it and why, why the others don't, and what it costs."""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from torch import Tensor

from regard.attention.engines import ENGINES, in_order
from regard.attention.keywords import NoSuch, refuse_keywords
from regard.attention.masks import And, Mask, Not, Or, Predicate
from regard.attention.positions import Position
from regard.attention.request import Request
from regard.attention.user_parts import unwrapped
from regard.errors import RefusedError, UnknownNameError

__all__ = ["Plan", "choose", "plan"]

FEW_PAIRS = 2**20  # below this, estimating the costs would take longer than it saves


@dataclass(frozen=True)
class Plan:
    """What `attend` would do. Print it to read it.

    Attributes:
        engine: the engine that runs.
        why: why it is chosen.
        refused: engine -> why it can't run the request, or why it isn't chosen.
        shape: batch, heads, queries, keys, feature size and value size.
        parts: the parts by name.
        tiles: how many tiles of rows x keys are skipped, partial and full.
        work: multiplications and additions of the forward pass.
        memory: peak memory of the forward pass in bytes besides the inputs, approximately.
        kernels: further bytes, at most, that loading and compiling kernels takes, once per process.
        slow: what takes most of the time where the other parts are cheap, as sentences: functions of the user's own in
            the mask, none of which says where tiles can be skipped, and normalisers that search.
    """

    engine: str
    why: str
    refused: Mapping[str, str]
    shape: tuple[int, int, int, int, int, int]
    parts: Mapping[str, str]
    tiles: Mapping[str, int]
    work: int
    memory: int
    kernels: int
    slow: tuple[str, ...] = ()

    def __str__(self) -> str:
        batch, heads, queries, keys, feature, value = self.shape
        lines = [
            f"attend  batch {batch}, heads {heads}, queries {queries}, keys {keys}, feature {feature}, value {value}",
            "  " + ", ".join(f"{kind} {part}" for kind, part in self.parts.items()),
            f"-> {self.engine}: {self.why}",
            f"   tiles   {', '.join(f'{count} {kind}' for kind, count in self.tiles.items())}",
            *[f"   slow    {sentence}" for sentence in self.slow],
            f"   work    {self.work / 1e9:.3g} GFLOP forward",
            f"   memory  about {self.memory / 2**20:.3g} MiB beside the inputs"
            + (f"; up to {self.kernels / 2**20:.3g} MiB for kernels, once in a process" if self.kernels else ""),
        ]
        lines += [f"   not {name}: {reason}" for name, reason in self.refused.items()]
        return "\n".join(lines)


def choose(request: Request, engine: str) -> str:
    """The engine for a request.

    Raises:
        UnknownNameError: there is no such engine.
        RefusedError: the engine was named and can't run the request; there is no fallback.
    """
    if engine != "auto":
        if not isinstance(engine, str) or engine not in ENGINES:
            raise UnknownNameError("engine", engine, ["auto", *ENGINES])
        reason = ENGINES[engine].refuse(request)
        if reason is not None:
            raise RefusedError(
                f"`engine` {engine!r} can't do this request: {reason}. Use engine='auto', which takes one that can."
            )
        return engine
    form, numbers = request.known.form, request.known.numbers
    name, needs_finite = form.get("engine", (None, False))
    if name is not None and (not needs_finite or request.finite):
        return name
    name = _chosen(request)
    # It holds for the next call if no refusal asked for numbers, or only whether they are finite, as they mostly are.
    if "constant_mask" in form and (not numbers or (numbers.keys() == {"finite"} and numbers["finite"])):
        form["engine"] = name, bool(numbers)
    return name


def _chosen(request: Request) -> str:
    """What `auto` takes."""
    takes_the_first = _takes_the_first(request)
    able = []
    for name in in_order(request):
        if ENGINES[name].refuse(request) is None:
            if takes_the_first or _is_fastest(name, request):
                return name
            able.append(name)
    if len(able) == 1:
        return able[0]
    times = {name: ENGINES[name].seconds(request) for name in able}
    return next(name for name in able if times[name] <= _min_speedup(name) * min(times.values()))


def _is_fastest(name: str, request: Request) -> bool:
    """Whether an engine knows that no other is faster."""
    asked = getattr(ENGINES[name], "is_fastest", None)
    return asked is not None and asked(request)


def _min_speedup(name: str) -> float:
    """How many times as fast as an engine another must be by estimate to be chosen in its stead."""
    return getattr(ENGINES[name], "MIN_SPEEDUP", 1.0)


def _explained(request: Request, engine: str, name: str) -> tuple[str, dict[str, str]]:
    """Why this engine is chosen, and why each other engine isn't."""
    refused = {other: ENGINES[other].refuse(request) for other in in_order(request) if other != name}
    others = {other: reason for other, reason in refused.items() if reason is not None}
    able = [other for other in refused if other not in others]
    if engine != "auto":
        why = "it was asked for by name"
    elif not able:
        why = "the only one that can"
    elif _takes_the_first(request):
        why = "the first in order of speed that can"
    elif _min_speedup(name) > 1.0 and not _is_fastest(name, request):
        why = "no other engine is faster for certain, by estimate"
    else:
        why = "the fastest of those that can, by estimate"
    own = ENGINES[name].seconds(request)
    for other in able:
        times = ENGINES[other].seconds(request) / own
        if engine != "auto":
            others[other] = "another was asked for by name"
        elif _takes_the_first(request):
            others[other] = f"{name} comes before it where there is little to compute"
        elif times < 1:
            others[other] = "by estimate it isn't twice as fast as PyTorch's kernel, so it isn't faster for certain"
        else:
            others[other] = f"it would take {times:.{0 if times >= 10 else 1}f} times as long, by estimate"
    for other, module in ENGINES.items():
        reason = getattr(module, "ONLY_BY_NAME", None)
        if reason is not None and other != name:
            others[other] = reason
    return why, others


def _takes_the_first(request: Request) -> bool:
    """Whether the first engine that can is taken: for small requests, and on devices without known speeds."""
    batch, heads, queries, _ = request.query.shape
    return batch * heads * queries * request.key.shape[2] < FEW_PAIRS or request.query.device.type != "cpu"


def plan(
    query: Float[Tensor, "batch head query feature"],
    key: Float[Tensor, "batch key_head key key_feature"],
    value: Float[Tensor, "batch key_head key value"],
    *,
    score: Any = "scaled_dot",
    weights: Any = "softmax",
    mask: Any = None,
    position: Any = None,
    dropout: float = 0.0,
    seed: int | None = None,
    engine: str = "auto",
    log_sums: bool = False,
    **unknown: NoSuch,
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
          score ScaledDot(), weights Softmax(temperature=1.0), mask NoSelf(), position none
        -> blocked: the only one that can
           tiles   0 skipped, 2 partial, 0 full
           work    0.0336 GFLOP forward
           memory  about 5.06 MiB beside the inputs
           not fused: it takes a mask such as NoSelf only as a tensor of all pairs
           not banded: the mask isn't a sliding window
           not jit: it has no kernel for these parts: the score isn't additive, and the mask isn't a list of edges
           not dense: it takes quadratic memory, so it runs only when asked for by name
    """
    if unknown:
        refuse_keywords(plan, unknown)
    request = Request.of(
        query,
        key,
        value,
        score=score,
        weights=weights,
        mask=mask,
        position=position,
        dropout=dropout,
        seed=seed or 0,
        log_sums=log_sums,
    )
    # Work is counted per query head, whether heads share their keys or not.
    request = request.expanded
    name = choose(request, engine)
    return _described(request, name, *_explained(request, engine, name))


def _described(request: Request, engine: str, why: str, refused: dict[str, str]) -> Plan:
    batch, heads, queries, feature = request.query.shape
    keys, value = request.value.shape[2:]
    estimate = ENGINES[engine].cost(request)
    return Plan(
        engine=engine,
        why=why,
        refused=refused,
        shape=(batch, heads, queries, keys, feature, value),
        parts={
            "score": _name(request.parts.score),
            "weights": _name(request.parts.weights),
            "mask": _name(request.parts.mask),
            "position": "none" if type(request.parts.position) is Position else _name(request.parts.position),
        },
        tiles=estimate.tiles,
        work=estimate.work,
        memory=estimate.memory,
        kernels=estimate.kernels,
        slow=tuple(_slow(request)),
    )


def _slow(request: Request) -> Iterator[str]:
    for name in dict.fromkeys(map(_name, _functions(request.parts.mask))):
        yield f"{name} is called for every pair of the tiles: write a Mask with spans"
    if searches := getattr(request.parts.weights, "searches", ""):
        yield f"{_name(request.parts.weights)} {searches}"


def _functions(mask: Mask) -> list[Predicate]:
    """The functions of the user's own in a mask."""
    if type(mask) in (And, Or):
        return [*_functions(mask.left), *_functions(mask.right)]  # pyright: ignore[reportAttributeAccessIssue]
    if type(mask) is Not:
        return _functions(mask.mask)
    return [mask] if type(mask) is Predicate else []


def _name(part: Any) -> str:
    """A part as the user would write it; a tensor in it by its shape."""
    part = unwrapped(part)
    own = getattr(part, "__name__", None)
    if own is not None:
        return own
    if not dataclasses.is_dataclass(part) or not type(part).__dataclass_params__.repr:  # pyright: ignore
        return repr(part)
    fields = ", ".join(f"{field.name}={_shown(getattr(part, field.name))}" for field in dataclasses.fields(part))
    return f"{type(part).__name__}({fields})"


def _shown(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{tuple(value.shape)}"
    if type(value) is tuple:
        return f"({', '.join(map(_shown, value))})"
    return _name(value) if dataclasses.is_dataclass(value) else repr(value)
