"""Random calls of the operator against the oracle: any parts, sizes and dtypes, with poison, hidden and seen.

    python tests/attention/attack.py --cases 5000              what doesn't hold, one line each
    python tests/attention/attack.py --cases 1 --start 1234    one call again

A call is made from its number alone, so that what is found can be looked at. Held to the oracle are outputs in three
dtypes and, in float64, the slope of the output along a random direction of every tensor that has a gradient.
"""

import argparse
import dataclasses
import itertools
import math
import random
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
import torch
from torch import Tensor

from attention.cases import (
    MASK_EXAMPLES,
    RULES,
    AllHooks,
    Gaussian,
    Sink,
    Size,
    distance,
    for_oracle,
    seeded,
    squared,
)
from attention.comparing import Cut
from regard.attention import (
    MASKS,
    SCORES,
    WEIGHTS,
    Additive,
    Bias,
    Bilinear,
    Blocks,
    Budget,
    Causal,
    Cosine,
    Dense,
    Documents,
    Dot,
    Edges,
    Entmax,
    Guided,
    GuidedBias,
    Lengths,
    Mask,
    NoSelf,
    Prefix,
    Relu,
    Rotary,
    Sigmoid,
    Softmax,
    TopK,
    Window,
    attend,
    summarise,
    weigh,
)
from regard.attention.engines import ENGINES
from regard.attention.masks import as_mask
from regard.attention.parts import flatten_part, part_of, unflatten_part
from regard.attention.positions import Buckets, RelativeKeys, RelativeValues, Slopes
from regard.attention.request import Request
from regard.errors import RefusedError
from regard.jury import oracle
from regard.jury.oracle import Rule
from regard.modules.huggingface import SoftCapped
from regard.modules.make_part import make_part

__all__ = ["assault", "attacked"]

F64 = torch.float64
# How far off an output may be, as a share of the largest number of the outputs and the values.
TOLERANCE = {F64: 1e-10, torch.float32: 3e-4, torch.bfloat16: 2e-2}
SIZES = (0, 1, 2, 3, 5, 8, 13, 19)
POISONS = (math.nan, math.inf, -math.inf, 3e38, -3e38, 1e300, 1e19)

KNOWN = {"score": SCORES, "weights": WEIGHTS, "mask": MASKS}
# Of which random forms are made below; the others are made as their names are.
_MADE = {
    "score": {"dot", "scaled_dot", "additive", "bilinear", "cosine"},
    "weights": {"softmax", "relu", "sigmoid", "sparsemax", "entmax", "budget", "top_k", "hard"},
    "mask": {"dense", "causal", "window", "lengths", "documents", "prefix", "guided", "edges", "blocks", "no_self"},
}
OTHERS = {kind: [name for name in known if name not in _MADE[kind]] for kind, known in KNOWN.items()}


@dataclass
class Attack:
    """One call: its tensors in float64, its parts, its mask as the package and as the oracle have it."""

    query: Tensor
    key: Tensor
    value: Tensor
    parts: dict[str, Any]
    mask: Mask
    rule: Rule
    rest: dict[str, Any]
    poison: str
    visible: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def __str__(self) -> str:
        shapes = [tuple(t.shape) for t in (self.query, self.key, self.value)]
        parts = ", ".join(f"{name} {_said(part)}" for name, part in self.parts.items())
        return f"{shapes} {parts}, mask {self.mask!r}, {self.rest}, poison: {self.poison or 'none'}"


def _chooses(weights: Any) -> bool:
    """Whether these weights take some keys and leave others of the same score."""
    return isinstance(weights, TopK) or (isinstance(weights, str) and weights == "hard")


def _said(part: Any) -> str:
    return getattr(part, "__name__", None) or " ".join(repr(part).split())[:160]


class Maker:
    """What one number makes."""

    def __init__(self, number: int):
        self.random = random.Random(number)
        self.generator = seeded(number)

    def numbers(self, *shape: int, size: float = 1.0) -> Tensor:
        return torch.randn(shape, generator=self.generator, dtype=F64) * size

    def one_of(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def attack(self) -> Attack:
        batch, key_heads, repeat = self.one_of(1, 1, 2, 3), self.one_of(1, 2), self.one_of(1, 1, 2)
        heads = key_heads * repeat
        queries, keys = self.random.choice(SIZES), self.random.choice(SIZES)
        feature = self.one_of(1, 2, 4, 6, 8)
        value = feature if self.random.random() < 0.5 else self.one_of(1, 3, 5)
        large = self.one_of(1.0, 1.0, 1.0, 1.0, 0.01, 10.0, 1e3, 1e5)
        query, key = (
            self.numbers(batch, heads, queries, feature, size=large),
            self.numbers(batch, key_heads, keys, feature),
        )
        if self.random.random() < 0.2:
            queries = keys
            query = self.numbers(batch, heads, queries, feature, size=large)
        parts = {
            "score": self.score(heads, feature),
            "weights": self.weights(heads),
            "position": self.position(heads, feature, value, queries, keys, batch),
        }
        # The usual call has kernels of its own.
        usual = {"score": "scaled_dot", "weights": "softmax", "position": None}
        parts = {name: usual[name] if self.random.random() < 0.4 else part for name, part in parts.items()}
        if large > 1 and isinstance(parts["score"], Additive | SoftCapped) and _chooses(parts["weights"]):
            # All scores are the activation's last number, so that rounding alone says which key is first.
            parts["weights"] = "softmax"
        attack = Attack(
            query,
            key,
            self.numbers(batch, key_heads, keys, value),
            parts,
            *self.mask(batch, queries, keys, self.one_of(0, 0, 1, 1, 2)),
            {"dropout": self.one_of(0.0, 0.0, 0.3), "seed": self.random.getrandbits(62)},
            "",
        )
        sizes = attack.rule.of(batch, queries, keys)
        attack.visible = np.zeros((batch, heads, queries, keys), dtype=bool)
        for place in itertools.product(*map(range, attack.visible.shape)):
            attack.visible[place] = attack.rule.allows(oracle.Pair(*place, *sizes[place[0]]))
        if self.random.random() < 0.6:
            self.poisoned(attack)
        return attack

    def poisoned(self, attack: Attack) -> None:
        """Something in a place or two: whole vectors, one number, or all vectors of a kind."""
        poison = self.random.choice(POISONS)
        for which in self.random.sample(("query", "key", "value"), self.one_of(1, 1, 2, 3)):
            tensor: Tensor = getattr(attack, which)
            if not tensor.numel():
                continue
            place = [self.random.randrange(size) for size in tensor.shape]
            how = self.one_of(
                "a vector", "a number", "a place in all", "all", "all", "what is hidden", "what is hidden"
            )
            if how == "a number":
                tensor[tuple(place)] = poison
            elif how == "a vector":
                tensor[tuple(place[:3])] = poison
            elif how == "a place in all":
                tensor[:, :, place[2]] = poison
            elif how == "all":
                tensor[:] = poison
            else:
                tensor[torch.as_tensor(self.hidden(attack, which), device=tensor.device)] = poison
            attack.poison += f" {poison} in {which}, {how}"

    def hidden(self, attack: Attack, which: str) -> np.ndarray:
        """(batch, head, length) the vectors that nobody sees."""
        if which == "query":
            return ~attack.visible.any(3)
        batch, heads, _, keys = attack.visible.shape
        shared = attack.key.shape[1]
        return ~attack.visible.any(2).reshape(batch, shared, heads // shared, keys).any(2)

    def score(self, heads: int, feature: int) -> Any:
        made = self.random.randrange(13 + len(OTHERS["score"]))
        own = () if self.random.random() < 0.5 else (heads,)
        match made:
            case number if number >= 13:
                return self.other("score", number - 13, heads, feature)
            case 0 | 1 | 2:
                return self.one_of("dot", "scaled_dot", "scaled_dot", Dot(self.one_of(-0.3, 0.0, 2.5)))
            case 3 | 4:
                bias = self.one_of(None, self.numbers(feature), self.numbers(heads, feature))
                return Additive(self.numbers(*own, feature), bias)
            case 5:
                return Additive(self.numbers(*own, feature), self.numbers(feature), "leaky_relu", 0.1)
            case 6 | 7:
                return Bilinear(self.numbers(*own, feature, feature, size=feature**-0.5))
            case 8 | 9:
                return Cosine(self.one_of(3.0, self.numbers(*own)))
            case 10:
                return SoftCapped(0.7, 2.0)
            case 11:
                return distance
            case _:
                return Gaussian(self.numbers())

    def weights(self, heads: int) -> Any:
        own = () if self.random.random() < 0.5 else (heads,)
        match self.random.randrange(15 + len(OTHERS["weights"])):
            case number if number >= 15:
                return self.other("weights", number - 15, heads, 1)
            case 12:
                return Entmax(self.numbers(*own).sigmoid() + 1.01)
            case 13:
                return Budget(self.one_of(0.7, 1.0, 2.0, 2.5))
            case 14:
                return TopK(self.one_of(1, 2, 5))
            case 0 | 1 | 2:
                return "softmax"
            case 3:
                return self.one_of(Softmax(0.4), Softmax(self.numbers(*own).abs() + 0.5))
            case 4:
                return self.one_of("relu", Relu(7.0))
            case 5 | 6:
                return self.one_of("sigmoid", Sigmoid(-0.5), Sigmoid(self.numbers(*own)))
            case 7:
                return "sparsemax"
            case 8:
                return "entmax"
            case 9:
                return Entmax(self.one_of(1.2, 1.7))
            case 10:
                return self.one_of("hard", squared)
            case _:
                return Sink(self.numbers())

    def other(self, kind: str, place: int, heads: int, feature: int) -> Any:
        """A part that isn't made here in another form than it has by its name alone."""
        part = make_part(kind, OTHERS[kind][place], KNOWN[kind], head_size=feature, heads=heads)
        return part_of(part.double()) if isinstance(part, torch.nn.Module) else part

    def position(self, heads: int, feature: int, value: int, queries: int, keys: int, batch: int) -> Any:
        own = () if self.random.random() < 0.5 else (heads,)
        reach = self.one_of(0, 1, 3)
        match self.random.randrange(14):
            case 0 | 1 | 2 | 3 | 4:
                return None
            case 5:
                return Rotary(size=self.one_of(feature // 2 * 2, 0), pairs=self.one_of("halves", "neighbours"))
            case 6:
                return RelativeKeys(self.numbers(*own, 2 * reach + 1, feature))
            case 7:
                return RelativeValues(self.numbers(*own, 2 * reach + 1, value))
            case 8:
                return Buckets(self.numbers(*own, 6), 5)
            case 9:
                return Slopes(self.numbers(*own))
            case 10:
                shape = [self.one_of(1, size) for size in (batch, heads, queries, keys)]
                return Bias(self.numbers(*shape))
            case 11:
                return GuidedBias(0.4)
            case 12:
                return AllHooks(self.numbers())
            case _:
                return RelativeKeys(self.numbers(2 * reach + 1, feature)) + Slopes(self.numbers(*own))

    def mask(self, batch: int, queries: int, keys: int, depth: int) -> tuple[Mask, Rule]:
        if depth:
            (left, rule), (right, other) = (self.mask(batch, queries, keys, depth - 1) for _ in range(2))
            match self.random.randrange(5):
                case 0:
                    return ~left, ~rule
                case 1 | 2:
                    return left | right, rule | other
                case _:
                    return left & right, rule & other
        return self.bare_mask(batch, queries, keys)

    def bare_mask(self, batch: int, queries: int, keys: int) -> tuple[Mask, Rule]:
        def below(most: int) -> int:
            return self.random.randint(0, max(most, 0))

        items = self.one_of(1, batch)
        match self.random.randrange(14 + len(OTHERS["mask"])):
            case number if number >= 14:
                size = Size(queries, keys, (queries,) * batch, (keys,) * batch, items=tuple(range(batch)))
                name = OTHERS["mask"][number - 14]
                return as_mask(MASK_EXAMPLES[name](size)), RULES[name](size)
            case 0 | 1:
                return Dense(), oracle.dense()
            case 2 | 3:
                return Causal(), oracle.causal()
            case 4:
                before, after = below(5), below(5)
                return Window(before, after), oracle.window(before, after)
            case 5 | 6:
                query, key = [below(queries) for _ in range(batch)], [below(keys) for _ in range(batch)]
                if self.random.random() < 0.5:
                    both = [below(min(queries, keys)) for _ in range(batch)]
                    return Lengths(both), oracle.lengths(both, both)
                query, key = self.one_of((query, key), (None, key), (query, None))
                return Lengths(query=query, key=key), oracle.lengths(query, key)
            case 7:
                ids = [[below(3) - 1 for _ in range(keys)] for _ in range(items)]
                ids = [sorted(row) for row in ids] if self.random.random() < 0.5 else ids
                query = [[below(3) - 1 for _ in range(queries)] for _ in range(items)]
                query = query if self.random.random() < 0.4 else None
                return (
                    Documents(
                        torch.tensor(ids).view(items, keys).long(),
                        query and torch.tensor(query).view(items, queries).long(),
                    ),
                    oracle.documents(ids, query),
                )
            case 8:
                length = self.one_of(below(keys + 1), [below(keys + 1) for _ in range(batch)])
                return Prefix(length), oracle.prefix(length)
            case 9:
                width = self.one_of(below(3), 0.3)
                if self.random.random() < 0.5:
                    return Guided(width), oracle.guided(width)
                centres = [sorted(self.random.uniform(-1, keys) for _ in range(queries)) for _ in range(items)]
                return Guided(width, torch.tensor(centres).view(items, queries)), oracle.guided(width, centres)
            case 10 | 11:
                graphs = [
                    [(below(keys - 1), below(queries - 1)) for _ in range(below(2 * keys))] if keys and queries else []
                    for _ in range(items)
                ]
                given = [torch.tensor(graph).view(-1, 2).long().T for graph in graphs]
                return Edges(given if items > 1 else given[0]), oracle.edges(graphs)
            case 12:
                size = self.one_of(1, 2, 4)
                table = [
                    [self.random.random() < 0.6 for _ in range(-(-keys // size))] for _ in range(-(-queries // size))
                ]
                shape = -(-queries // size), -(-keys // size)
                return Blocks(torch.tensor(table, dtype=torch.bool).view(shape), size), oracle.blocks(table, size)
            case _:
                if self.random.random() < 0.5:
                    return NoSelf(), oracle.no_self()
                step = self.one_of(2, 3)

                def rule(batch: Any, head: Any, query: Any, key: Any) -> Any:
                    return (batch + 2 * head + query + key) % step != 0

                return as_mask(rule), oracle.own(rule)


def attacked(number: int) -> list[str]:
    """What doesn't hold of one call; nothing if all does."""
    attack = Maker(number).attack()
    problems = []
    for dtype in TOLERANCE:
        three = tuple(t.to(dtype) for t in (attack.query, attack.key, attack.value))
        parts = attack.parts if dtype == F64 else _rounded(attack.parts, torch.float32)
        wanted = _array(oracle.attend(*three, **for_oracle(parts), mask=attack.rule, **attack.rest))
        largest = max([1.0, *(np.abs(a[np.isfinite(a)]).max(initial=0.0) for a in (wanted, _array(three[2])))])
        sane, own = _sane(attack, three, wanted), 0.0
        for engine, run in _engines().items():
            try:
                with torch.no_grad():
                    output = run(*three, **parts, mask=attack.mask, **attack.rest)
            except RefusedError:
                if engine in ("auto", "blocked", "dense"):
                    problems.append(f"{engine} {dtype}: refused")
                continue
            except Exception as error:
                problems.append(f"{engine} {dtype}: {type(error).__name__} {str(error)[:100]}")
                continue
            found = output.double().cpu().numpy()
            gap = np.abs(np.where(sane, found - np.where(sane, wanted, 0), 0.0)).max(initial=0.0)
            # What the definition itself loses in the dtype, where terms cancel or scores are nearly equal, is excused.
            own = gap if engine == "dense" else own
            if not gap <= TOLERANCE[dtype] * min(largest, 1e30) + _excuse(attack) * own * (dtype != F64):
                problems.append(f"{engine} {dtype}: off by {gap:.2g} of {largest:.2g}")
            lost = ~np.isfinite(wanted) & np.isfinite(found) & _holds_nan(attack, three)
            if lost.any():
                problems.append(f"{engine} {dtype}: finite where NaN is seen")
    return problems + _weights(attack) + _log_sums(attack) + _slopes(attack) + _second_order(attack)


def _engines() -> dict[str, Any]:
    """What runs a call, by name: every engine, and tiles so small that a call has many."""
    named = {name: partial(attend, engine=name) for name in ("dense", "auto", *(e for e in ENGINES if e != "dense"))}
    return named | {"small tiles": lambda *three, **more: Cut(3, 40).run(Request.of(*three, **{"seed": 0, **more}))}


def _weights(attack: Attack) -> list[str]:
    """Where `weigh` and `summarise` don't say the oracle's weights, and whether a hidden one is other than 0."""
    three = (attack.query, attack.key, attack.value)
    wanted = _array(oracle.weigh(*three[:2], **for_oracle(attack.parts), mask=attack.rule))
    sane = _sane(attack, (*three[:2], torch.zeros_like(attack.key)), attack.visible)[..., :1] & np.ones_like(
        wanted, bool
    )
    with torch.no_grad():
        seen = summarise(*three[:2], **attack.parts, mask=attack.mask, top=1, pool=3, rows=range(wanted.shape[2]))
        found = {"weigh": weigh(*three[:2], **attack.parts, mask=attack.mask), "summarise": seen.rows}
    problems = []
    for name, weights in found.items():
        weights = weights.cpu().numpy()
        if (weights[~attack.visible] != 0).any():
            problems.append(f"{name}: a hidden weight isn't 0")
        gap = np.abs(np.where(sane, weights, 0.0) - np.where(sane, wanted, 0.0)).max(initial=0.0)
        if not gap <= 1e-10 * max(1.0, np.abs(np.where(sane, wanted, 0.0)).max(initial=0.0)):
            problems.append(f"{name}: off by {gap:.2g}")
    return problems


def _log_sums(attack: Attack) -> list[str]:
    """Where an engine's log-sums aren't the oracle's."""
    weights = attack.parts["weights"]
    if not isinstance(weights, Softmax) and not (isinstance(weights, str) and weights == "softmax"):
        return []
    three = (attack.query, attack.key, attack.value)
    wanted = _array(oracle.log_sums(*three[:2], **for_oracle(attack.parts), mask=attack.rule))
    sane = _sane(attack, (*three[:2], torch.zeros_like(attack.key)), wanted[..., None])[..., 0]
    problems = []
    for engine, run in _engines().items():
        try:
            with torch.no_grad():
                found = run(*three, **attack.parts, mask=attack.mask, **attack.rest, log_sums=True)
        except RefusedError:
            continue
        except Exception as error:
            problems.append(f"log-sums, {engine}: {type(error).__name__} {str(error)[:100]}")
            continue
        # Small tiles give what `attend` splits.
        log_sums = (found[1] if isinstance(found, tuple) else found[..., -1]).cpu().numpy()
        close = np.isclose(log_sums, wanted, rtol=1e-10, atol=1e-10)
        if not close[sane].all():
            problems.append(f"log-sums, {engine}: {log_sums[sane & ~close][0]} is {wanted[sane & ~close][0]}")
        if (np.isnan(wanted) & np.isfinite(log_sums)).any():
            problems.append(f"log-sums, {engine}: finite where NaN is seen")
    return problems


def _excuse(attack: Attack) -> float:
    """How many times as far off as the definition an engine may be: more where a sum of large terms is all rounding."""
    return 2.0 if not attack.query.numel() or float(attack.query.abs().max()) < 100 else 8.0


def _array(number: Tensor) -> np.ndarray:
    return number.detach().cpu().double().numpy()


def _sane(attack: Attack, three: tuple[Tensor, ...], wanted: np.ndarray) -> np.ndarray:
    """The outputs (batch, head, query, value) that every dtype must give: of rows that see usual numbers alone."""
    usual = [np.isfinite(_array(t)).all(-1) & (np.abs(_array(t)) < 1e15).all(-1) for t in three]
    share = attack.query.shape[1] // max(attack.key.shape[1], 1)
    columns = np.repeat(usual[1] & usual[2], share, axis=1)
    bad = (attack.visible & ~columns[:, :, None, :]).any(-1)
    rows = usual[0] | ~attack.visible.any(-1)
    return np.broadcast_to((rows & ~bad)[..., None], wanted.shape)


def _holds_nan(attack: Attack, three: tuple[Tensor, ...]) -> np.ndarray:
    """The rows that see NaN, in a query, a key or a value."""
    share = attack.query.shape[1] // max(attack.key.shape[1], 1)
    nan = [np.isnan(_array(t)).any(-1) for t in three]
    columns = np.repeat(nan[1] | nan[2], share, axis=1)
    seen = (attack.visible & columns[:, :, None, :]).any(-1) | (nan[0] & attack.visible.any(-1))
    return seen[..., None]


def _rounded(parts: dict[str, Any], dtype: torch.dtype) -> dict[str, Any]:
    spec, tensors = flatten_part(tuple(parts.values()))
    return dict(
        zip(
            parts,
            unflatten_part(spec, tuple(t.to(dtype) if t.is_floating_point() else t for t in tensors)),
            strict=True,
        )
    )


def _slopes(attack: Attack) -> list[str]:
    """Where a gradient isn't the slope of the oracle; what comes from above meets only rows that are sane."""
    three = (attack.query, attack.key, attack.value)
    spec, held = flatten_part(tuple(attack.parts.values()))
    wanted = _array(oracle.attend(*three, **for_oracle(attack.parts), mask=attack.rule, **attack.rest))
    sane = _sane(attack, three, wanted)
    smooth = [tensor for tensor in held if tensor.is_floating_point()]
    generator = seeded(1)
    upward = torch.randn(wanted.shape, generator=generator, dtype=F64)
    upward *= torch.as_tensor(sane.copy(), device=upward.device)
    # A row that sees poison has no gradient to speak of, whatever comes from above, nor has what it sees.
    rows = sane.all(-1) if sane.shape[-1] else np.ones(sane.shape[:3], dtype=bool)
    batch, heads, _, keys = attack.visible.shape
    shared = max(attack.key.shape[1], 1)
    columns = ~(attack.visible & ~rows[..., None]).any(2).reshape(batch, shared, heads // shared, keys).any(2)
    steps = [torch.randn(tensor.shape, generator=generator, dtype=F64) for tensor in (*three, *smooth)]
    for which, clear in enumerate((rows, columns, columns)):
        steps[which] *= torch.as_tensor(clear, device=steps[which].device)[..., None]
        # Nor has what is poison and hidden.
        steps[which] = torch.where(three[which].isfinite() & (three[which].abs() < 1e15), steps[which], 0.0)
    if not rows.all():
        steps[3:] = map(torch.zeros_like, steps[3:])

    def oracles(size: float, which: int) -> float:
        moved = [
            t + size * s if i == which else t for i, (t, s) in enumerate(zip((*three, *smooth), steps, strict=True))
        ]
        rest = iter(moved[3:])
        parts = unflatten_part(spec, tuple(next(rest) if t.is_floating_point() else t for t in held))
        found = oracle.attend(
            *moved[:3], **for_oracle(dict(zip(attack.parts, parts, strict=True))), mask=attack.rule, **attack.rest
        )
        return float((np.where(sane, _array(found), 0.0) * upward.cpu().numpy()).sum())

    # What is rounded away of a sum over large outputs is no slope.
    reached = np.where(sane, wanted, 0.0) * upward.cpu().numpy()
    rounding = 4 * np.finfo(float).eps * float(np.abs(reached).sum()) / 1e-6
    slopes = {}
    for which in range(len(steps)):
        one, other = ((oracles(h, which) - oracles(-h, which)) / (2 * h) for h in (1e-6, 2e-6))
        if abs(one - other) <= 1e-6 * max(1.0, abs(one)):  # else there is a kink
            slopes[which] = one
    problems, exact = [], _gradients(attack, F64, _engines()["dense"], upward)
    for engine, run in _engines().items():
        try:
            grads = _gradients(attack, F64, run, upward)
        except RefusedError:
            continue
        except Exception as error:
            problems.append(f"gradient, {engine}: {type(error).__name__} {str(error)[:100]}")
            continue
        for which, slope in slopes.items():
            moves = steps[which] != 0
            claimed = float((grads[which] * steps[which])[moves].sum())
            if not abs(claimed - slope) <= 1e-5 * max(1.0, abs(slope)) + rounding:
                problems.append(f"gradient {which}, {engine}: {claimed:.6g} where the slope is {slope:.6g}")
        for which, reach in ((0, attack.visible.any(3)), (1, None), (2, None)):
            grad = grads[which].cpu().numpy()
            unseen = ~reach if reach is not None else Maker(0).hidden(attack, "key")
            if not (grad[unseen] == 0).all():
                problems.append(f"gradient {which}, {engine}: not 0 for what nobody sees")
    moves = [step != 0 for step in steps]
    return problems + _narrow_gradients(attack, exact, upward, moves)


def _gradients(attack: Attack, dtype: torch.dtype, run: Any, upward: Tensor) -> tuple[Tensor, ...]:
    """The gradients of query, key, value and what parts hold, which is never narrower than float32."""
    spec, held = flatten_part(tuple(attack.parts.values()))
    wide = torch.promote_types(dtype, torch.float32)
    leaves = [t.to(dtype).requires_grad_() for t in (attack.query.clone(), attack.key.clone(), attack.value.clone())]
    operand = [t.clone().to(wide).requires_grad_() if t.is_floating_point() else t for t in held]
    parts = dict(zip(attack.parts, unflatten_part(spec, tuple(operand)), strict=True))
    output = run(*leaves, **parts, mask=attack.mask, **attack.rest)
    wanted = [*leaves, *(t for t in operand if t.requires_grad)]
    return torch.autograd.grad(output, wanted, upward.to(dtype), create_graph=False)


def _narrow_gradients(attack: Attack, exact: tuple[Tensor, ...], upward: Tensor, moves: list[Tensor]) -> list[str]:
    """Where an engine's gradients are further off than twice the definition's own, and more than a few roundings."""
    problems = []
    for dtype, share in ((torch.float32, 1e-4), (torch.bfloat16, 1.6e-2)):
        own = _rounded_attack(attack, dtype)
        exact = _gradients(own, F64, _engines()["dense"], upward.to(dtype).double())
        near = _gradients(own, dtype, _engines()["dense"], upward)
        nudged = [
            _gradients(_nudged(own, seed), F64, _engines()["dense"], upward.to(dtype).double()) for seed in range(4)
        ]
        for engine, run in _engines().items():
            try:
                grads = _gradients(own, dtype, run, upward)
            except RefusedError:
                continue
            for which, (grad, true) in enumerate(zip(grads, exact, strict=True)):
                clear = moves[which] & true.isfinite()
                if not clear.any():
                    continue
                # Parameters stay in float32, and so do their gradients.
                part = 1e-4 if which > 2 else share

                def off(other: Tensor, clear: Tensor = clear, true: Tensor = true) -> float:
                    return float((other.double() - true)[clear].abs().max())

                excused = _excuse(attack) * max(off(near[which]), *(off(other[which]) for other in nudged))
                if engine != "dense" and which < 2 and dtype == torch.bfloat16:
                    excused += _of_the_kernel(own, upward)[which]
                if not off(grad) <= part * max(1.0, float(true[clear].abs().max())) + excused:
                    problems.append(
                        f"gradient {which}, {engine} {dtype}: off by {off(grad):.2g}, {excused:.2g} excused"
                    )
    return problems


def _of_the_kernel(attack: Attack, upward: Tensor) -> tuple[float, float]:
    """What PyTorch's kernel for softmax of an inner product may lose in the gradients of query and key.

    It subtracts from the gradient of a row's weights the product of the row's output and the gradient of it, which
    were rounded; the rest is in proportion to the keys, and for a key to the queries.
    """
    score, weights = attack.parts["score"], attack.parts["weights"]
    scale = {"dot": 1.0, "scaled_dot": attack.query.shape[-1] ** -0.5}.get(score) if isinstance(score, str) else None
    scale = score.scale if isinstance(score, Dot) else scale
    temperature = {"softmax": 1.0}.get(weights) if isinstance(weights, str) else getattr(weights, "temperature", None)
    if scale is None or not isinstance(temperature, float) or attack.parts["position"] is not None:
        return 0.0, 0.0
    output = attend(attack.query, attack.key, attack.value, **attack.parts, mask=attack.mask, **attack.rest)
    row = 2**-8 * (output * upward).nan_to_num().abs().sum(-1, keepdim=True) * abs(scale / temperature)
    if not row.numel() or not attack.key.numel():
        return 0.0, 0.0
    query, key = attack.query.nan_to_num().abs(), attack.key.nan_to_num().abs()
    return float(row.max() * key.max()), float((row * query).sum(2).max())


def _rounded_attack(attack: Attack, dtype: torch.dtype) -> Attack:
    """The same numbers as far as the dtype holds them; of the parts, as far as float32 does."""
    three = {name: getattr(attack, name).to(dtype).double() for name in ("query", "key", "value")}
    parts = _rounded(_rounded(attack.parts, torch.float32), F64)
    return dataclasses.replace(attack, parts=parts, **three)


def _nudged(attack: Attack, seed: int) -> Attack:
    """The same, each number moved by a few roundings of float32."""
    generator = seeded(seed)
    # Additive scores add the two vectors, so that a key is rounded as its query is.
    usual = attack.query[attack.query.isfinite() & (attack.query.abs() < 1e15)]
    beside = float(usual.abs().max()) if isinstance(attack.parts["score"], Additive) and usual.numel() else 0.0

    def move(t: Tensor) -> Tensor:
        return t * (1 + 5e-7 * torch.randn(t.shape, generator=generator, dtype=F64)) if t.is_floating_point() else t

    spec, held = flatten_part(tuple(attack.parts.values()))
    parts = dict(zip(attack.parts, unflatten_part(spec, tuple(map(move, held))), strict=True))
    return dataclasses.replace(
        attack,
        parts=parts,
        query=move(attack.query),
        key=move(attack.key) + 1e-7 * beside * torch.randn(attack.key.shape, generator=generator, dtype=F64),
        value=move(attack.value),
    )


def _second_order(attack: Attack) -> list[str]:
    """Where the gradient of a gradient isn't the definition's."""
    three = (attack.query, attack.key, attack.value)
    sane = torch.as_tensor(_sane(attack, three, np.zeros((*attack.visible.shape[:3], three[2].shape[3]))).copy())
    usual = attack.query[attack.query.isfinite() & (attack.query.abs() < 1e15)]
    if not sane.all() or attack.visible.size > 800 or (usual.numel() and usual.abs().max() > 100):
        return []
    found = {}
    for engine in ("dense", "auto", "blocked"):
        spec, held = flatten_part(tuple(attack.parts.values()))
        three = [t.clone().requires_grad_() for t in (attack.query, attack.key, attack.value)]
        operand = [t.clone().requires_grad_() if t.is_floating_point() else t for t in held]
        parts = dict(zip(attack.parts, unflatten_part(spec, tuple(operand)), strict=True))
        leaves = [*three, *(t for t in operand if t.requires_grad)]
        output = attend(*three, **parts, mask=attack.mask, **attack.rest, engine=engine)
        first = torch.autograd.grad(output.square().sum(), leaves, create_graph=True)
        total = sum((g * torch.linspace(-1, 1, g.numel(), dtype=F64).view_as(g)).sum() for g in first)
        found[engine] = torch.autograd.grad(total, leaves, materialize_grads=True)
    # All of them are sums of the same terms, of which most cancel in some.
    most = float(torch.cat([torch.zeros(1, dtype=F64), *(t.flatten() for t in found["dense"])]).abs().max())
    problems = [] if math.isfinite(most) else ["second order, dense: not finite"]
    for engine, second in found.items():
        for which, (one, other) in enumerate(zip(second, found["dense"], strict=True)):
            gap = float((one - other).abs().max()) if one.numel() else 0.0
            if not gap <= 1e-9 * max(1.0, most):
                problems.append(f"second order {which}, {engine}: off by {gap:.2g} of {most:.2g}")
    return problems


def assault(numbers: Iterable[int]) -> tuple[int, list[str]]:
    """How many calls were made, and what didn't hold of them."""
    found, done = [], 0
    for number in numbers:
        done += 1
        problems = attacked(number)
        if problems:
            found.append(f"{number}: {Maker(number).attack()}\n    " + "\n    ".join(problems))
    return done, found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--cases", type=int, default=1000)
    arguments.add_argument("--start", type=int, default=0)
    arguments.add_argument("--device", default="cpu", help="where tensors are: cpu, cuda")
    given = arguments.parse_args()
    if given.device != "cpu":
        torch.set_default_device(given.device)
    warnings.simplefilter("error")
    wrong = 0
    for number in range(given.start, given.start + given.cases):
        for line in assault([number])[1]:
            wrong += 1
            print(line, flush=True)
    print(f"{given.cases} calls, of which {wrong} don't hold")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
