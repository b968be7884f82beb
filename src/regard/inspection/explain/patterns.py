"""The pattern of each head, measured: previous item, next, same, first, separator, duplicate, induction and others."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from regard.attention import weigh
from regard.errors import ArgumentError
from regard.inspection.record.seen_layer import SeenLayer

__all__ = ["HeadPattern", "head_patterns"]

_ABOVE_CHANCE = 0.5
_UNIFORM = 0.97
_FEWEST_ROWS = 0.25
_MOST_ROWS = 1024


@dataclass(frozen=True)
class HeadPattern:
    """The pattern of a head.

    Attributes:
        layer: the name of its layer.
        head: its number.
        name: "previous", "next", "same", "first", "separator", "duplicate", "induction", "diagonal", "uniform" or
            "none".
        score: the score of that pattern; of "none", the largest score.
        scores: the scores of all patterns that could be measured, each from 0 to 1.
    """

    layer: str
    head: int
    name: str
    score: float
    scores: Mapping[str, float]

    def __str__(self) -> str:
        return f"{self.layer} head {self.head}: {self.name} ({self.score:.2f})"


def head_patterns(
    layers: SeenLayer | Iterable[SeenLayer],
    *,
    items: Sequence[str] | None = None,
    separators: Sequence[int] = (),
    item: int = 0,
    cross: bool | None = None,
) -> list[HeadPattern]:
    """Name each head by the pattern of its weights, in linear memory.

    The score of a pattern is the weight on its keys, averaged over the queries that may attend to one of them and to
    more than one key; of more than 1,024 queries so many are taken, evenly spaced, except in cross-attention. Weights
    that don't sum to 1 are divided by their sum. The patterns and their keys are

    - previous, next, same: the key one before, one after, or at the position of the query, where the last query has the
      position of the last key (not in cross-attention);
    - first: the key 0;
    - separator: the keys that `separators` names;
    - duplicate: the other keys with the same text as the query (needs `items`; not in cross-attention);
    - induction: the keys before the query that come right after an item with the query's text (needs `items`; not in
      cross-attention): what followed the same text earlier;
    - diagonal (only in cross-attention): for each query one key, on that path for which the score is largest among
      those that go from the first key to the last one, never back, and at most twice as fast as the straight line;
    - uniform: not a weight, but the entropy divided by its maximum, the logarithm of the number of allowed keys.

    A head gets the name of a pattern if its score is at least halfway from chance to 1, over a quarter of the queries
    or more; of several, that which is nearest to 1 by that measure. Chance is the score of equal weights for all
    allowed keys; for a diagonal, that of a head which gives the mean of its weights to every query. If no pattern is
    that near, a score for uniform of 0.97 or more makes the head "uniform"; otherwise it is "none". In long texts heads
    with moderate scores reach 0.97 too, since entropy grows with the length.

    Args:
        layers: a layer, or those of a `Seen`, of which state-space layers, which have no attention, are left out.
        items: the texts of the keys; the queries are the same items. Keys and queries after them are left out.
        separators: the numbers of the keys that are separators.
        item: the number of the item in the batch.
        cross: whether queries and keys are different items; None: if their numbers differ.

    Raises:
        ArgumentError: there is no such item in the batch, or no such key.

    Source: of induction, Olsson et al. 2022, In-context Learning and Induction Heads.

    Example:
        >>> keys = 9 * torch.eye(5)[None, None]
        >>> query = keys.roll(1, 2)
        >>> layer = SeenLayer("a", "", query, keys, keys, "dot", "softmax", None, None, 0.0, keys, keys)
        >>> str(head_patterns(layer)[0])
        'a head 0: previous (1.00)'
    """
    layers = [layers] if isinstance(layers, SeenLayer) else [each for each in layers if not each.is_effective]
    return [each for layer in layers for each in _of_layer(layer, items, separators, item, cross)]


def _of_layer(
    layer: SeenLayer, items: Sequence[str] | None, separators: Sequence[int], item: int, cross: bool | None
) -> list[HeadPattern]:
    batch, _, queries, _ = layer.query.shape
    keys = layer.key.shape[2]
    if not 0 <= item < batch:
        raise ArgumentError(f"`item` must be the number of an item in the batch, below {batch}, but is {item}.")
    if any(not 0 <= each < keys for each in separators):
        raise ArgumentError(f"`separators` must be numbers of keys below {keys}, but are {list(separators)}.")
    if cross is None:
        cross = queries != keys
    if items is not None and not cross and len(items) > keys:
        raise ArgumentError(f"`items` must be texts of the keys, of which there are {keys}, but are {len(items)}.")
    measured = _Measured(layer, [] if items is None else items, separators, cross, item)
    return [measured.pattern(head) for head in range(layer.heads)]


class _Measured:
    """Sums over the queries for each pattern: of the weights on its keys, of those by chance, and of the queries."""

    def __init__(self, layer: SeenLayer, items: Sequence[str], separators: Sequence[int], cross: bool, item: int):
        self._layer, self._cross, self._item = layer, cross, item
        device = layer.query.device
        queries, keys = layer.query.shape[2], layer.key.shape[2]
        numbers: dict[str, int] = {}
        ids = [numbers.setdefault(text, len(numbers)) for text in items][:keys]
        self._ids = None if cross or not ids else torch.tensor([*ids, *range(-keys + len(ids), 0)], device=device)
        self._separators = torch.zeros(keys, dtype=torch.bool, device=device)
        self._separators[list(separators)] = True
        self._shift = keys - queries
        self._counted = torch.zeros(layer.heads, dtype=torch.double)
        self._sums: dict[str, Tensor] = {}
        # How much of the weight the best path to each key has so far.
        self._paths, self._received = None, torch.zeros(layer.heads, keys, dtype=torch.double, device=device)
        self._step = max(1, math.ceil(2 * keys / max(queries, 1)))
        self._last = len(items) - self._shift if items and not cross else queries
        count = max(min(self._last, queries), 0)
        # A path needs all queries; an average over so many evenly spaced ones is as good.
        taken = torch.arange(count) if cross or count <= _MOST_ROWS else torch.linspace(0, count - 1, _MOST_ROWS).long()
        for rows, weights, chance in _blocks(layer, item, taken.to(device)):
            self._add(rows, weights, chance)

    def _add(self, rows: Tensor, weights: Tensor, chance: Tensor) -> None:
        """Add the (head, row, key) weights of some queries, and those of equal weights."""
        allowed = chance > 0
        several = allowed.sum(-1) > 1
        self._counted += several.sum(-1).cpu()
        for name, keys in self._patterns(rows).items():
            counted = several & (allowed & keys).any(-1)
            self._sum(name, counted, ((weights * keys).sum(-1), (chance * keys).sum(-1)))
        entropy, most = (-torch.special.xlogy(each, each).sum(-1) for each in (weights, chance))
        self._sum("uniform", several, (entropy / most.clamp(min=1e-30), torch.zeros_like(most)))
        if self._cross:
            self._paths = self._walk(self._paths, weights)
            self._received += weights.sum(1)

    def _patterns(self, rows: Tensor) -> dict[str, Tensor]:
        """The keys of each pattern, (row or 1, key)."""
        key = torch.arange(len(self._separators), device=rows.device)
        found = {"first": (key == 0).unsqueeze(0)}
        if not self._cross:
            position = (rows + self._shift).unsqueeze(1)
            found |= {"previous": key == position - 1, "next": key == position + 1, "same": key == position}
            if self._ids is not None:
                own = self._ids[(rows + self._shift).clamp(min=0)].unsqueeze(1)
                found["duplicate"] = (own == self._ids) & (key != position) & (position >= 0)
                found["induction"] = (own == self._ids.roll(1)) & (key > 0) & (key < position)
        if self._separators.any():
            found["separator"] = self._separators.unsqueeze(0)
        return found

    def _sum(self, name: str, counted: Tensor, values: tuple[Tensor, Tensor]) -> None:
        sums = torch.stack([*(torch.where(counted, each, 0.0).double().sum(-1) for each in values), counted.sum(-1)])
        self._sums[name] = self._sums.get(name, 0) + sums.cpu()

    @cached_property
    def _diagonal(self) -> Tensor:
        """(2, head): the score of the best path, and what it would be if all queries had the mean of the weights."""
        queries, mean = self._last, (self._received / self._last).unsqueeze(1)
        alike = None
        for _ in range(queries):
            alike = self._walk(alike, mean)
        return torch.stack([each[:, -self._step :].amax(-1) / queries for each in (self._paths, alike)]).cpu()  # pyright: ignore[reportOptionalSubscript]

    def _walk(self, paths: Tensor | None, weights: Tensor) -> Tensor | None:
        """The best paths to each key, one query after another."""
        for row in weights.unbind(1):
            if paths is None:
                paths = torch.full_like(row, -torch.inf, dtype=torch.double)
                paths[:, : self._step] = 0.0
            else:
                # The best among the key itself and those up to `step` before it.
                before = torch.nn.functional.pad(paths, (self._step, 0), value=-torch.inf)
                paths = torch.nn.functional.max_pool1d(before.unsqueeze(1), self._step + 1, 1).squeeze(1)
            paths = paths + row
        return paths

    def pattern(self, head: int) -> HeadPattern:
        scores, nearness = {}, {}
        for name, sums in self._sums.items():
            total, chance, counted = sums[:, head].tolist()
            if not counted:
                continue
            scores[name] = total / counted
            if name != "uniform" and counted >= _FEWEST_ROWS * float(self._counted[head]):
                nearness[name] = _above_chance(scores[name], chance / counted)
        if self._paths is not None and self._last > 1 and self._paths.numel():
            best, alike = self._diagonal[:, head].tolist()
            scores["diagonal"], nearness["diagonal"] = best, _above_chance(best, alike)
        name = max(nearness, key=nearness.__getitem__, default="none")
        if nearness.get(name, 0.0) < _ABOVE_CHANCE:
            name = "uniform" if scores.get("uniform", 0.0) >= _UNIFORM else "none"
        score = scores[name] if name != "none" else max(scores.values(), default=0.0)
        return HeadPattern(self._layer.name, head, name, score, scores)


def _above_chance(score: float, chance: float) -> float:
    """0 for chance, 1 for all of the weight; 0 if chance has all of it."""
    return (score - chance) / (1 - chance) if chance < 1 - 1e-6 else 0.0


def _blocks(layer: SeenLayer, item: int, queries: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Some queries at a time: their numbers, their weights (head, row, key), which sum to 1, and equal weights."""
    # With vectors of zeros all scores are 0, and softmax gives equal weights to the allowed keys.
    query, key = (torch.zeros_like(each[..., :1]) for each in (layer.query, layer.key))
    for rows, block in layer.blocks(queries):
        weights = block[item].abs()
        yield (
            rows,
            weights / weights.sum(-1, keepdim=True).clamp(min=1e-30),
            weigh(query, key, score="dot", mask=layer.mask, rows=rows)[item],
        )
