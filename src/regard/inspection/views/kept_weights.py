"""Which weights a page keeps, and in which form, so that it stays within a size.

Every layer of many items has an overview. Of the weights themselves, as many as fit are kept in this order: the layer
that is shown first; then the heads of the others, those that matter most first. Where not all heads of the layer that
is shown fit, its other heads and their average keep the largest weights of each row; so do heads of other layers, as
long as there is room.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from regard.inspection.record.record import LayerRecord, Record
from regard.inspection.views.allowed_keys import allowed_keys
from regard.inspection.views.layer_arrays import (
    OVERVIEW,
    are_products,
    hidden_pairs,
    mean_rows,
    overview,
    pairs_of_page,
    top_rows,
    vectors,
    weights_table,
)
from regard.page.arrays import Arrays

__all__ = ["First", "kept_weights"]

# Larger layers have an overview.
_OVERVIEW_FROM = 64
# Numbers are kept in full where they take no more than this.
_SMALL = 2**19
# The page shows something before it unpacks more than that.
_AT_ONCE = 2**21
# Of longer inputs there are no tables, which grow with the square of the length.
_TABLES = 512
# Vectors beside a table, from which the steps are told.
_FOR_STEPS = 2**17
# So many of the largest weights of a row are kept, at two numbers of 16 bits each.
_TOP = 16
# The share of its bytes that a vector takes at most, compressed, by the bytes of a number: 0.86 and 0.93 of noise.
_COMPRESSED = {2: 0.9, 4: 0.95}


class First(NamedTuple):
    """What a page shows first, from 0; None: the last layer, all heads, the average of the rows."""

    layer: int | None
    head: int | None
    row: int | None


def kept_weights(
    record: Record,
    arrays: Arrays,
    most_bytes: int,
    first: First,
    done: Callable[[], None] = lambda: None,
) -> list[dict[str, Any]]:
    """What a page keeps of the weights of each layer of a record.

    Args:
        record: the record.
        arrays: where they are added.
        most_bytes: the size up to which they may grow, compressed.
        first: what is shown first.
        done: called after each layer's overview, and at the end.
    """
    layer, head, row = first
    layers = [_Layer(each, hidden_pairs(each)) for each in record.layers]
    whole = sum(map(_least_bytes, layers))
    dtype: Any = np.float32 if whole <= _SMALL else np.float16
    room = _Room(arrays, most_bytes, dtype, parted=_overview_bytes(layers) + whole > _AT_ONCE)
    # Of these only the steps are told, whose result the table has.
    beside = sum(4 * each.record.heads * each.of_a_head for each in layers if room.is_table(each) and each.is_products)
    room.for_steps = dtype if beside <= _SMALL else np.float16
    pooled = record.outcomes is not None and any(place.query is None for place in record.outcomes.places)
    shown = len(layers) - 1 if layer is None else layer
    for each in layers:
        if each.mask is None:
            each.kept["allowed"] = allowed_keys(each.record, None)
        mask = pairs_of_page(each.record, each.mask)
        each.kept["mask"] = {name: arrays.add(value) for name, value in mask.items()}
        if each.mask is None and not mask and any(call.mask is not None for call in each.record.calls):
            # A page then can't tell which weights of 0 are those of masked items.
            each.kept["mask_unknown"] = True
    # The first block has what the page shows first.
    for each in sorted(layers, key=lambda each: each is not layers[shown]):
        if max(each.record.shape) > _OVERVIEW_FROM:
            room.put(each, overview(each.record, arrays))
            if pooled and not room.is_table(each):
                room.put(each, {"mean": arrays.add(mean_rows(each.record).astype(np.float16))})
        room.begin_block()
        done()
    if layers:
        matters = _matters(record)
        # Of heads that matter equally the first, since sorting keeps their order.
        heads = [(number, each) for number in range(len(layers)) for each in range(layers[number].record.heads)]
        heads.sort(key=lambda at: (at[0] != shown, at != (shown, head), -matters[at]))
        own = [each for number, each in heads if number == shown]
        room.keep_shown(layers[shown], own, named=head is not None)
        room.begin_block()
        room.keep(layers, [at for at in heads if at[0] != shown])
    arrays.block = 0
    if layers and layers[shown].later and row is not None:
        layers[shown].kept["row"] = _row(layers[shown].record, head, row, arrays)
    done()
    return [each.kept | ({"later": each.later} if each.later else {}) for each in layers]


@dataclass
class _Layer:
    """A layer, which keys its queries may attend to, and what is kept of it."""

    record: LayerRecord
    mask: dict[str, np.ndarray] | None
    kept: dict[str, Any] = field(default_factory=dict)
    later: list[dict[str, Any]] = field(default_factory=list)

    @property
    def numbers(self) -> int:
        """How many weights there are."""
        return math.prod((self.record.heads, *self.record.shape))

    @property
    def is_products(self) -> bool:
        """Whether the weights are those of queries and keys that can be kept."""
        return are_products(self.record, self.mask)

    @property
    def of_a_head(self) -> int:
        """How many numbers the queries and keys of a head are."""
        return sum(self.record.shape) * self.record.calls[0].query.shape[3]

    def keeps(self, name: str) -> bool:
        """Whether something of this name is kept."""
        return any(name in each for each in (self.kept, *self.later))

    def has(self, head: int) -> bool:
        """Whether all weights of a head are kept."""
        heads = [each["vectors"]["heads"] for each in (self.kept, *self.later) if "vectors" in each]
        return self.keeps("table") or head in itertools.chain(*heads)


def _row(layer: LayerRecord, head: int | None, row: int, arrays: Arrays) -> dict[str, Any]:
    """The row that is shown first, which the page needs before it has unpacked the rest."""
    weights = layer.weights([row])[:, 0]
    weights = weights.mean(0) if head is None else weights[head]
    return {"head": head, "query": row, "weights": arrays.add(weights.numpy())}


def _least_bytes(layer: _Layer) -> int:
    return 4 * min(layer.numbers, layer.record.heads * layer.of_a_head)


def _overview_bytes(layers: Sequence[_Layer]) -> int:
    return sum(4 * OVERVIEW**2 * each.record.heads for each in layers if max(each.record.shape) > _OVERVIEW_FROM)


def _matters(record: Record) -> dict[tuple[int, int], float]:
    """How much the answers change at most without each head; 0 if that wasn't measured."""
    found = {(number, head): 0.0 for number, each in enumerate(record.layers) for head in range(each.heads)}
    # Those of an encoder and of a decoder come before those of the layers.
    removed = record.outcomes.removed[-len(record.layers) :] if record.outcomes is not None else ()
    for number, heads in enumerate(removed):
        for head, row in enumerate(heads):
            found[number, head] = max((abs(each.change) for each in row if math.isfinite(each.change)), default=0.0)
    return found


class _Room:
    """The room that is left in a page, and what goes into it."""

    def __init__(self, arrays: Arrays, most_bytes: int, dtype: Any, parted: bool):
        self._arrays, self._most, self._dtype, self._parted = arrays, most_bytes, dtype, parted
        self._size = np.dtype(dtype).itemsize
        self.for_steps = dtype

    def begin_block(self) -> None:
        """Let the page unpack what comes now after it has shown what comes before, if it is much."""
        if self._parted:
            self._arrays.begin_block()

    def put(self, layer: _Layer, what: dict[str, Any]) -> None:
        """Keep something of a layer, in the block that the arrays are at."""
        if self._arrays.block:
            layer.later.append({"block": self._arrays.block, **what})
        else:
            layer.kept |= what

    @property
    def left(self) -> int:
        return self._most - self._arrays.packed_size

    def is_table(self, layer: _Layer) -> bool:
        """Whether all weights of a layer are kept as a table, if they fit, and not the vectors of its heads."""
        if not layer.is_products:
            return True
        most = max(layer.record.heads * self._vector_bytes(layer, self._size), 4 * _FOR_STEPS)
        return max(layer.record.shape) <= _TABLES and self._size * layer.numbers <= most

    def keep_shown(self, layer: _Layer, heads: list[int], *, named: bool) -> None:
        """Keep the layer that is shown first: its heads, or if they don't fit those of them that do, of the others and
        of the average the largest weights of each row.

        Args:
            heads: all its heads, those that are kept rather first.
            named: whether the first of them is the one that is shown.
        """
        fit, cost, rows = len(heads), self._head_cost(layer), self._rows_cost(layer)
        if not self.is_table(layer) and fit * cost > self.left:
            # Room for the largest weights of the other heads and of the average comes first.
            fit = min(fit, int((self.left - (fit + 1) * rows) // (cost - rows)) if cost > rows else self.left // cost)
            fit = max(int(named), fit)
        self._keep_exactly(layer, heads[:fit])
        if missing := [each for each in heads if not layer.has(each)]:
            self._keep_rows(layer, [None, *missing])

    def keep(self, layers: Sequence[_Layer], heads: list[tuple[int, int]]) -> None:
        """Keep of other layers what fits: heads, and of the others the largest weights of each row."""
        left, fitting = self.left, dict[int, list[int]]()
        for number, head in heads:
            layer = layers[number]
            if self.is_table(layer):
                # All heads of a table, or none.
                cost = self._size * layer.numbers if number not in fitting else 0
            else:
                cost = self._head_cost(layer)
            if cost <= left:
                fitting.setdefault(number, []).append(head)
                left -= cost
        for number, some in fitting.items():
            self._keep_exactly(layers[number], some)
        left, rows = self.left, dict[int, list[int | None]]()
        for number, head in heads:
            cost = self._rows_cost(layers[number])
            if cost <= left and not layers[number].has(head):
                rows.setdefault(number, []).append(head)
                left -= cost
        for number, some in rows.items():
            self._keep_rows(layers[number], some)

    def _keep_exactly(self, layer: _Layer, heads: list[int]) -> None:
        table = self._size * layer.numbers
        as_table, left = self.is_table(layer), self.left
        if as_table and table <= left:
            self.put(layer, weights_table(layer.record, self._arrays, self._dtype))
            left = min(self.left, _FOR_STEPS)
        # Where rounding to 16 bits changes the weights, 32 bits are kept, of fewer heads if need be.
        for kind in dict.fromkeys((self.for_steps if as_table else self._dtype, np.float32)):
            size = np.dtype(kind).itemsize
            # Beside a table the vectors of all heads are kept, or none.
            cost = self._vector_bytes(layer, size) if as_table else self._head_cost(layer, size)
            fit = min(len(heads), max(0, left) // max(1, cost))
            if not fit or (as_table and fit < layer.record.heads):
                break
            made = vectors(layer.record, self._arrays, sorted(heads[:fit]), kind, layer.mask)
            if made is not None:
                self.put(layer, {"vectors": made})
                return
        if not layer.keeps("table") and table <= self.left:
            self.put(layer, weights_table(layer.record, self._arrays, self._dtype))

    def _keep_rows(self, layer: _Layer, heads: list[int | None]) -> None:
        fit = max(0, self.left) // max(1, self._rows_cost(layer))
        if layer.keeps("overview") and heads[:fit]:
            self.put(layer, {"top": top_rows(layer.record, heads[:fit], _TOP, self._arrays)})

    def _vector_bytes(self, layer: _Layer, size: int) -> int:
        """The bytes of the vectors of a head."""
        return size * layer.of_a_head + 8 * layer.record.shape[0]

    def _head_cost(self, layer: _Layer, size: int | None = None) -> int:
        """About how many bytes a head takes, compressed."""
        size = self._size if size is None else size
        return int(_COMPRESSED[size] * self._vector_bytes(layer, size))

    def _rows_cost(self, layer: _Layer) -> int:
        """About how many bytes the largest weights of the rows of a head take."""
        queries, keys = layer.record.shape
        return queries * min(_TOP, keys) * 4
