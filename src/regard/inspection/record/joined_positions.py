"""The position scheme of joined calls: the one that all have, or a rule or table of the biases that each had."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from regard.attention import Bias
from regard.inspection.capture.by_hand.rules import Distances, bias_rule

if TYPE_CHECKING:
    from regard.inspection.record.seen_layer import SeenLayer

__all__ = ["JoinedCall", "along_queries", "joined_positions"]


@dataclass(frozen=True, eq=False)
class JoinedCall:
    """A call, and which keys each of its queries may attend to.

    Args:
        layer: the call.
        start, stop: (batch, head, query), on the CPU; an axis of size 1 is shared.
    """

    layer: "SeenLayer"
    start: Tensor
    stop: Tensor

    @cached_property
    def needed(self) -> Tensor:
        """(batch or 1,), how many of the first keys of each item any query may attend to."""
        return torch.where(self.start < self.stop, self.stop, 0).amax((1, 2))

    @property
    def hidden(self) -> Tensor:
        """(batch, head, query, key), which pairs are hidden."""
        keys = torch.arange(self.layer.key.shape[2])
        return (keys < self.start.unsqueeze(-1)) | (keys >= self.stop.unsqueeze(-1))

    @property
    def offsets(self) -> tuple[int, int]:
        """The smallest distance of a key from its query, and the largest, among those that aren't hidden."""
        queries, keys = self.layer.query.shape[2], self.layer.key.shape[2]
        position = torch.arange(queries) + keys - queries
        some = self.start < self.stop
        if not some.any():
            return 0, -1
        return int((self.start - position)[some].min()), int((self.stop - 1 - position)[some].max())


def joined_positions(calls: list[JoinedCall], same_part: Callable[[Any, Any], bool]) -> Iterator[tuple[Any, list[str]]]:
    """The schemes that may be that of all calls together, with sentences about them, the simplest one first."""
    own = [call.layer.position for call in calls]
    if all(same_part(own[0], each) for each in own[1:]):
        yield own[0], []
    if not all(each is None or isinstance(each, Bias | Distances) for each in own):
        return
    if all(isinstance(each, Bias) and each.table.shape[-2] == 1 for each in own):
        # One number for each key, of which later calls have more.
        yield own[-1], []
    line = _line(calls)
    if line is not None:
        yield line, []
    if any(isinstance(each, Bias) for each in own):
        table = _table(calls)
        said = "Its biases follow no known rule, so they are kept as a table of all pairs."
        yield table, [said] if isinstance(table, Bias) and table.table.shape[2] > 1 else []


def _line(calls: list[JoinedCall]) -> Distances | None:
    """One number for each head and distance, where the calls agree on it; None if they don't."""
    lines = []
    for call in calls:
        low, high = call.offsets
        values = _values(call, torch.arange(low, high + 1)) if low <= high else None
        if low <= high and values is None:
            return None
        lines.append((low, values))
    given = [(low, values) for low, values in lines if values is not None]
    if not given:
        return None
    lowest = min(low for low, _ in given)
    length = max(low + values.shape[1] for low, values in given) - lowest
    heads = max(len(values) for _, values in given)
    whole = given[0][1].new_zeros(heads, length)
    known = torch.zeros(length, dtype=torch.bool, device=whole.device)
    for low, values in given:
        where = slice(low - lowest, low - lowest + values.shape[1])
        values = values.expand(heads, -1)
        if not torch.equal(whole[:, where][:, known[where]], values[:, known[where]]):
            return None
        whole[:, where], known[where] = values, True
    return Distances(whole, -lowest)


def _values(call: JoinedCall, offsets: Tensor) -> Tensor | None:
    """(head, distance), what a call adds at these distances; None if it depends on more."""
    position = call.layer.position
    if isinstance(position, Distances):
        table = position.table
        return table[:, (offsets.to(table.device) + position.first).clamp(0, table.shape[1] - 1)]
    if position is None:
        return call.layer.query.new_zeros(1, len(offsets))
    table = _as_table(call)
    if len(table) != 1 or call.layer.query.shape[2] != 1:
        return None
    keys = call.layer.key.shape[2]
    return table[0, :, 0].expand(-1, keys)[:, (offsets + keys - 1).to(table.device)]


def _table(calls: list[JoinedCall]) -> Any:
    """The biases of all pairs, as a rule if they follow one."""
    keys = calls[-1].layer.key.shape[2]
    tables, hidden = [], []
    for call in calls:
        queries, own = call.layer.query.shape[2], call.layer.key.shape[2]
        table = _as_table(call)
        table = table.expand(*table.shape[:2], queries, own)
        tables.append(functional.pad(table, (0, keys - own)))
        gone = call.hidden
        hidden.append(functional.pad(gone, (0, keys - own), value=True))
    whole, gone = (along_queries(each) for each in (tables, hidden))
    gone = gone.to(whole.device)
    return bias_rule(whole.masked_fill(gone, 0.0), gone)


def _as_table(call: JoinedCall) -> Tensor:
    """(batch, head, query, key), what a call adds to its scores; an axis of size 1 is shared."""
    layer = call.layer
    queries, keys = layer.query.shape[2], layer.key.shape[2]
    if layer.position is None:
        return layer.query.new_zeros(1, 1, 1, 1)
    if isinstance(layer.position, Bias):
        table = layer.position.table
        table = table.reshape((1,) * (4 - table.ndim) + tuple(table.shape))
        # Attention that is written out adds a table to all items, which the record has for each of them.
        return table[:1] if torch.equal(table, table[:1].expand_as(table)) else table
    offset = torch.arange(keys) - (torch.arange(queries) + keys - queries).unsqueeze(1)
    line = layer.position.table
    return line[:, (offset.to(line.device) + layer.position.first).clamp(0, line.shape[1] - 1)].unsqueeze(0)


def along_queries(tensors: list[Tensor]) -> Tensor:
    """Tensors (batch, head, query, ...) of several calls as one; an axis of size 1 is shared by items or heads."""
    items, heads = (max(each.shape[axis] for each in tensors) for axis in (0, 1))
    return torch.cat([each.expand(items, heads, *each.shape[2:]) for each in tensors], dim=2)
