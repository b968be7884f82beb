"""What the contract is tested over: an example of every part in the dicts, and of those that people combine.

An example is a function that makes the part anew, so that its tensors are leaves of their own. Tables are written by
the places they are for, not by the shape of a batch: an item taken out of its batch has the part that it had there.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from regard.attention import (
    SCORES,
    WEIGHTS,
    Additive,
    Alibi,
    Bias,
    Bilinear,
    Blocks,
    Bucketed,
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
    Position,
    Prefix,
    Relative,
    Relu,
    Rotary,
    Sigmoid,
    Softmax,
    TopK,
    Window,
)
from regard.attention.masks import as_mask
from regard.attention.parts import flatten_part, operands, unflatten_part
from regard.attention.positions import Slopes
from regard.jury import oracle
from regard.jury.oracle import Rule
from regard.modules.efficient import BigBird, Longformer, Strided

HEADS, FEATURE, VALUE, BATCH = 4, 5, 7, 3
MOST = 17  # as many queries or keys as the largest size has


@dataclass(frozen=True)
class Size:
    """Queries and keys, how many of them each item really has, and how many heads share a key."""

    queries: int
    keys: int
    query_lengths: tuple[int, ...]
    key_lengths: tuple[int, ...]
    key_heads: int = HEADS
    items: tuple[int, ...] = (0, 1, 2)
    value: int = VALUE

    @property
    def lengths(self) -> Lengths:
        return Lengths(query=list(self.query_lengths), key=list(self.key_lengths))

    @classmethod
    def of(cls, length: int) -> "Size":
        """One item of so many queries and keys."""
        return cls(length, length, (length,), (length,), items=(1,))

    def alone(self, item: int) -> "Size":
        """One item, without its padding."""
        queries, keys = self.query_lengths[item], self.key_lengths[item]
        return Size(queries, keys, (queries,), (keys,), self.key_heads, (item,), self.value)


SELF = Size(13, 13, (13, 7, 2), (13, 7, 2))
CROSS = Size(11, 17, (5, 11, 8), (17, 0, 9))
LONGER = Size(17, 11, (17, 5, 11), (6, 7, 11))
GROUPED = Size(13, 17, (13, 4, 9), (11, 17, 1), key_heads=2)
SIZES = {"self": SELF, "cross": CROSS, "longer": LONGER, "grouped": GROUPED}
# Tiny, where every derivative is taken numerically; and long enough for tiles of more than one size.
TINY = Size(3, 4, (3,), (4,), key_heads=HEADS // 2, items=(1,))
LONG = Size(191, 211, (191,), (207,), key_heads=HEADS // 2, items=(1,))
# For kernels that want features and values of one size, and as many queries as keys.
EVEN = dataclasses.replace(SELF, key_heads=HEADS // 2, value=FEATURE)
EVEN_TINY = Size(5, 5, (4,), (4,), key_heads=HEADS // 2, items=(1,), value=FEATURE)
EVEN_LONG = Size(191, 191, (191,), (187,), items=(1,), value=FEATURE)
# One tile of 16 x 16, and more of them: items of other lengths than the whole, and one that may see nothing.
TILES_OF_16 = {
    "few queries": Size(7, 16, (6,), (13,), items=(1,)),
    "few keys": Size(16, 5, (16,), (5,), key_heads=HEADS // 2, items=(2,)),
    "two items": Size(7, 17, (7, 4), (17, 0), items=(0, 1)),
    "two tiles": Size(18, 35, (16,), (33,), key_heads=HEADS // 2, items=(1,)),
    "two tiles, longer": Size(33, 17, (33,), (16,), items=(2,)),
}
ALL_SIZES = {
    **SIZES,
    **TILES_OF_16,
    "tiny": TINY,
    "long": LONG,
    "even": EVEN,
    "even, tiny": EVEN_TINY,
    "even, long": EVEN_LONG,
}


def seeded(seed: int) -> torch.Generator:
    """Where random numbers come from, on the device that the tests run on."""
    return torch.Generator(torch.get_default_device()).manual_seed(seed)


def numbers(*shape: int, seed: int, dtype: torch.dtype = torch.float64, grad: bool = True) -> Tensor:
    """Normal numbers that are the same in float32 and float64, so that one definition serves both."""
    generator = seeded(seed)
    return torch.randn(shape, generator=generator).to(dtype).requires_grad_(grad)


def tensors(size: Size, dtype: torch.dtype = torch.float64, seed: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value that want gradients."""
    whole = (
        (HEADS, size.queries, FEATURE, seed),
        (size.key_heads, size.keys, FEATURE, seed + 1),
        (size.key_heads, size.keys, size.value, seed + 2),
    )
    query, key, value = (
        numbers(BATCH, heads, max(MOST, length), width, seed=which, dtype=dtype, grad=False)[
            list(size.items), :, :length
        ]
        .clone()
        .requires_grad_()
        for heads, length, width, which in whole
    )
    return query, key, value


# Scores: name -> (dtype) -> score.


def distance(query: Tensor, key: Tensor) -> Tensor:
    """A score of a user's own: minus the squared distance."""
    return -0.3 * (query.unsqueeze(-2) - key.unsqueeze(-3)).square().sum(-1)


@dataclass(frozen=True)
class Gaussian:
    """A score of a user's own with an operand: minus the squared distance over a width that is trained."""

    width: Tensor

    def __call__(self, query, key):
        squares = query.square().sum(-1, keepdim=True) + key.square().sum(-1).unsqueeze(-2)
        return (2 * query @ key.mT - squares) / (1 + self.width.square())


SCORE_EXAMPLES: dict[str, Callable[[torch.dtype], Any]] = {
    "dot": lambda dtype: "dot",
    "scaled_dot": lambda dtype: "scaled_dot",
    "dot, scaled": lambda dtype: Dot(-0.3),
    "additive": lambda dtype: Additive(numbers(FEATURE, seed=11, dtype=dtype), numbers(FEATURE, seed=12, dtype=dtype)),
    "additive by head": lambda dtype: Additive(
        numbers(HEADS, FEATURE, seed=13, dtype=dtype), numbers(HEADS, FEATURE, seed=14, dtype=dtype)
    ),
    "additive, leaky_relu": lambda dtype: Additive(
        numbers(HEADS, FEATURE, seed=15, dtype=dtype), numbers(FEATURE, seed=16, dtype=dtype), "leaky_relu"
    ),
    "additive, no bias": lambda dtype: Additive(numbers(FEATURE, seed=17, dtype=dtype), None, "leaky_relu", 0.1),
    "bilinear": lambda dtype: Bilinear(numbers(FEATURE, FEATURE, seed=18, dtype=dtype)),
    "bilinear by head": lambda dtype: Bilinear(numbers(HEADS, FEATURE, FEATURE, seed=19, dtype=dtype)),
    "cosine": lambda dtype: Cosine(3.0),
    "cosine by head": lambda dtype: Cosine(numbers(HEADS, seed=20, dtype=dtype)),
    "own function": lambda dtype: distance,
    "own part": lambda dtype: Gaussian(numbers(seed=21, dtype=dtype)),
}


# Weights: name -> (dtype) -> normaliser.


def squared(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """A normaliser of a user's own; not one whose rows sum to 1."""
    return torch.where(scores == -torch.inf, 0.0, scores).square() / 5


@dataclass(frozen=True)
class Sink:
    """A normaliser of a user's own with an operand: softmax in which a part of the attention may go nowhere."""

    score: Tensor

    def __call__(self, scores, allowed):
        top = scores.detach().amax(-1, keepdim=True).clamp(min=0.0)
        powers = (scores - top).exp()
        return powers / (powers.sum(-1, keepdim=True) + (self.score - top).exp())


WEIGHTS_EXAMPLES: dict[str, Callable[[torch.dtype], Any]] = {
    "softmax": lambda dtype: "softmax",
    "softmax, cooler": lambda dtype: Softmax(0.7),
    "softmax by head": lambda dtype: Softmax(
        numbers(HEADS, seed=31, dtype=dtype).detach().abs().add(0.5).requires_grad_()
    ),
    "relu": lambda dtype: "relu",
    "relu, one divisor": lambda dtype: Relu(5.0),
    "sigmoid": lambda dtype: "sigmoid",
    "sigmoid by head": lambda dtype: Sigmoid(numbers(HEADS, seed=32, dtype=dtype)),
    "sigmoid, one bias": lambda dtype: Sigmoid(numbers(seed=33, dtype=dtype)),
    "sparsemax": lambda dtype: "sparsemax",
    "entmax": lambda dtype: "entmax",
    "entmax 1.3": lambda dtype: Entmax(1.3),
    "entmax by head": lambda dtype: Entmax(
        numbers(HEADS, seed=35, dtype=dtype).detach().sigmoid().add(1.01).requires_grad_()
    ),
    "budget": lambda dtype: Budget(2.5),
    "top_k": lambda dtype: TopK(3),
    "hard": lambda dtype: "hard",
    "own function": lambda dtype: squared,
    "own part": lambda dtype: Sink(numbers(seed=34, dtype=dtype)),
}


# What parts compute that jury/oracle.py doesn't know, of one query and the keys that it sees, by function or class.


def _sink(part: Sink, scores: Tensor, head: int) -> Tensor:
    sink = part.score.double().cpu()
    top = max(float(scores.detach().max()), float(sink.detach()))
    powers = (scores - top).exp()
    return powers / (powers.sum() + (sink - top).exp())


REFERENCES: dict[Any, Callable[..., Tensor]] = {
    distance: lambda part, query, keys, head: -0.3 * (query - keys).square().sum(-1),
    Gaussian: lambda part, query, keys, head: -(query - keys).square().sum(-1) / (1 + part.width.double().cpu() ** 2),
    squared: lambda part, scores, head: scores.square() / 5,
    Sink: _sink,
}


def for_oracle(parts: dict[str, Any]) -> dict[str, Any]:
    """The parts as `jury/oracle.py` takes them."""
    found = dict(parts)
    for kind, known in (("score", SCORES), ("weights", WEIGHTS)):
        part = parts.get(kind)
        named = known.get(part) if isinstance(part, str) else None
        key = named or (part if part in REFERENCES else type(part))
        if key in REFERENCES:
            found[kind] = oracle.Own(partial(REFERENCES[key], named() if named else part))
    return found


# Masks: name -> (size) -> mask, and (size) -> the rule by which jury/oracle.py asks about pairs.


def shifted(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
    """A mask of a user's own: it depends on all four indices."""
    return (key + 2 * query + batch + head) % 3 != 0


@dataclass(frozen=True)
class Every(Mask):
    """A mask of a user's own with an operand: of the keys, every second, third, ... of each item's."""

    step: Tensor

    def allows(self, at):
        return (at.key + at.query) % self.step[at.batch] == 0


def _ids(size: Size, rule: Callable[[Tensor, int], Tensor]) -> Tensor:
    place = torch.arange(size.keys)
    return torch.stack([rule(place, item) for item in size.items])


def _graph(size: Size, item: int = 0) -> Tensor:
    """Edges here and there, none to the queries 3 and 4."""
    key, query = torch.meshgrid(torch.arange(size.keys), torch.arange(size.queries), indexing="ij")
    there = ((3 * key + 5 * query + item) % 4 == 0) & (query != 3) & (query != 4)
    return torch.stack([key[there], query[there]])


def _blocks(size: Size, block: int = 4) -> Blocks:
    query, key = torch.meshgrid(
        torch.arange(-(-size.queries // block)), torch.arange(-(-size.keys // block)), indexing="ij"
    )
    return Blocks((2 * query + key) % 3 != 1, block)


def _packed(size: Size) -> Documents:
    """Documents in one piece each, others in each item, and padding at the end."""
    return Documents(_ids(size, lambda place, item: torch.where(place > 14, -1, (place + item) // 5)))


def _graph_list(size: Size, item: int = 0) -> list[tuple[int, int]]:
    """`_graph` as the oracle takes it."""
    return [
        (key, query)
        for key, query in itertools.product(range(size.keys), range(size.queries))
        if (3 * key + 5 * query + item) % 4 == 0 and query not in (3, 4)
    ]


def _blocks_rule(size: Size) -> Rule:
    rows, columns = range(-(-size.queries // 4)), range(-(-size.keys // 4))
    return oracle.blocks([[(2 * query + key) % 3 != 1 for key in columns] for query in rows], 4)


def _lengths_rule(size: Size) -> Rule:
    return oracle.lengths(list(size.query_lengths), list(size.key_lengths))


def _packed_rule(size: Size) -> Rule:
    return oracle.documents(
        [[-1 if place > 14 else (place + item) // 5 for place in range(size.keys)] for item in size.items]
    )


def _shifted_rule(size: Size) -> Rule:
    return oracle.own(lambda batch, head, query, key: (key + 2 * query + batch + head) % 3 != 0)


_MASKS: dict[str, tuple[Callable[[Size], Any], Callable[[Size], Rule]]] = {
    "dense": (lambda size: Dense(), lambda size: oracle.dense()),
    "causal": (lambda size: "causal", lambda size: oracle.causal()),
    "window": (lambda size: Window(2, 1), lambda size: oracle.window(2, 1)),
    "lengths": (lambda size: size.lengths, _lengths_rule),
    "no_self": (lambda size: "no_self", lambda size: oracle.no_self()),
    "documents": (_packed, _packed_rule),
    "documents in pieces": (
        lambda size: Documents(_ids(size, lambda place, item: (place * place + item) % 3 - 1)),
        lambda size: oracle.documents(
            [[(place * place + item) % 3 - 1 for place in range(size.keys)] for item in size.items]
        ),
    ),
    "documents of queries": (
        lambda size: Documents(torch.arange(size.keys) // 4, query=(torch.arange(size.queries) * 2) % 5 - 1),
        lambda size: oracle.documents(
            [[place // 4 for place in range(size.keys)]], [[place * 2 % 5 - 1 for place in range(size.queries)]]
        ),
    ),
    "prefix": (lambda size: Prefix(3), lambda size: oracle.prefix(3)),
    "prefix by item": (
        lambda size: Prefix([[0, 4, 30][item] for item in size.items]),
        lambda size: oracle.prefix([[0, 4, 30][item] for item in size.items]),
    ),
    "guided": (lambda size: Guided(2), lambda size: oracle.guided(2)),
    "edges": (lambda size: Edges(_graph(size)), lambda size: oracle.edges([_graph_list(size)])),
    "edges by item": (
        lambda size: Edges([_graph(size, item) for item in size.items]),
        lambda size: oracle.edges([_graph_list(size, item) for item in size.items]),
    ),
    "blocks": (_blocks, _blocks_rule),
    "own function": (lambda size: shifted, _shifted_rule),
    "own part": (
        lambda size: Every(torch.tensor([2, 3, 1])[list(size.items)]),
        lambda size: oracle.own(
            lambda batch, head, query, key: (key + query) % [[2, 3, 1][item] for item in size.items][batch] == 0
        ),
    ),
    "causal & lengths": (lambda size: Causal() & size.lengths, lambda size: oracle.causal() & _lengths_rule(size)),
    "window & causal": (lambda size: Window(40, 20) & Causal(), lambda size: oracle.window(40, 20) & oracle.causal()),
    "window & causal & lengths": (
        lambda size: Window(3, 3) & Causal() & size.lengths,
        lambda size: oracle.window(3, 3) & oracle.causal() & _lengths_rule(size),
    ),
    "guided & lengths": (
        lambda size: Guided(0.3) & size.lengths,
        lambda size: oracle.guided(0.3) & _lengths_rule(size),
    ),
    "edges & lengths": (
        lambda size: Edges(_graph(size)) & size.lengths,
        lambda size: oracle.edges([_graph_list(size)]) & _lengths_rule(size),
    ),
    "blocks & causal": (lambda size: _blocks(size) & "causal", lambda size: _blocks_rule(size) & oracle.causal()),
    "prefix | causal": (lambda size: Prefix(4) | Causal(), lambda size: oracle.prefix(4) | oracle.causal()),
    "prefix | window": (lambda size: Prefix(2) | Window(1, 1), lambda size: oracle.prefix(2) | oracle.window(1, 1)),
    "window | own function": (
        lambda size: Window(1, 0) | shifted,
        lambda size: oracle.window(1, 0) | _shifted_rule(size),
    ),
    "edges | window": (
        lambda size: Edges(_graph(size)) | Window(1, 0),
        lambda size: oracle.edges([_graph_list(size)]) | oracle.window(1, 0),
    ),
    "~causal": (lambda size: ~Causal(), lambda size: ~oracle.causal()),
    "~documents & no_self": (
        lambda size: ~_packed(size) & "no_self",
        lambda size: ~_packed_rule(size) & oracle.no_self(),
    ),
    "~edges & lengths": (
        lambda size: ~Edges(_graph(size)) & size.lengths,
        lambda size: ~oracle.edges([_graph_list(size)]) & _lengths_rule(size),
    ),
    "~(window | blocks)": (
        lambda size: ~(Window(1, 1) | _blocks(size)),
        lambda size: ~(oracle.window(1, 1) | _blocks_rule(size)),
    ),
    "~(window | lengths)": (
        lambda size: ~(Window(1, 1) | size.lengths),
        lambda size: ~(oracle.window(1, 1) | _lengths_rule(size)),
    ),
    "strided": (lambda size: Strided(3), lambda size: oracle.strided(3)),
    "strided & causal": (lambda size: Strided(4) & "causal", lambda size: oracle.strided(4) & oracle.causal()),
    "longformer": (lambda size: Longformer(2, global_tokens=3), lambda size: oracle.longformer(2, [0, 1, 2])),
    "longformer here and there & lengths": (
        lambda size: Longformer(1, global_tokens=[2, 5]) & size.lengths,
        lambda size: oracle.longformer(1, [5, 2]) & _lengths_rule(size),
    ),
    "bigbird": (
        lambda size: BigBird(2, window_blocks=1, global_blocks=1, random_blocks=2, seed=5),
        lambda size: oracle.bigbird(2, reach=0, everywhere=1, random=2, seed=5),
    ),
    "bigbird & lengths": (
        lambda size: BigBird(2, 3, global_blocks=0, random_blocks=1, seed=6) & size.lengths,
        lambda size: oracle.bigbird(2, reach=1, everywhere=0, random=1, seed=6) & _lengths_rule(size),
    ),
    "nothing": (lambda size: ~Dense(), lambda size: ~oracle.dense()),
}
MASK_EXAMPLES = {name: make for name, (make, _) in _MASKS.items()}
RULES = {name: rule for name, (_, rule) in _MASKS.items()}


# Positions: name -> (size, dtype) -> position.


@dataclass(frozen=True)
class AllHooks(Position):
    """A position scheme of a user's own that uses every hook, with an operand."""

    strength: Tensor

    def heads(self, query, key, query_position, key_position):
        return query * (1 + 0.1 * query_position.unsqueeze(-1).to(query.dtype)), key * self.strength

    def scores(self, scores, query, key, at):
        return scores - self.strength * at.offset.abs().to(scores.dtype)

    def outputs(self, output, weights, at):
        return output + self.strength * (weights * at.offset.to(weights.dtype)).sum(-1, keepdim=True)


def _seeded(make: Callable[[], Any], dtype: torch.dtype) -> Any:
    """A module whose parameters are numbers of about 1, the same in every dtype."""
    with torch.random.fork_rng():
        torch.manual_seed(41)
        module = make()
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.copy_(torch.randn(parameter.shape))
    return module.to(dtype)


def bias_table(size: Size, dtype: torch.dtype) -> Tensor:
    most = max(MOST, size.queries, size.keys)
    whole = numbers(BATCH, HEADS, most, most, seed=42, dtype=dtype, grad=False)
    return whole[list(size.items), :, : size.queries, : size.keys].clone().requires_grad_()


POSITION_EXAMPLES: dict[str, Callable[[Size, torch.dtype], Any]] = {
    "none": lambda size, dtype: None,
    "relative": lambda size, dtype: _seeded(lambda: Relative(FEATURE, 2), dtype),
    "relative by head": lambda size, dtype: _seeded(lambda: Relative(FEATURE, 1, HEADS), dtype),
    "relative values": lambda size, dtype: _seeded(lambda: Relative(FEATURE, 2, on="values", value_size=VALUE), dtype),
    "relative both": lambda size, dtype: _seeded(
        lambda: Relative(FEATURE, 2, HEADS, on="both", value_size=VALUE), dtype
    ),
    "rotary": lambda size, dtype: Rotary(size=4),
    "bucketed": lambda size, dtype: _seeded(lambda: Bucketed(HEADS, 6, 5), dtype),
    "alibi": lambda size, dtype: Alibi(HEADS).to(dtype),
    "slopes": lambda size, dtype: Slopes(numbers(HEADS, seed=43, dtype=dtype)),
    "bias": lambda size, dtype: Bias(bias_table(size, dtype)),
    "guided": lambda size, dtype: GuidedBias(0.3),
    "rotary + bucketed": lambda size, dtype: Rotary(size=4) + _seeded(lambda: Bucketed(HEADS, 6, 5), dtype),
    "own": lambda size, dtype: AllHooks(numbers(seed=44, dtype=dtype)),
    "own + relative both": lambda size, dtype: (
        AllHooks(numbers(seed=44, dtype=dtype))
        + _seeded(lambda: Relative(FEATURE, 2, on="both", value_size=VALUE), dtype)
    ),
}


def is_own_function(mask: str) -> bool:
    """Whether a mask reads the item's number: it changes when the item stands alone."""
    return "own function" in mask


@dataclass(frozen=True)
class Case:
    """One combination, by names. `make` gives the arguments of `attend`, anew."""

    score: str = "scaled_dot"
    weights: str = "softmax"
    mask: str = "dense"
    position: str = "none"
    size: str = "self"
    dropout: float = 0.0

    def make(self, dtype: torch.dtype = torch.float64, size: Size | None = None) -> "Arguments":
        size = ALL_SIZES[self.size] if size is None else size
        return Arguments(
            *tensors(size, dtype),
            {
                "score": SCORE_EXAMPLES[self.score](dtype),
                "weights": WEIGHTS_EXAMPLES[self.weights](dtype),
                "mask": as_mask(MASK_EXAMPLES[self.mask](size)),
                "position": POSITION_EXAMPLES[self.position](size, dtype),
            },
            {"dropout": self.dropout, "seed": 7},
        )

    def __str__(self) -> str:
        names = [self.score, self.weights, self.mask, self.position, self.size]
        return " / ".join(names) + (f" / dropout {self.dropout}" if self.dropout else "")


@dataclass
class Arguments:
    """The arguments of one call."""

    query: Tensor
    key: Tensor
    value: Tensor
    parts: dict[str, Any]
    rest: dict[str, Any]

    def __call__(self, function: Callable[..., Any], **more: Any) -> Any:
        return function(self.query, self.key, self.value, **{**self.parts, **self.rest, **more})

    def rounded(self, dtype: torch.dtype) -> "Arguments":
        """The same numbers as far as that dtype holds them."""

        def through(tensor: Tensor) -> Tensor:
            return tensor.detach().to(dtype).to(tensor.dtype) if tensor.is_floating_point() else tensor

        spec, tensors = flatten_part(tuple(self.parts.values()))
        parts = dict(zip(self.parts, unflatten_part(spec, tuple(map(through, tensors))), strict=True))
        return Arguments(through(self.query), through(self.key), through(self.value), parts, self.rest)

    @property
    def named(self) -> dict[str, Tensor]:
        """The tensors that get gradients, by what they are."""
        found = {"query": self.query, "key": self.key, "value": self.value}
        for name in ("score", "weights", "position"):
            for i, tensor in enumerate(operands(self.parts[name]) if self.parts[name] is not None else ()):
                if tensor.requires_grad:
                    found[f"{name} operand {i}"] = tensor
        return found


FACTORS = SCORE_EXAMPLES, WEIGHTS_EXAMPLES, MASK_EXAMPLES, POSITION_EXAMPLES, SIZES, (0.0, 0.3)
"""What a case is made of, in the order of its fields."""


def covering(*factors: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Rows of one value of each factor, such that any two values of any two factors stand in some row together.

    Greedy, and the same at every call: a row begins with a pair not yet seen, and goes on with those values that make
    the most new pairs, of equals the one used least.
    """
    columns = [list(factor) for factor in factors]
    places = range(len(columns))
    pairs = {
        ((a, i), (b, j))
        for a, b in itertools.combinations(places, 2)
        for i in range(len(columns[a]))
        for j in range(len(columns[b]))
    }
    used = [[0] * len(column) for column in columns]
    rows = []
    for first in sorted(pairs):
        if first not in pairs:
            continue
        row = dict(first)
        for column in sorted(set(places) - set(row), key=lambda c: -len(columns[c])):
            new = [
                sum(tuple(sorted((other, (column, value)))) in pairs for other in row.items())
                for value in range(len(columns[column]))
            ]
            row[column] = max(range(len(new)), key=lambda v: (new[v], -used[column][v], -v))
        pairs -= set(itertools.combinations(sorted(row.items()), 2))
        for column, value in row.items():
            used[column][value] += 1
        rows.append(tuple(columns[place][row[place]] for place in places))
    return rows


def pairwise() -> list[Case]:
    """The product in which every two parts meet, in some size, with and without dropout."""
    return [Case(*row) for row in covering(*FACTORS)]


def pairwise_with(values: Iterable[Any]) -> list[tuple[Case, Any]]:
    """The same with one of these values each, so that every part meets every value."""
    return [(Case(*row[:-1]), row[-1]) for row in covering(*FACTORS, values)]


def rotation(count: int = 42, sizes: Iterable[str] = SIZES, dropout: Iterable[float] = (0.0,)) -> list[Case]:
    """A few of the product: all parts of each kind take turns, at their own pace, so that each stands in some."""
    # By steps without common factors with the numbers of parts all are met, in ever new company.
    orders = (SCORE_EXAMPLES, 1), (WEIGHTS_EXAMPLES, 3), (MASK_EXAMPLES, 1), (POSITION_EXAMPLES, 5), (sizes, 1)
    columns = [_turns(names, step, count) for names, step in (*orders, (dropout, 1))]
    return [Case(*row) for row in zip(*columns, strict=True)]


def _turns(names: Iterable[Any], step: int, count: int) -> list[Any]:
    names = list(names)
    while math.gcd(step, len(names)) > 1:
        step += 1
    turns = [names[step * i % len(names)] for i in range(count)]
    assert set(turns) == set(names), "not all of them have their turn"
    return turns


def each_part(**fixed: Any) -> list[Case]:
    """Every score, normaliser and position once, beside the usual ones."""
    kinds = ("score", SCORE_EXAMPLES), ("weights", WEIGHTS_EXAMPLES), ("position", POSITION_EXAMPLES)
    return [Case(**{**fixed, kind: name}) for kind, names in kinds for name in names]


def kernels(*sizes: str, step: int = 1) -> list[Case]:
    """All that PyTorch's kernels can do: softmax of an inner product, under no mask, a causal one, a window or padding.

    Of the whole product it is so little that a sample would hardly meet it. `step` leaves some of it out.
    """
    scores = [name for name in SCORE_EXAMPLES if name.startswith(("dot", "scaled_dot", "bilinear", "cosine"))]
    masks = "dense", "causal", "lengths", "window", "causal & lengths", "window & causal"
    rows = itertools.product(scores, ("softmax", "softmax, cooler"), masks, ("none", "rotary"))
    return [Case(*row, size) for row, size in zip(rows, itertools.cycle(sizes), strict=False)][::step]


def any_three() -> list[Case]:
    """The product in which any three of a score, weights, a mask and a position meet; sizes and dropout take turns.

    Weights, mask and position choose the score, by the sum of their places: as there are no more scores than of any
    other kind, those that leave one of the three open meet every score, too.
    """
    scores = list(SCORE_EXAMPLES)
    places = itertools.product(*map(enumerate, (WEIGHTS_EXAMPLES, MASK_EXAMPLES, POSITION_EXAMPLES)))
    turns = itertools.cycle(itertools.product(SIZES, (0.0, 0.3)))
    return [
        Case(scores[sum(place for place, _ in row) % len(scores)], *(name for _, name in row), *turn)
        for row, turn in zip(places, turns, strict=False)
    ]


def whole_product(score: str, weights: str) -> list[Case]:
    """Everything with this score and these weights; sizes and dropout take turns."""
    first = list(SCORE_EXAMPLES).index(score) + list(WEIGHTS_EXAMPLES).index(weights)
    turns = itertools.islice(itertools.cycle(itertools.product(SIZES, (0.0, 0.3))), first, None)
    rest = itertools.product(MASK_EXAMPLES, POSITION_EXAMPLES)
    return [Case(score, weights, *row, *turn) for row, turn in zip(rest, turns, strict=False)]
