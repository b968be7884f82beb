"""Attention by loops over pairs, in NumPy and float64, from the papers' formulas: what every engine is held to.

It shares no code with the package. Of a part it reads the fields, as numbers; a mask it has from `Rule`s of its own. A
pair that is hidden is never computed with: a row's scores are those of the keys that it sees, and no others.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "Pair",
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
    "weigh",
    "window",
]

Array = np.ndarray


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
    return Rule(allows, [(query and query[i], key and key[i]) for i in range(count)])


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
    dropout: float = 0.0,
    seed: int = 0,
) -> Array:
    """The output, (batch, head, query, value). Tensors of PyTorch are taken as they are; parts as `regard.attend`."""
    query, value = _array(query), _array(value)
    scheme = _part(position)
    batch, heads, rows, _ = query.shape
    output = np.zeros((batch, heads, rows, value.shape[3]))
    share = heads // max(value.shape[1], 1)
    for pairs, line in _rows(query, key, score, weights, mask, position):
        item, head, row = pairs[0].batch, pairs[0].head, pairs[0].query
        if dropout:
            line = line * [_kept(pair, dropout, seed) for pair in pairs]
        total = np.zeros(value.shape[3])
        for weight, pair in zip(line, pairs, strict=True):
            total = total + weight * value[item, head // share, pair.key]
        output[item, head, row] = _outputs(scheme, total, line, pairs)
    return output


def weigh(
    query: Any,
    key: Any,
    *,
    score: Any = "scaled_dot",
    weights: Any = "softmax",
    mask: Rule | None = None,
    position: Any = None,
) -> Array:
    """The weights, (batch, head, query, key)."""
    shape = tuple(query.shape)
    found = np.zeros((*shape[:3], key.shape[2]))
    for pairs, line in _rows(query, key, score, weights, mask, position):
        for weight, pair in zip(line, pairs, strict=True):
            found[pair.batch, pair.head, pair.query, pair.key] = weight
    return found


def log_sums(
    query: Any,
    key: Any,
    *,
    score: Any = "scaled_dot",
    weights: Any = "softmax",
    mask: Rule | None = None,
    position: Any = None,
) -> Array:
    """The logarithms of softmax's denominators, (batch, head, query)."""
    found, temperature = np.full(tuple(query.shape[:3]), -np.inf), getattr(_part(weights), "temperature", 1.0)
    for pairs, scores in _scored_rows(query, key, score, mask, position):
        pair = pairs[0]
        # One after the other, as no row's largest has to be known for it.
        for number in scores / _of_head(temperature, pair.head):
            found[pair.batch, pair.head, pair.query] = np.logaddexp(found[pair.batch, pair.head, pair.query], number)
    return found


def _rows(query: Any, key: Any, score: Any, weights: Any, mask: Rule | None, position: Any) -> Any:
    """Of each row that sees something: the pairs that it sees, and their weights."""
    normalise = _part(weights)
    for pairs, scores in _scored_rows(query, key, score, mask, position):
        yield pairs, _normalised(normalise, scores, pairs[0].head)


def _scored_rows(query: Any, key: Any, score: Any, mask: Rule | None, position: Any) -> Any:
    """Of each row that sees something: the pairs that it sees, and their scores."""
    query, key, rule = _array(query), _array(key), mask or dense()
    rate, scheme = _part(score), _part(position)
    batch, heads, rows, _ = query.shape
    columns = key.shape[2]
    share = heads // max(key.shape[1], 1)
    with np.errstate(all="ignore"):
        for item, (queries, keys) in enumerate(rule.of(batch, rows, columns)):
            for head in range(heads):
                for row in range(rows):
                    pairs = [Pair(item, head, row, column, queries, keys) for column in range(columns)]
                    pairs = [pair for pair in pairs if rule.allows(pair)]
                    if not pairs:
                        continue
                    scores = []
                    for pair in pairs:
                        q, k = _heads(scheme, query[item, head, row], key[item, head // share, pair.key], pair)
                        scores.append(_position_score(scheme, _score(rate, q, k, head), q, k, pair))
                    yield pairs, np.array(scores)


# Parts by their names or their classes' names; a part's fields as numbers.


def _part(part: Any) -> Any:
    return part.part() if hasattr(part, "part") else part


def _name(part: Any) -> str:
    return part if isinstance(part, str) else getattr(part, "__name__", type(part).__name__)


def _array(number: Any) -> Array:
    return np.asarray(number.detach().cpu().double() if hasattr(number, "detach") else number, dtype=np.float64)


def _of_head(number: Any, head: int, axes: int = 0) -> Any:
    """A parameter of so many axes, or of one more: then each head has its own."""
    array = _array(number)
    return array[head] if array.ndim > axes else array


def _score(part: Any, q: Array, k: Array, head: int) -> float:
    name = _name(part)
    if name in ("scaled_dot", "ScaledDot"):
        return float(q @ k) / math.sqrt(len(q))
    if name in ("dot", "Dot"):
        return float(q @ k) * getattr(part, "scale", 1.0)
    if name in ("cosine", "Cosine"):
        sizes = [np.abs(v).max() for v in (q, k)]
        if 0 in sizes:
            return 0.0
        (q, k), scale = (q / sizes[0], k / sizes[1]), _of_head(getattr(part, "scale", 1.0), head)
        return float(scale * (q @ k) / (np.sqrt(q @ q) * np.sqrt(k @ k)))
    if name == "Bilinear":
        return float(q @ _of_head(part.matrix, head, 2) @ k)
    if name == "Additive":
        total = q + k + (0.0 if part.bias is None else _of_head(part.bias, head, 1))
        active = np.tanh(total) if part.activation == "tanh" else np.where(total > 0, total, part.slope * total)
        return float(_of_head(part.vector, head, 1) @ active)
    if name == "SoftCapped":
        return float(part.cap * np.tanh(part.scale * (q @ k) / part.cap))
    if name == "distance":
        return float(-0.3 * np.square(q - k).sum())
    if name == "Gaussian":
        return float(-np.square(q - k).sum() / (1 + _array(part.width) ** 2))
    raise NotImplementedError(name)


def _normalised(part: Any, s: Array, head: int) -> Array:
    """Weights of one row's scores, of what it sees alone."""
    name = _name(part)
    if name in ("softmax", "Softmax"):
        s = s / _of_head(getattr(part, "temperature", 1.0), head)
        powers = np.exp(s - s.max())
        return powers / powers.sum()
    if name in ("relu", "Relu"):
        return np.maximum(s, 0.0) / (getattr(part, "divisor", None) or len(s))
    if name in ("sigmoid", "Sigmoid"):
        bias = getattr(part, "bias", None)
        return 1 / (1 + np.exp(-(s + (-math.log(len(s)) if bias is None else _of_head(bias, head)))))
    if name in ("sparsemax", "Sparsemax"):
        return _entmax(s, 2.0)
    if name in ("entmax", "Entmax"):
        return _entmax(s, float(_of_head(getattr(part, "alpha", 1.5), head)))
    if name in ("budget", "Budget"):
        return _budget(s, getattr(part, "budget", 2.0))
    if name in ("top_k", "TopK"):
        # Of equals the first: Python's sort keeps their order.
        kept = sorted(range(len(s)), key=lambda j: -s[j])[: getattr(part, "keys", 8)]
        powers = np.array([math.exp(s[j] - s.max()) if j in kept else 0.0 for j in range(len(s))])
        return np.full(len(s), math.nan) if np.isnan(s).any() else powers / powers.sum()
    if name in ("hard", "Hard"):
        best = np.full(len(s), math.nan) if np.isnan(s).any() else np.zeros(len(s))
        best[int(np.argmax(s))] += 1.0
        return best
    if name == "squared":
        return np.square(s) / 5
    if name == "Sink":
        sink = _array(part.score)
        top = max(float(s.max()), float(sink))
        powers = np.exp(s - top)
        return powers / (powers.sum() + np.exp(sink - top))
    raise NotImplementedError(name)


def _entmax(s: Array, alpha: float) -> Array:
    """max((alpha - 1) s - t, 0)^(1 / (alpha - 1)), t found by halving."""
    if not np.isfinite(s.max()):
        return np.full(len(s), math.nan)
    z = (alpha - 1) * (s - s.max())
    low, high = -1.0, 0.0
    for _ in range(200):
        middle = (low + high) / 2
        total = (np.maximum(z - middle, 0.0) ** (1 / (alpha - 1))).sum()
        low, high = (middle, high) if total >= 1 else (low, middle)
    weights = np.maximum(z - low, 0.0) ** (1 / (alpha - 1))
    return weights / weights.sum()


def _budget(s: Array, budget: float) -> Array:
    """max(0, min(s - t, 1)), t found by halving."""
    if not np.isfinite(s.max()):
        return np.full(len(s), math.nan)
    if len(s) <= budget:
        return np.ones(len(s))
    low, high = float(s[np.isfinite(s)].min()) - 1, float(s.max())
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(s - middle, 0, 1).sum() >= budget else (low, middle)
    return np.clip(s - low, 0, 1)


def _both(part: Any) -> bool:
    return _name(part) == "Both"


def _heads(part: Any, q: Array, k: Array, pair: Pair) -> tuple[Array, Array]:
    if _both(part):
        return _heads(part.second, *_heads(part.first, q, k, pair), pair)
    if _name(part) in ("rotary", "Rotary"):
        return _turned(part, q, pair.place), _turned(part, k, pair.key)
    if _name(part) == "AllHooks":
        return q * (1 + 0.1 * pair.place), k * _array(part.strength)
    return q, k


def _turned(part: Any, vector: Array, place: int) -> Array:
    size = getattr(part, "size", None)
    size = len(vector) if size is None else size
    turned = vector.copy()
    for i in range(size // 2):
        angle = place / getattr(part, "stretch", 1.0) * getattr(part, "base", 10_000.0) ** (-2 * i / size)
        one, two = (i, i + size // 2) if getattr(part, "pairs", "halves") == "halves" else (2 * i, 2 * i + 1)
        turned[one] = vector[one] * math.cos(angle) - vector[two] * math.sin(angle)
        turned[two] = vector[two] * math.cos(angle) + vector[one] * math.sin(angle)
    return turned


def _position_score(part: Any, score: float, q: Array, k: Array, pair: Pair) -> float:
    name, offset = _name(part), pair.key - pair.place
    if _both(part):
        return _position_score(part.second, _position_score(part.first, score, q, k, pair), q, k, pair)
    if name == "RelativeKeys":
        return score + float(q @ _vector(part.table, pair)) / math.sqrt(len(q))
    if name == "Slopes":
        return score - float(_of_head(part.slopes, pair.head)) * abs(offset)
    if name == "Buckets":
        table = _of_head(part.table, pair.head, 1)
        return score + float(table[_bucket(offset, len(table), part.reach, part.causal)])
    if name == "Bias":
        table = _array(part.table)
        table = table.reshape((1,) * (4 - table.ndim) + table.shape)
        where = (pair.batch, pair.head, pair.query, pair.key)
        return score + float(table[tuple(i % size for i, size in zip(where, table.shape, strict=True))])
    if name == "GuidedBias":
        apart = pair.query / max(pair.queries, 1) - pair.key / max(pair.keys, 1)
        return score - apart**2 / (2 * part.width**2)
    if name == "AllHooks":
        return score - float(_array(part.strength)) * abs(offset)
    return score


def _outputs(part: Any, total: Array, line: Array, pairs: list[Pair]) -> Array:
    if _both(part):
        return _outputs(part.second, _outputs(part.first, total, line, pairs), line, pairs)
    for weight, pair in zip(line, pairs, strict=True):
        if _name(part) == "RelativeValues":
            total = total + weight * _vector(part.table, pair)
        if _name(part) == "AllHooks":
            total = total + _array(part.strength) * weight * (pair.key - pair.place)
    return total


def _vector(table: Any, pair: Pair) -> Array:
    """The vector of a distance, (2 reach + 1, size)."""
    table = _of_head(table, pair.head, 2)
    reach = (len(table) - 1) // 2
    return table[max(-reach, min(reach, pair.key - pair.place)) + reach]


def _bucket(offset: int, buckets: int, reach: int, causal: bool) -> int:
    side = buckets if causal else buckets // 2
    after = 0 if causal or offset <= 0 else side
    distance = max(-offset, 0) if causal else abs(offset)
    single = side // 2
    if distance < single:
        return after + distance
    wider = math.log(distance / single) / math.log(reach / single) * (side - single)
    return after + min(side - 1, single + int(wider))


def _kept(pair: Pair, dropout: float, seed: int) -> float:
    """0 where dropped, and what is kept is scaled up: by a hash of the seed and the four numbers of the pair."""
    if dropout >= 1:
        return 0.0
    word = 0xFFFFFFFF
    state = _mixed((seed & word) ^ ((seed >> 32 & word) * 0x9E3779B1 & word))
    for number in (pair.batch, pair.head, pair.query, pair.key):
        state = _mixed((state + (number + 1) * 0x9E3779B1) & word)
    return (state >= int(dropout * 2**32)) / (1 - dropout)


def _mixed(x: int) -> int:
    """Two rounds of multiplication and shifts on 32 bits: lowbias32 of Wellons 2018."""
    x = (x ^ x >> 16) * 0x7FEB352D & 0xFFFFFFFF
    x = (x ^ x >> 15) * 0x846CA68B & 0xFFFFFFFF
    return x ^ x >> 16
