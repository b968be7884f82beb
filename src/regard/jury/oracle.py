"""Attention by a loop over rows, in float64, from the papers' formulas: what every attention function is held to.

It imports nothing of the package. Of a part it reads the fields, as numbers; a mask it has from `Rule`s of its own. A
pair that is hidden is never computed with: a row's scores are those of the keys that it sees, and no others.

Its operations are PyTorch's, so its gradients are those of automatic differentiation, of any order and in both modes;
those of normalisers that search for a threshold are left out.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

__all__ = [
    "Bias",
    "Dot",
    "Own",
    "Pair",
    "Row",
    "Rule",
    "attend",
    "bigbird",
    "blocks",
    "causal",
    "dense",
    "documents",
    "edges",
    "guided",
    "lengths",
    "log_sums",
    "longformer",
    "no_self",
    "own",
    "prefix",
    "strided",
    "table",
    "weigh",
    "window",
]

# On the CPU whatever the default device is.
_FLOAT: Any = {"dtype": torch.float64, "device": "cpu"}


@dataclass(frozen=True)
class Dot:
    """The score: inner products times a number."""

    scale: float


@dataclass(frozen=True)
class Bias:
    """What is added to the scores: a table that broadcasts to (batch, head, query, key)."""

    table: Tensor


@dataclass(frozen=True)
class Own:
    """A score or a normaliser that isn't known here, as a function of one query and the keys that it sees.

    Args:
        function: of a score `(query, keys, head) -> scores`, (feature) and (key, feature) to (key); of a normaliser
            `(scores, head) -> weights`, both (key). In float64.
    """

    function: Callable[..., Tensor]


@dataclass(frozen=True)
class Pair:
    """One query and one key, by their numbers, and how many queries and keys the item has."""

    batch: int
    head: int
    query: int
    key: int
    queries: int
    keys: int

    @property
    def place(self) -> int:
        """Where the query stands among the keys: the last beside the last."""
        return self.query + self.keys - self.queries


@dataclass(frozen=True)
class Row:
    """One query and the keys that it sees, by their numbers, and how many queries and keys the item has."""

    batch: int
    head: int
    query: int
    seen: list[int]
    queries: int
    keys: int

    @property
    def place(self) -> int:
        """Where the query stands among the keys: the last beside the last."""
        return self.query + self.keys - self.queries

    @property
    def offsets(self) -> Tensor:
        """How far each key is after the query."""
        return torch.tensor(self.seen, device="cpu") - self.place


Sizes = tuple[int | None, int | None]  # of one item; None: as many as there are rows, or keys


class Rule:
    """Which pairs may attend, and the items' lengths if the rule states them."""

    def __init__(self, allows: Callable[[Pair], bool], sizes: Sequence[Sizes] | None = None):
        self.allows, self.sizes = allows, sizes

    def __and__(self, other: "Rule") -> "Rule":
        if self.sizes is None or other.sizes is None:
            sizes = other.sizes if self.sizes is None else self.sizes
        else:
            sizes = [(_least(a, c), _least(b, d)) for (a, b), (c, d) in zip(self.sizes, other.sizes, strict=True)]
        return Rule(lambda pair: self.allows(pair) and other.allows(pair), sizes)

    def __or__(self, other: "Rule") -> "Rule":
        sizes = None
        if self.sizes is not None and other.sizes is not None:
            sizes = [(_most(a, c), _most(b, d)) for (a, b), (c, d) in zip(self.sizes, other.sizes, strict=True)]
        return Rule(lambda pair: self.allows(pair) or other.allows(pair), sizes)

    def __invert__(self) -> "Rule":
        return Rule(lambda pair: not self.allows(pair), self.sizes)

    def seen(self, batch: int, head: int, query: int, columns: int, queries: int, keys: int) -> list[int]:
        """Which of the columns a query sees."""
        return [key for key in range(columns) if self.allows(Pair(batch, head, query, key, queries, keys))]

    def of(self, batch: int, queries: int, keys: int) -> list[tuple[int, int]]:
        """How many queries and keys each item has."""
        sizes = [(None, None)] * batch if self.sizes is None else self.sizes
        return [(queries if m is None else m, keys if n is None else n) for m, n in sizes]


def _least(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


def _most(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)


def dense() -> Rule:
    return Rule(lambda pair: True)


def causal() -> Rule:
    return Rule(lambda pair: pair.key - pair.keys <= pair.query - pair.queries)


def window(before: int, after: int) -> Rule:
    return Rule(lambda pair: -before <= pair.key - pair.place <= after)


def no_self() -> Rule:
    return Rule(lambda pair: pair.key != pair.place)


def lengths(query: Sequence[int] | None, key: Sequence[int] | None) -> Rule:
    def allows(pair: Pair) -> bool:
        return (query is None or pair.query < query[pair.batch]) and (key is None or pair.key < key[pair.batch])

    count = len(query if query is not None else key or [])
    return Rule(allows, [(None if query is None else query[i], None if key is None else key[i]) for i in range(count)])


def documents(ids: Sequence[Sequence[int]], query: Sequence[Sequence[int]] | None = None) -> Rule:
    """`ids`: of each item's keys, or one list for all items."""

    def allows(pair: Pair) -> bool:
        of_keys = ids[pair.batch % len(ids)]
        if query is not None:
            own = query[pair.batch % len(query)][pair.query]
        else:
            own = of_keys[pair.place] if 0 <= pair.place < len(of_keys) else -1
        return own >= 0 and own == of_keys[pair.key]

    return Rule(allows)


def prefix(length: int | Sequence[int]) -> Rule:
    return Rule(lambda pair: pair.key < (length if isinstance(length, int) else length[pair.batch]))


def guided(width: float, centres: Sequence[Sequence[float]] | None = None) -> Rule:
    def allows(pair: Pair) -> bool:
        reach = width if isinstance(width, int) else width * pair.keys
        if centres is not None:
            return abs(pair.key - centres[pair.batch % len(centres)][pair.query]) <= reach
        # In whole numbers: |j m - i n| <= reach m.
        queries = max(pair.queries, 1)
        bound = width * queries if isinstance(width, int) else int(width * (queries * pair.keys))
        return abs(pair.key * queries - pair.query * pair.keys) <= bound

    return Rule(allows)


def edges(graphs: Sequence[Sequence[tuple[int, int]]]) -> Rule:
    """Of each item, or of all, the edges (from key, to query)."""
    held = [set(graph) for graph in graphs]
    return Rule(lambda pair: (pair.key, pair.query) in held[pair.batch % len(held)])


def blocks(table: Sequence[Sequence[bool]], size: int) -> Rule:
    return Rule(lambda pair: bool(table[pair.query // size][pair.key // size]))


def strided(stride: int) -> Rule:
    return Rule(lambda pair: abs(pair.key - pair.place) <= stride or (pair.key - pair.place) % stride == 0)


def longformer(reach: int, everywhere: Sequence[int]) -> Rule:
    return Rule(lambda pair: abs(pair.key - pair.place) <= reach or pair.key in everywhere or pair.place in everywhere)


def bigbird(size: int, *, reach: int, everywhere: int, random: int, seed: int) -> Rule:
    """Of the blocks that a block doesn't see anyway, it sees those to which its stream gives the smallest numbers."""

    @functools.cache
    def drawn(row: int, blocks: int) -> list[int]:
        numbers = np.random.Philox(key=[seed, row]).random_raw(blocks).tolist()
        others = [block for block in range(everywhere, blocks) if abs(block - row) > reach]
        return sorted(others, key=numbers.__getitem__)[:random]

    def allows(pair: Pair) -> bool:
        row, column, blocks = pair.place // size, pair.key // size, -(-pair.keys // size)
        if column < everywhere or 0 <= row < everywhere or abs(row - column) <= reach:
            return True
        return 0 <= row < blocks and column in drawn(row, blocks)

    return Rule(allows)


class _Table(Rule):
    def __init__(self, allowed: Tensor):
        super().__init__(lambda pair: bool(allowed[pair.batch, pair.head, pair.query, pair.key]))
        self.allowed = allowed.cpu()

    def seen(self, batch: int, head: int, query: int, columns: int, queries: int, keys: int) -> list[int]:
        return self.allowed[batch, head, query].nonzero().flatten().tolist()


def table(allowed: Tensor) -> Rule:
    """`allowed`: (batch, head, query, key), True = may attend."""
    return _Table(allowed)


def own(function: Callable[[int, int, int, int], bool]) -> Rule:
    return Rule(lambda pair: function(pair.batch, pair.head, pair.query, pair.key))


def attend(
    query: Any,
    key: Any,
    value: Any,
    *,
    score: Any = "scaled_dot",
    weights: Any = "softmax",
    mask: Rule | None = None,
    position: Any = None,
    dropout: float | Tensor = 0.0,
    seed: int = 0,
) -> Tensor:
    """The outputs in float64, (batch, head, query, value), with derivatives of every order.

    Args:
        query, key, value: tensors, or what becomes one, of the shapes that `regard.attend` takes.
        score, weights, position: a name, or an object whose class has the name and the fields of regard's part; a score
            and weights may be `Own`.
        mask: which pairs may attend; None: all.
        dropout: a fraction, drawn as regard draws it, or a table (batch, head, query, key) of what each weight is
            multiplied by: 0, or 1 / (1 - fraction).
        seed: of a fraction.

    Example:
        >>> x = [[[[1.0], [2.0]]]]
        >>> attend(x, x, x, mask=causal())[0, 0, :, 0]
        tensor([1.0000, 1.8808], dtype=torch.float64)
    """
    query, value = _array(query), _array(value)
    scheme = _part(position)
    batch, heads, rows, _ = query.shape
    share = heads // max(value.shape[1], 1)
    # What isn't seen by any row still belongs to the graph: its gradient is zero, and not None.
    outputs = {}
    for row, line in _rows(query, key, score, weights, mask, position):
        if isinstance(dropout, Tensor):
            line = line * dropout[row.batch, row.head, row.query, row.seen]
        elif dropout:
            line = line * torch.tensor([_kept(row, column, dropout, seed) for column in row.seen], **_FLOAT)
        seen = value[row.batch, row.head // share, row.seen]
        # Not a matrix product, whose zeros would spoil what is infinite: a weight of 0 times infinity is NaN in both.
        total = (line.unsqueeze(-1) * seen).sum(0)
        outputs[row.batch, row.head, row.query] = _outputs(scheme, total, line, row)
    nothing = torch.zeros(value.shape[3], **_FLOAT)
    flat = [
        outputs.get((item, head, row), nothing) for item in range(batch) for head in range(heads) for row in range(rows)
    ]
    if not flat:
        return torch.zeros(batch, heads, rows, value.shape[3], **_FLOAT)
    return torch.stack(flat).view(batch, heads, rows, value.shape[3])


def weigh(
    query: Any,
    key: Any,
    *,
    score: Any = "scaled_dot",
    weights: Any = "softmax",
    mask: Rule | None = None,
    position: Any = None,
) -> Tensor:
    """The weights, (batch, head, query, key), without gradients."""
    found = torch.zeros(*tuple(query.shape)[:3], key.shape[2], **_FLOAT)
    for row, line in _rows(query, key, score, weights, mask, position):
        found[row.batch, row.head, row.query, row.seen] = line.detach()
    return found


def log_sums(
    query: Any,
    key: Any,
    *,
    score: Any = "scaled_dot",
    weights: Any = "softmax",
    mask: Rule | None = None,
    position: Any = None,
) -> Tensor:
    """The logarithms of softmax's denominators, (batch, head, query), without gradients."""
    found = torch.full(tuple(query.shape)[:3], -math.inf, **_FLOAT)
    temperature = getattr(_part(weights), "temperature", 1.0)
    for row, scores in _scored_rows(query, key, score, mask, position):
        total = torch.tensor(-math.inf, **_FLOAT)
        # One after the other, as no row's largest has to be known for it.
        for number in (scores / _of_head(temperature, row.head)).detach():
            total = torch.logaddexp(total, number)
        found[row.batch, row.head, row.query] = total
    return found


def _rows(query: Any, key: Any, score: Any, weights: Any, mask: Rule | None, position: Any) -> Any:
    """Of each row that sees something: what it sees, and the weights."""
    normalise = _part(weights)
    for row, scores in _scored_rows(query, key, score, mask, position):
        yield row, _normalised(normalise, scores, row.head)


def _scored_rows(query: Any, key: Any, score: Any, mask: Rule | None, position: Any) -> Any:
    """Of each row that sees something: what it sees, and the scores."""
    query, key, rule = _array(query), _array(key), mask or dense()
    rate, scheme = _part(score), _part(position)
    batch, heads, rows, _ = query.shape
    columns = key.shape[2]
    share = heads // max(key.shape[1], 1)
    for item, (queries, keys) in enumerate(rule.of(batch, rows, columns)):
        for head in range(heads):
            for number in range(rows):
                seen = rule.seen(item, head, number, columns, queries, keys)
                if not seen:
                    continue
                row = Row(item, head, number, seen, queries, keys)
                q, k = _heads(scheme, query[item, head, number], key[item, head // share, seen], row)
                yield row, _position_score(scheme, _score(rate, q, k, head), q, k, row)


# Parts by their names or their classes' names; a part's fields as numbers.


def _part(part: Any) -> Any:
    return part.part() if hasattr(part, "part") else part


def _name(part: Any) -> str:
    return part if isinstance(part, str) else getattr(part, "__name__", type(part).__name__)


def _array(number: Any) -> Tensor:
    return torch.as_tensor(number, **_FLOAT)


def _of_head(number: Any, head: int, axes: int = 0) -> Tensor:
    """A parameter of so many axes, or of one more: then each head has its own."""
    array = _array(number)
    return array[head] if array.ndim > axes else array


def _products(q: Tensor, k: Tensor) -> Tensor:
    return (q * k).sum(-1)


def _score(part: Any, q: Tensor, k: Tensor, head: int) -> Tensor:
    """The scores of a query, (feature), with keys, (key, feature)."""
    if isinstance(part, Own):
        return part.function(q, k, head)
    name = _name(part)
    if name in ("scaled_dot", "ScaledDot"):
        return _products(q, k) / math.sqrt(max(k.shape[-1], 1))
    if name in ("dot", "Dot"):
        return _products(q, k) * getattr(part, "scale", 1.0)
    if name in ("cosine", "Cosine"):
        # Divided by their largest first, as squares may be too large or too small for a float64; 0 has no direction.
        sizes = [vector.detach().abs().amax(-1, keepdim=True) for vector in (q, k)]
        q, k = (vector / torch.where(size == 0, 1.0, size) for vector, size in zip((q, k), sizes, strict=True))
        cosines = (q * k).sum(-1) / ((q * q).sum(-1).sqrt() * (k * k).sum(-1).sqrt())
        scaled = _of_head(getattr(part, "scale", 1.0), head) * cosines
        return torch.where((sizes[0] * sizes[1]).squeeze(-1) == 0, 0.0, scaled)
    if name == "Bilinear":
        return ((q @ _of_head(part.matrix, head, 2)) * k).sum(-1)
    if name == "Additive":
        total = q + k + (0.0 if part.bias is None else _of_head(part.bias, head, 1))
        active = total.tanh() if part.activation == "tanh" else torch.where(total > 0, total, part.slope * total)
        return (_of_head(part.vector, head, 1) * active).sum(-1)
    if name == "SoftCapped":
        return part.cap * (part.scale * _products(q, k) / part.cap).tanh()
    raise NotImplementedError(name)


def _normalised(part: Any, s: Tensor, head: int) -> Tensor:
    """Weights of one row's scores, of what it sees alone."""
    if isinstance(part, Own):
        return part.function(s, head)
    name = _name(part)
    if name in ("softmax", "Softmax"):
        s = s / _of_head(getattr(part, "temperature", 1.0), head)
        powers = (s - s.detach().max()).exp()
        return powers / powers.sum()
    if name in ("relu", "Relu"):
        return s.clamp(min=0.0) / (getattr(part, "divisor", None) or len(s))
    if name in ("sigmoid", "Sigmoid"):
        bias = getattr(part, "bias", None)
        return 1 / (1 + (-(s + (-math.log(len(s)) if bias is None else _of_head(bias, head)))).exp())
    if name in ("sparsemax", "Sparsemax"):
        return _entmax(s, 2.0)
    if name in ("entmax", "Entmax"):
        return _entmax(s, float(_of_head(getattr(part, "alpha", 1.5), head).detach()))
    if name in ("budget", "Budget"):
        return _budget(s, getattr(part, "budget", 2.0))
    if name in ("top_k", "TopK"):
        # Of equals the first: Python's sort keeps their order.
        falling = (-s.detach()).tolist()
        kept = sorted(range(len(s)), key=falling.__getitem__)[: getattr(part, "keys", 8)]
        chosen = torch.zeros(len(s), dtype=torch.bool, device="cpu")
        chosen[kept] = True
        powers = torch.where(chosen, (s - s.detach().max()).exp(), 0.0)
        return torch.full_like(s, math.nan) if s.isnan().any() else powers / powers.sum()
    if name in ("hard", "Hard"):
        best = torch.full_like(s, math.nan) if s.isnan().any() else torch.zeros_like(s)
        best[int(s.argmax())] += 1.0
        return best
    raise NotImplementedError(name)


def _entmax(s: Tensor, alpha: float) -> Tensor:
    """max((alpha - 1) s - t, 0)^(1 / (alpha - 1)), t found by halving."""
    if not s.max().isfinite():
        return torch.full_like(s, math.nan)
    z = ((alpha - 1) * (s - s.max())).detach().numpy()
    low, high = -1.0, 0.0
    for _ in range(200):
        middle = (low + high) / 2
        total = (np.maximum(z - middle, 0.0) ** (1 / (alpha - 1))).sum()
        low, high = (middle, high) if total >= 1 else (low, middle)
    weights = np.maximum(z - low, 0.0) ** (1 / (alpha - 1))
    return torch.from_numpy(weights / weights.sum())


def _budget(s: Tensor, budget: float) -> Tensor:
    """max(0, min(s - t, 1)), t found by halving."""
    if not s.max().isfinite():
        return torch.full_like(s, math.nan)
    if len(s) <= budget:
        return torch.ones_like(s)
    z = s.detach().numpy()
    low, high = float(z[np.isfinite(z)].min()) - 1, float(z.max())
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(z - middle, 0, 1).sum() >= budget else (low, middle)
    return torch.from_numpy(np.clip(z - low, 0, 1))


def _both(part: Any) -> bool:
    return _name(part) == "Both"


def _heads(part: Any, q: Tensor, k: Tensor, row: Row) -> tuple[Tensor, Tensor]:
    if _both(part):
        return _heads(part.second, *_heads(part.first, q, k, row), row)
    if _name(part) in ("rotary", "Rotary"):
        return _turned(part, q, [row.place]).squeeze(0), _turned(part, k, row.seen)
    if _name(part) == "AllHooks":
        return q * (1 + 0.1 * row.place), k * _array(part.strength)
    return q, k


def _turned(part: Any, vectors: Tensor, places: list[int]) -> Tensor:
    """Vectors turned by their places: (place, feature); one vector is one row."""
    size = getattr(part, "size", None)
    size = vectors.shape[-1] if size is None else size
    given = vectors.view(len(places), -1)
    turned = list(given.unbind(-1))
    for i in range(size // 2):
        angle = torch.tensor(places, **_FLOAT) / getattr(part, "stretch", 1.0)
        angle = angle * getattr(part, "base", 10_000.0) ** (-2 * i / size)
        one, two = (i, i + size // 2) if getattr(part, "pairs", "halves") == "halves" else (2 * i, 2 * i + 1)
        turned[one] = given[:, one] * angle.cos() - given[:, two] * angle.sin()
        turned[two] = given[:, two] * angle.cos() + given[:, one] * angle.sin()
    return torch.stack(turned, -1)


def _position_score(part: Any, scores: Tensor, q: Tensor, k: Tensor, row: Row) -> Tensor:
    name = _name(part)
    if _both(part):
        return _position_score(part.second, _position_score(part.first, scores, q, k, row), q, k, row)
    if name == "RelativeKeys":
        return scores + _vectors(part.table, row) @ q / math.sqrt(len(q))
    if name == "Slopes":
        return scores - _of_head(part.slopes, row.head) * row.offsets.abs()
    if name == "Buckets":
        buckets = _of_head(part.table, row.head, 1)
        return scores + buckets[[_bucket(at, len(buckets), part.reach, part.causal) for at in row.offsets.tolist()]]
    if name == "Bias":
        bias = _array(part.table)
        bias = bias.reshape((1,) * (4 - bias.ndim) + tuple(bias.shape))
        item, head, query = (i % size for i, size in zip((row.batch, row.head, row.query), bias.shape[:3], strict=True))
        return scores + bias[item, head, query][[key % bias.shape[3] for key in row.seen]]
    if name == "GuidedBias":
        keys = torch.tensor(row.seen, **_FLOAT)
        apart = row.query / max(row.queries, 1) - keys / max(row.keys, 1)
        return scores - apart**2 / (2 * part.width**2)
    if name == "AllHooks":
        return scores - _array(part.strength) * row.offsets.abs()
    return scores


def _outputs(part: Any, total: Tensor, line: Tensor, row: Row) -> Tensor:
    if _both(part):
        return _outputs(part.second, _outputs(part.first, total, line, row), line, row)
    if _name(part) == "RelativeValues":
        return total + (line.unsqueeze(-1) * _vectors(part.table, row)).sum(0)
    if _name(part) == "AllHooks":
        return total + _array(part.strength) * (line * row.offsets).sum()
    return total


def _vectors(vectors: Any, row: Row) -> Tensor:
    """Those of each key's distance, from a table (2 reach + 1, size)."""
    vectors = _of_head(vectors, row.head, 2)
    reach = (len(vectors) - 1) // 2
    return vectors[row.offsets.clamp(-reach, reach) + reach]


def _bucket(offset: int, buckets: int, reach: int, causal: bool) -> int:
    side = buckets if causal else buckets // 2
    after = 0 if causal or offset <= 0 else side
    distance = max(-offset, 0) if causal else abs(offset)
    single = side // 2
    if distance < single:
        return after + distance
    wider = math.log(distance / single) / math.log(reach / single) * (side - single)
    return after + min(side - 1, single + int(wider))


def _kept(row: Row, column: int, dropout: float, seed: int) -> float:
    """0 where dropped, and what is kept is scaled up: by a hash of the seed and the four numbers of the pair."""
    if dropout >= 1:
        return 0.0
    word = 0xFFFFFFFF
    state = _mixed((seed & word) ^ ((seed >> 32 & word) * 0x9E3779B1 & word))
    for number in (row.batch, row.head, row.query, column):
        state = _mixed((state + (number + 1) * 0x9E3779B1) & word)
    return (state >= int(dropout * 2**32)) / (1 - dropout)


def _mixed(x: int) -> int:
    """Two rounds of multiplication and shifts on 32 bits: lowbias32 of Wellons 2018."""
    x = (x ^ x >> 16) * 0x7FEB352D & 0xFFFFFFFF
    x = (x ^ x >> 15) * 0x846CA68B & 0xFFFFFFFF
    return x ^ x >> 16
