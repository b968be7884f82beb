"""Where a mask is asked: pairs of positions, the sizes they stand in, and the stretches of keys that a row may see."""

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Frame", "Index", "Spans"]


@dataclass(frozen=True)
class Index:
    """Pairs of one query and one key, as four integer tensors that broadcast together.

    `offset` is the key's position less the query's, counted so that the last query stands beside the last key: with a
    cache, or where an item's own lengths differ from the batch's, a query's position is not its row number.
    """

    batch: Tensor
    head: Tensor
    query: Tensor
    key: Tensor
    offset: Tensor


@dataclass(frozen=True)
class Frame:
    """The sizes of a request as masks see them: queries and keys, and how many of them each item really has."""

    batch: int
    queries: int
    keys: int
    query_lengths: Tensor | None = None
    key_lengths: Tensor | None = None

    @property
    def shift(self) -> Tensor | int:
        """Per item (batch,): what to add to a query's row number to get its position among the keys."""
        query, key = self.query_lengths, self.key_lengths
        if query is None and key is None:
            return self.keys - self.queries
        return (self.keys if key is None else key) - (self.queries if query is None else query)

    @property
    def places(self) -> Tensor:
        """Each query's position among the keys, (batch or 1, query), on the CPU: spans decide what runs."""
        shift = self.shift
        rows = torch.arange(self.queries).unsqueeze(0)
        return rows + (shift if isinstance(shift, int) else shift.cpu().unsqueeze(1))

    def index(self, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Index:
        """The pairs at these indices, with their offsets."""
        shift = self.shift
        return Index(batch, head, query, key, key - query - (shift if isinstance(shift, int) else shift[batch]))


@dataclass(frozen=True)
class Spans:
    """Per query, (batch or 1, query): outside [start, stop) nothing is allowed, inside [full_start, full_stop) all.

    Where the two are the same, no pair need be asked about.
    """

    start: Tensor
    stop: Tensor
    full_start: Tensor
    full_stop: Tensor

    @classmethod
    def only(cls, start: Tensor, stop: Tensor, keys: int) -> "Spans":
        """Exactly the keys in [start, stop)."""
        start, stop = torch.broadcast_tensors(start.clamp(0, keys), stop.clamp(0, keys))
        return cls(start, stop, start, stop)

    @classmethod
    def unknown(cls, frame: Frame) -> "Spans":
        """Anything may be allowed, nothing is known to be."""
        nothing = torch.zeros(1, frame.queries, dtype=torch.long)
        return cls(nothing, nothing + frame.keys, nothing, nothing)
