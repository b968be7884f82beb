"""The sizes of a request as masks see them, and the indices of its pairs of query and key."""

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

__all__ = ["Index", "ItemLengths", "Origin", "Sizes"]

_CPU = torch.device("cpu")
_Rows = TypeVar("_Rows", int, Tensor)


@dataclass(frozen=True)
class Index:
    """Pairs of one query and one key, as four integer tensors that broadcast together.

    Attributes:
        shift: what to add to a query's row number to get its position among the keys; a number, or a tensor that
            broadcasts with the others.
        first_offset: in a tile of contiguous rows and columns, the offset of its first pair; the offset in row r and
            column c is first_offset + c - r. A number, or a tensor with one for each group where items have their own
            shifts. None where the rows or columns aren't contiguous.
        queries: the item's own number of queries, without padding; a number, or a tensor that broadcasts.
        keys: the item's own number of keys, likewise.
        first_head: of a slice of a request, the number of its first head in the whole; `head` counts from there,
            since parts hold the parameters of these heads alone.
    """

    batch: Tensor
    head: Tensor
    query: Tensor
    key: Tensor
    shift: Tensor | int = 0
    first_offset: int | Tensor | None = None
    queries: Tensor | int = 0
    keys: Tensor | int = 0
    first_head: int = 0

    @property
    def whole_head(self) -> Tensor:
        """The head's number in the whole request."""
        return self.head + self.first_head if self.first_head else self.head

    @property
    def position(self) -> Tensor:
        """The query's position among the keys, counted so that the last query has the position of the last key.

        With a cache, or where an item has its own lengths, this differs from the query's row number.
        """
        return self.query + self.shift

    @property
    def offset(self) -> Tensor:
        """The key's position minus the query's, one number per pair: comparing `key` and `position` is cheaper."""
        return self.key - self.position

    def pairs(self, group: Tensor, row: Tensor, column: Tensor) -> "Index":
        """Some of these pairs as single pairs, (pair, 1, 1)."""
        shape = torch.broadcast_shapes(*(axis.shape for axis in (self.batch, self.head, self.query, self.key)))
        picked = {
            name: value.expand(shape)[group, row, column].view(-1, 1, 1)
            for name, value in vars(self).items()
            if isinstance(value, Tensor) and name != "first_offset"
        }
        return dataclasses.replace(self, first_offset=None, **picked)

    def of_first_group(self) -> "Index":
        """The pairs of the first group alone; `head` is left unchanged."""
        cut = {name: value[:1] for name, value in vars(self).items() if name != "head" and isinstance(value, Tensor)}
        return dataclasses.replace(self, **cut)


class ItemLengths(NamedTuple):
    """The items' own lengths, (batch,) each; None where all have that of the batch."""

    queries: Tensor | None = None
    keys: Tensor | None = None


@dataclass(frozen=True)
class Origin:
    """Where a slice of a request lies in the whole.

    Attributes:
        query, key, head: the numbers of its first query, key and head.
        queries, keys: how many the whole has.
        gaps: if its queries aren't contiguous in the whole: the rows before which some are left out, in ascending
            order, each with how many.

    Example:
        >>> origin = Origin.of_slices([slice(2, 4), slice(6, 9)], queries=9, keys=9)
        >>> origin.gaps, origin.numbers(torch.arange(5))
        (((2, 2),), tensor([2, 3, 6, 7, 8]))
        >>> origin.slices(slice(0, 5))
        [slice(2, 4, None), slice(6, 9, None)]
    """

    query: int
    key: int
    head: int
    queries: int
    keys: int
    gaps: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of_slices(cls, rows: Sequence[slice], queries: int, keys: int, first_key: int = 0) -> "Origin":
        """The origin of a request whose queries are those of these slices of the whole, in ascending order."""
        some = [each for each in rows if each.start < each.stop] or list(rows[:1])
        ends = itertools.accumulate(each.stop - each.start for each in some[:-1])
        skipped = [after.start - before.stop for before, after in itertools.pairwise(some)]
        gaps = tuple((row, skip) for row, skip in zip(ends, skipped, strict=True) if skip)
        return cls(some[0].start, first_key, 0, queries, keys, gaps)

    def numbers(self, rows: _Rows) -> _Rows:
        """The numbers that these rows have in the whole."""
        numbers = rows + self.query
        for row, skipped in self.gaps:
            numbers = numbers + skipped * (rows >= row)
        return numbers

    def slices(self, rows: slice) -> list[slice]:
        """The queries of the whole that these rows are."""
        cuts = [rows.start, *(row for row, _ in self.gaps if rows.start < row < rows.stop), rows.stop]
        firsts = [(self.numbers(start), stop - start) for start, stop in itertools.pairwise(cuts)]
        return [slice(first, first + count) for first, count in firsts]


@dataclass(frozen=True)
class Sizes:
    """The sizes of a request as masks see them, and each item's own lengths, if it has any.

    Attributes:
        device: where masks compute their spans: on the CPU, where tiles are planned, or for a kernel that plans its own
            on the queries' device.
        origin: where these queries and keys lie in a larger request, if they are a slice of one. Then indices,
            positions and lengths are those of the whole, and `rows` alone count from 0.
    """

    batch: int
    queries: int
    keys: int
    query_lengths: Tensor | None = None
    key_lengths: Tensor | None = None
    device: torch.device = _CPU
    origin: Origin | None = None

    @property
    def whole(self) -> "Sizes":
        """The sizes of the request that this is a slice of."""
        if self.origin is None:
            return self
        return dataclasses.replace(self, queries=self.origin.queries, keys=self.origin.keys, origin=None)

    @property
    def ragged(self) -> bool:
        """Whether the items have their own lengths."""
        return self.query_lengths is not None or self.key_lengths is not None

    @property
    def shift(self) -> Tensor | int:
        """Per item (batch,): what to add to a query's row number to get its position among the keys."""
        if self.origin is not None:
            return self.whole.shift
        query, key = self.query_lengths, self.key_lengths
        if query is None and key is None:
            return self.keys - self.queries
        if query is key:
            return 0
        return (self.keys if key is None else key) - (self.queries if query is None else query)

    @cached_property
    def rows(self) -> Tensor:
        """The queries' row numbers, (1, query), on `device`."""
        return torch.arange(self.queries, device=self.device).unsqueeze(0)

    @cached_property
    def positions(self) -> Tensor:
        """Each query's position among the keys, (batch or 1, query), on `device`."""
        shift = self.shift
        rows = self.rows if self.origin is None else self.origin.numbers(self.rows)
        return rows + (shift if isinstance(shift, int) else shift.to(self.device).unsqueeze(1))

    @property
    def columns(self) -> Tensor:
        """The keys' positions, (1, key), on `device`."""
        first = 0 if self.origin is None else self.origin.key
        return torch.arange(first, first + self.keys, device=self.device).unsqueeze(0)

    def index(
        self, batch: Tensor, head: Tensor, query: Tensor, key: Tensor, *, tile: tuple[int, int] | None = None
    ) -> Index:
        """The pairs at these indices. `tile`: the first row and column, if rows and columns are contiguous."""
        if self.origin is not None:
            return self._index_in_whole(batch, head, query, key, tile, self.origin)
        shift = self.shift
        shift = shift[batch] if isinstance(shift, Tensor) else shift
        first_offset = None if tile is None else tile[1] - tile[0] - shift
        queries = self.queries if self.query_lengths is None else self.query_lengths[batch]
        keys = self.keys if self.key_lengths is None else self.key_lengths[batch]
        return Index(batch, head, query, key, shift, first_offset, queries, keys)

    def _index_in_whole(
        self, batch: Tensor, head: Tensor, query: Tensor, key: Tensor, tile: tuple[int, int] | None, origin: Origin
    ) -> Index:
        if tile is not None:
            contiguous = len(origin.slices(slice(tile[0], tile[0] + query.numel()))) == 1
            tile = (origin.numbers(tile[0]), tile[1] + origin.key) if contiguous else None
        found = self.whole.index(batch, head, origin.numbers(query), key + origin.key, tile=tile)
        return dataclasses.replace(found, first_head=origin.head)
