"""Tables of all pairs as rules: a mask as an interval of keys for each query, a bias as one number for each distance.

Models of other libraries pass masks and biases as tables. Nearly all of these tables follow a rule, and a record keeps
the rule, in linear memory. A table that follows none is kept as it is.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from regard.attention import Bias, Causal, Index, Mask, Position, Sizes, Spans, Window
from regard.attention.masks import KeyRange, Pairs
from regard.attention.positions import OffsetBias

__all__ = ["AsScores", "Distances", "KeyIntervals", "as_parts", "bias_rule", "interval_rule", "mask_rule"]


@dataclass(frozen=True)
class KeyIntervals(Mask):
    """Each query may attend to the keys from its own `start` up to, not including, its own `stop`.

    Args:
        start, stop: (batch, head, query) integers; an axis of size 1 is shared.
    """

    start: Tensor
    stop: Tensor

    def allows(self, at: Index) -> Tensor:
        item, head = (
            torch.zeros_like(axis) if size == 1 else axis
            for axis, size in zip((at.batch, at.head), self.start.shape[:2], strict=True)
        )
        where = item, head, at.query
        return (at.key >= self.start[where]) & (at.key < self.stop[where])

    def spans(self, sizes: Sizes) -> Spans:
        start, stop = self.start.amin(1).to(sizes.device), self.stop.amax(1).to(sizes.device)
        return Spans.only(start, stop, sizes.keys, exact=self.start.shape[1] == 1)


@dataclass(frozen=True)
class Distances(OffsetBias):
    """score_ij += table[j - i + first], a number for each head and each distance, as in T5 and ALiBi.

    Args:
        table: (head, distance); one head is shared by all.
        first: minus the smallest distance.
    """

    table: Tensor
    first: int

    formulas: ClassVar[Mapping[str, str]] = {"scores": "b(j - i), from a table"}

    def bias(self, offset: Tensor) -> Tensor:
        return self.table[:, (offset + self.first).clamp(0, self.table.shape[1] - 1).flatten(1)[0]].unflatten(
            1, offset.shape[1:]
        )

    def select(self, heads: Tensor) -> "Distances":
        return self if len(self.table) == 1 else dataclasses.replace(self, table=self.table[heads])


@dataclass(frozen=True)
class AsScores:
    """Weights that are the scores themselves: for a table of weights that follow no known rule.

    Args:
        normaliser: the function that made the weights of unknown scores; "" if it is unknown too.
    """

    normaliser: str = ""

    def __call__(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        return scores if allowed is None else torch.where(allowed, scores, 0.0)


def as_parts(table: Tensor) -> tuple[Mask | None, Position | None]:
    """The mask and the bias of a table that is added to the scores, in which very low numbers hide.

    Args:
        table: (batch, head, query, key), real numbers; an axis of size 1 is shared.
    """
    hidden = table <= torch.finfo(table.dtype).min / 2
    if not hidden.any():
        return None, bias_rule(table)
    # In a row of equal, finite numbers softmax attends to everything alike, while a mask would leave nothing.
    nothing_left = hidden.all(-1)
    if nothing_left.any() and (nothing_left & (table > -torch.inf).any(-1)).any():
        return None, bias_rule(table)
    return mask_rule(~hidden), bias_rule(table.masked_fill(hidden, 0.0), hidden)


def mask_rule(table: Tensor) -> Mask | None:
    """The rule of a mask; None if it hides nothing.

    Args:
        table: (batch, head, query, key), True = may attend; an axis of size 1 is shared.

    Example:
        >>> mask_rule(torch.ones(1, 1, 3, 3, dtype=torch.bool).tril())
        Causal()
        >>> mask_rule(torch.tensor([[[[True, True, False]]]]))
        KeyRange(start=tensor([0]), stop=tensor([2]))
    """
    table = _shared(table)
    keys = table.shape[3]
    if not keys or table.all():
        return None
    seen = table.sum(-1)
    # argmax gives the first of equal numbers; it has no kernel for bool.
    start = table.byte().argmax(-1)
    stop = keys - table.flip(-1).byte().argmax(-1)
    if not torch.equal(torch.where(seen > 0, stop - start, 0), seen):
        return Pairs(table.clone())
    return interval_rule(start, start + seen, keys)


def interval_rule(start: Tensor, stop: Tensor, keys: int) -> Mask | None:
    """The rule of a mask that allows each query one interval of keys; None if it hides nothing.

    Args:
        start, stop: (batch, head, query) integers from 0 to `keys`; an axis of size 1 is shared. An interval that stops
            before its start is empty.
        keys: the number of keys.

    Example:
        >>> interval_rule(torch.zeros(1, 1, 3).long(), torch.tensor([[[2, 3, 4]]]), 4)
        Causal()
    """
    seen = (stop - start).clamp(min=0)
    if (seen == keys).all():
        return None
    start, stop = (torch.where(seen > 0, each, 0) for each in (start, stop))
    # Some models write the same mask once for each head, as T5 does with its bias.
    if torch.equal(start, start[:, :1].expand_as(start)) and torch.equal(stop, stop[:, :1].expand_as(stop)):
        start, stop, seen = start[:, :1], stop[:, :1], seen[:, :1]
    if start.shape[2] > 1 and (moving := _window(start, stop, seen, keys)) is not None:
        return moving
    if start.shape[1] == 1 and (start == start[..., :1]).all() and (stop == stop[..., :1]).all():
        return KeyRange(start[:, 0, 0], stop[:, 0, 0])
    return KeyIntervals(start, stop)


def _window(start: Tensor, stop: Tensor, seen: Tensor, keys: int) -> Mask | None:
    """The window that all queries have, counted so that the last query has the position of the last key."""
    queries = start.shape[2]
    position = torch.arange(queries, device=start.device) + keys - queries
    before, after = int((position - start).amax()), int((stop - 1 - position).amax())
    if before < 0 or after < 0 or not (seen > 0).all():
        return None
    whole = torch.equal(start, (position - before).clamp(min=0).expand_as(start))
    if not whole or not torch.equal(stop, (position + after + 1).clamp(max=keys).expand_as(stop)):
        return None
    return Causal() if after == 0 and before >= keys - 1 else Window(before, after)


def bias_rule(table: Tensor, hidden: Tensor | None = None) -> Position | None:
    """The rule of a bias; None if it changes no weight of a softmax.

    Args:
        table: (batch, head, query, key), real numbers; an axis of size 1 is shared.
        hidden: the pairs that are hidden, so that their bias has no influence.

    Example:
        >>> i = torch.arange(3.0)
        >>> bias_rule((i - i[:, None]).abs().view(1, 1, 3, 3))
        Distances(table=tensor([[2., 1., 0., 1., 2.]]), first=2)
    """
    table = _shared(table)
    if not table.any():
        return None
    if hidden is not None:
        # Hidden pairs were set to 0. They take the number that the other pairs of their distance have.
        filled = _along_diagonals(table, hidden)
        if filled is not None:
            return filled
    elif len(table) == 1 and table.shape[2] > 1 and torch.equal(table[..., 1:, 1:], table[..., :-1, :-1]):
        # The diagonals from the lower left corner to the upper right one.
        line = torch.cat([table[0, :, 1:, 0].flip(-1), table[0, :, 0]], -1)
        return Distances(line.clone(), table.shape[3] - 1)
    if table.shape[2] > 1 and torch.equal(table, table[..., :1, :].expand_as(table)):
        table = table[..., :1, :]
    return Bias(table.clone())


def _along_diagonals(table: Tensor, hidden: Tensor) -> Distances | None:
    """One number for each distance, of the pairs that aren't hidden; None if they differ."""
    if len(table) != 1 or table.shape[2] == 1:
        return None
    queries, keys = table.shape[2:]
    shown = ~hidden.expand(max(len(hidden), 1), *table.shape[1:]).any(0)
    rows = torch.arange(queries, device=table.device).unsqueeze(1)
    offset = (torch.arange(keys, device=table.device) - rows + queries - 1).expand_as(shown)
    line = table.new_zeros(table.shape[1], queries + keys - 1)
    line.scatter_reduce_(
        1, offset.flatten(1), table[0].masked_fill(~shown, -torch.inf).flatten(1), "amax", include_self=False
    )
    line = line.masked_fill(line == -torch.inf, 0.0)
    if not torch.equal(torch.where(shown, line.gather(1, offset.flatten(1)).view_as(table[0]), 0.0), table[0] * shown):
        return None
    return Distances(line, keys - 1)


def _shared(table: Tensor) -> Tensor:
    """The table with size 1 for every axis that was expanded."""
    where: Any = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in table.stride()[:2])
    return table[where]
