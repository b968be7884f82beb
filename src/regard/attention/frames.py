"""Where a mask is asked: pairs of positions, the sizes they stand in, and the stretches of keys that a row may see."""

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from regard.attention.stretches import Stretch, fewest, rest, shared, together

__all__ = ["Frame", "Index", "Spans", "Stretch"]


@dataclass(frozen=True)
class Index:
    """Pairs of one query and one key, as four integer tensors that broadcast together.

    Attributes:
        shift: what to add to a query's row number to get its place among the keys; a number, or broadcast as the rest.
        corner: in a tile of neighbours, the offset of its first pair: that of row r and column c is corner + c - r; a
            number, or of each group where items have shifts of their own. None where rows or columns were picked.
        queries: how many queries the item really has; a number, or broadcast as the rest.
        keys: how many keys the item really has; likewise.
    """

    batch: Tensor
    head: Tensor
    query: Tensor
    key: Tensor
    shift: Tensor | int = 0
    corner: int | Tensor | None = None
    queries: Tensor | int = 0
    keys: Tensor | int = 0

    @property
    def place(self) -> Tensor:
        """The query's place among the keys, counted so that the last query stands beside the last key.

        With a cache, or where an item's own lengths differ from the batch's, it is not the query's row number.
        """
        return self.query + self.shift

    @property
    def offset(self) -> Tensor:
        """The key's place less the query's. It is a number for every pair: to compare, `key` and `place` are enough."""
        return self.key - self.place

    def pairs(self, group: Tensor, row: Tensor, column: Tensor) -> "Index":
        """Some of these pairs, one by one: (pair, 1, 1)."""
        shape = torch.broadcast_shapes(*(axis.shape for axis in (self.batch, self.head, self.query, self.key)))
        picked = {
            name: value.expand(shape)[group, row, column].view(-1, 1, 1)
            for name, value in vars(self).items()
            if isinstance(value, Tensor) and name != "corner"
        }
        return dataclasses.replace(self, corner=None, **picked)

    def of_first_group(self) -> "Index":
        """The same pairs of one item, whatever the head: `head` stays as it is."""
        cut = {name: value[:1] for name, value in vars(self).items() if name != "head" and isinstance(value, Tensor)}
        return dataclasses.replace(self, **cut)


@dataclass(frozen=True)
class Frame:
    """The sizes of a request as masks see them: queries and keys, and how many of them each item really has."""

    batch: int
    queries: int
    keys: int
    query_lengths: Tensor | None = None
    key_lengths: Tensor | None = None

    @property
    def ragged(self) -> bool:
        """Whether items have lengths of their own."""
        return self.query_lengths is not None or self.key_lengths is not None

    @property
    def shift(self) -> Tensor | int:
        """Per item (batch,): what to add to a query's row number to get its position among the keys."""
        query, key = self.query_lengths, self.key_lengths
        if query is None and key is None:
            return self.keys - self.queries
        if query is key:
            return 0
        return (self.keys if key is None else key) - (self.queries if query is None else query)

    @cached_property
    def rows(self) -> Tensor:
        """The queries' numbers, (1, query), on the CPU."""
        return torch.arange(self.queries).unsqueeze(0)

    @cached_property
    def places(self) -> Tensor:
        """Each query's position among the keys, (batch or 1, query), on the CPU: spans decide what runs."""
        shift = self.shift
        return self.rows + (shift if isinstance(shift, int) else shift.cpu().unsqueeze(1))

    def index(
        self, batch: Tensor, head: Tensor, query: Tensor, key: Tensor, *, tile: tuple[int, int] | None = None
    ) -> Index:
        """The pairs at these indices; `tile`: their first row and column, where all are neighbours."""
        shift = self.shift
        shift = shift if isinstance(shift, int) else shift[batch]
        corner = None if tile is None else tile[1] - tile[0] - shift
        queries = self.queries if self.query_lengths is None else self.query_lengths[batch]
        keys = self.keys if self.key_lengths is None else self.key_lengths[batch]
        return Index(batch, head, query, key, shift, corner, queries, keys)


@dataclass(frozen=True)
class Spans:
    """Per query, where its allowed keys lie: outside of `outer` nothing is allowed, inside of `inner` everything is.

    Each is up to two stretches, the first before the second, that neither overlap nor touch unless one is empty; the
    outer is at least one. They are on the CPU: spans decide what runs. `&` and `|` are those of the masks; where their
    result is more than two stretches in some row, it is no longer exact.
    """

    outer: tuple[Stretch, ...]
    inner: tuple[Stretch, ...]

    @property
    def exact(self) -> bool:
        """Whether the two are known to be one, so that no pair need be asked about."""
        return self.outer is self.inner

    @classmethod
    def only(cls, start: Tensor, stop: Tensor, keys: int) -> "Spans":
        """Exactly the keys in [start, stop)."""
        stretch = (Stretch.of(start.clamp(0, keys), stop.clamp(0, keys)),)
        return cls(stretch, stretch)

    @classmethod
    def unknown(cls, frame: Frame) -> "Spans":
        """Anything may be allowed, nothing is known to be."""
        nothing = torch.zeros(1, frame.queries, dtype=torch.long)
        return cls((Stretch(nothing, nothing + frame.keys),), ())

    def __and__(self, other: "Spans") -> "Spans":
        outer, inner = fewest(shared(self.outer, other.outer))
        if not (self.exact and other.exact):
            inner = fewest(shared(self.inner, other.inner))[1]
        return Spans(outer, inner)

    def __or__(self, other: "Spans") -> "Spans":
        outer, inner = fewest(together(self.outer, other.outer))
        if not (self.exact and other.exact):
            inner = fewest(together(self.inner, other.inner))[1]
        return Spans(outer, inner)

    def others(self, frame: Frame) -> "Spans":
        """Those of the keys that these are not: what is outside of the inner, and what is outside of the outer."""
        outer, inner = fewest(rest(self.inner, frame.queries, frame.keys))
        if not self.exact:
            inner = fewest(rest(self.outer, frame.queries, frame.keys))[1]
        return Spans(outer, inner)

    def cover(self, keys: int) -> bool:
        """Whether every query is known to see all of so many keys."""
        if not self.inner:
            return False
        whole = [(stretch.start <= 0) & (stretch.stop >= keys) for stretch in self.inner]
        return bool((whole[0] if len(whole) == 1 else whole[0] | whole[1]).all())
