"""Where a mask is asked: pairs of positions, the sizes they stand in, and the stretches of keys that a row may see."""

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

__all__ = ["Index", "Sizes"]


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
    first_offset: int | Tensor | None = None
    queries: Tensor | int = 0
    keys: Tensor | int = 0

    @property
    def position(self) -> Tensor:
        """The query's place among the keys, counted so that the last query stands beside the last key.

        With a cache, or where an item's own lengths differ from the batch's, it is not the query's row number.
        """
        return self.query + self.shift

    @property
    def offset(self) -> Tensor:
        """The key's place less the query's. It is a number for every pair: to compare, `key` and `place` are enough."""
        return self.key - self.position

    def pairs(self, group: Tensor, row: Tensor, column: Tensor) -> "Index":
        """Some of these pairs, one by one: (pair, 1, 1)."""
        shape = torch.broadcast_shapes(*(axis.shape for axis in (self.batch, self.head, self.query, self.key)))
        picked = {
            name: value.expand(shape)[group, row, column].view(-1, 1, 1)
            for name, value in vars(self).items()
            if isinstance(value, Tensor) and name != "first_offset"
        }
        return dataclasses.replace(self, first_offset=None, **picked)

    def of_first_group(self) -> "Index":
        """The same pairs of one item, whatever the head: `head` stays as it is."""
        cut = {name: value[:1] for name, value in vars(self).items() if name != "head" and isinstance(value, Tensor)}
        return dataclasses.replace(self, **cut)


@dataclass(frozen=True)
class Sizes:
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
    def positions(self) -> Tensor:
        """Each query's position among the keys, (batch or 1, query), on the CPU: spans decide what runs."""
        shift = self.shift
        return self.rows + (shift if isinstance(shift, int) else shift.cpu().unsqueeze(1))

    def index(
        self, batch: Tensor, head: Tensor, query: Tensor, key: Tensor, *, tile: tuple[int, int] | None = None
    ) -> Index:
        """The pairs at these indices; `tile`: their first row and column, where all are neighbours."""
        shift = self.shift
        shift = shift if isinstance(shift, int) else shift[batch]
        first_offset = None if tile is None else tile[1] - tile[0] - shift
        queries = self.queries if self.query_lengths is None else self.query_lengths[batch]
        keys = self.keys if self.key_lengths is None else self.key_lengths[batch]
        return Index(batch, head, query, key, shift, first_offset, queries, keys)
