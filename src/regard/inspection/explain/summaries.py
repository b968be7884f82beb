"""Summaries of weights: averages over heads, rankings of keys, and checks."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from regard.errors import ArgumentError
from regard.inspection.record.record import LayerRecord, Record
from regard.page.numbers import counted, plural

__all__ = ["RankedKey", "RankedKeys", "Selection", "find_problems", "pooled_weights", "rank", "select_weights"]

# The normalisers whose weights sum to 1 over the keys; those of relu and sigmoid don't.
_SUM_TO_ONE = ("softmax", "sparsemax", "entmax")


@dataclass(frozen=True, eq=False)
class Selection:
    """The weights of one head of a layer, or of the average of its heads.

    Args:
        layer: the layer.
        title: which head of which layer it is, in words.
        head: the index of the head, from 0; None for the average.
        pooled: whether the weights are averaged over the queries too, so that there is one row.
    """

    layer: LayerRecord
    title: str
    head: int | None = None
    pooled: bool = False

    def blocks(self) -> Iterator[Tensor]:
        """The weights (row, key), a few rows at a time."""
        if self.pooled:
            rows = self.layer.shape[0]
            yield (sum(block.double().sum(0, keepdim=True) for block in self._rows()) / max(1, rows)).float()  # pyright: ignore[reportAttributeAccessIssue]
        else:
            yield from self._rows()

    @property
    def weights(self) -> Tensor:
        """The weights (row, key), in memory that grows with the square of the length."""
        return torch.cat([*self.blocks()])

    def _rows(self) -> Iterator[Tensor]:
        for block in self.layer.blocks():
            yield block.mean(0) if self.head is None else block[self.head]


class RankedKey(NamedTuple):
    """A key, as an index from 0; its weight; and the cumulative weight of the ranking up to it."""

    key: int
    weight: float
    total: float


class RankedKeys(NamedTuple):
    """The keys of the largest weights; the sum of the other weights, and their number."""

    keys: tuple[RankedKey, ...]
    rest: float
    others: int


def select_weights(record: Record, layer: int | None = None, head: int | None = None) -> Selection:
    """Select the weights of one layer and head, which count from 1.

    Args:
        record: the record.
        layer: the layer; None is the last one.
        head: the head; None is the average of all heads, and the title says so.

    Raises:
        ArgumentError: the record has no attention, or no such layer or head.

    Example:
        >>> seen = LayerRecord.of_weights("layer 1", torch.tensor([[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]]))
        >>> record = Record(("I", "saw"), ("PRON", "VERB"), (0.9, 0.8), (seen,))
        >>> select_weights(record).title, select_weights(record).weights.tolist()
        ('Layer 1 of 1, average of heads 1-2', [[0.5, 0.5], [0.5, 0.5]])
        >>> select_weights(record, head=2).title
        'Layer 1 of 1, head 2 of 2'
    """
    if not record.layers:
        raise ArgumentError("`record` must hold the weights of a layer, but holds none. Nothing was captured.")
    layers = len(record.layers)
    number = layers if layer is None else layer
    if not 1 <= number <= layers:
        raise ArgumentError(f"`layer` must be {_range(layers)}, but is {number}. The last layer is {layers}.")
    chosen = record.layers[number - 1]
    title = f"{'Cross-attention layer' if record.encoder or record.decoder else 'Layer'} {number} of {layers}"
    if chosen.is_effective:
        title += ", effective weights"
    if head is None and chosen.heads > 1:
        return Selection(chosen, f"{title}, average of heads 1-{chosen.heads}")
    channels = sum(call.heads for call in chosen.calls if call.is_of_channels)
    if channels and head is None:
        return Selection(chosen, f"{title}, average of {channels:,} channels")
    head = 1 if head is None else head
    if not 1 <= head <= chosen.heads:
        raise ArgumentError(
            f"`head` must be {_range(chosen.heads)} in layer {number}, but is {head}. Leave it out for their average."
        )
    return Selection(chosen, f"{title}, head {head} of {chosen.heads}", head - 1)


def pooled_weights(record: Record, layer: int | None = None, head: int | None = None) -> Selection:
    """The weights (1, key) of the attention pooling; without one, the average over the query items of a layer.

    Args:
        record: the record.
        layer, head: as in `select_weights`; if one of them is given, the average over the items is used.

    Raises:
        ArgumentError: the record has neither, or no such layer or head.

    Example:
        >>> seen = LayerRecord.of_weights("layer 1", torch.tensor([[[1.0, 0.0], [0.5, 0.5]]]))
        >>> pooling = LayerRecord.of_weights("pooling", torch.tensor([[[0.25, 0.75]]]))
        >>> record = Record(("0.00 s", "0.01 s"), layers=(seen,), pooling=pooling, noun="frame")
        >>> pooled_weights(record).title, pooled_weights(record).weights.tolist()
        ('Pooling', [[0.25, 0.75]])
        >>> pooled_weights(record, layer=1).title, pooled_weights(record, layer=1).weights.tolist()
        ('Layer 1 of 1, head 1 of 1, average over both frames', [[0.75, 0.25]])
    """
    if record.pooling is not None and layer is None and head is None:
        return Selection(record.pooling, "Pooling")
    selection = select_weights(record, layer, head)
    count = len(record.query_items)
    over = f"both {plural(record.noun)}" if count == 2 else f"all {counted(count, record.noun)}"
    title = f"{selection.title}, average over {over}"
    return replace(selection, title=title, pooled=True)


def rank(weights: Tensor, top: int) -> RankedKeys:
    """Rank the keys of one query by weight, the largest first. Equal keys keep their order, and NaN comes first.

    Args:
        weights: (key,), the weights of one query.
        top: the number of keys to list; keys of weight 0 aren't listed.

    Raises:
        ArgumentError: `top` is negative.

    Example:
        >>> keys, rest, others = rank(torch.tensor([0.125, 0.5, 0.375]), top=2)
        >>> [tuple(key) for key in keys], rest, others
        ([(1, 0.5, 0.5), (2, 0.375, 0.875)], 0.125, 1)
    """
    if top < 0:
        raise ArgumentError(f"`top` must be 0 or more, but is {top}.")
    # In float64, so that the sum of a thousand small weights is exact enough.
    ordered, indices = weights.double().sort(descending=True, stable=True)
    attended = int((ordered != 0).sum())
    listed = min(top, attended)
    totals = ordered[:listed].cumsum(0).tolist()
    keys = zip(indices[:listed].tolist(), ordered[:listed].tolist(), totals, strict=True)
    return RankedKeys(tuple(RankedKey(*key) for key in keys), float(ordered[listed:].sum()), attended - listed)


def find_problems(selection: Selection) -> list[str]:
    """The problems of weights, as sentences: numbers that aren't finite, and rows that don't sum to 1.

    A row of zeros is correct: a query for which all keys are hidden attends to nothing.

    Example:
        >>> layer = LayerRecord.of_weights("layer 1", torch.tensor([[[0.5, 0.25], [0.5, 0.5]]]), normaliser="softmax")
        >>> find_problems(Selection(layer, "Layer 1 of 1, head 1 of 1", head=0))
        ['Layer 1 of 1, head 1 of 1: the weights of 1 of 2 rows sum to something other than 1; the first is row 1.']
    """
    unusable = count = wrong = rows = 0
    first = None
    for weights in selection.blocks():
        unusable += int((~weights.isfinite()).sum())
        count += weights.numel()
        sums = weights.double().sum(-1)
        off = sums.isfinite() & ((sums - 1).abs() > 1e-3) & ~(weights == 0).all(-1)
        if first is None and off.any():
            first = rows + int(torch.nonzero(off)[0]) + 1
        wrong += int(off.sum())
        rows += len(weights)
    found = []
    if unusable:
        found.append(f"{selection.title}: {unusable} of {count} weights aren't finite numbers (NaN or infinite).")
    if wrong and selection.layer.normaliser in _SUM_TO_ONE:
        found.append(
            f"{selection.title}: the weights of {wrong} of {rows} rows sum to something other than 1; the first is row "
            f"{first}."
        )
    return found


def _range(count: int) -> str:
    return "1" if count == 1 else f"from 1 to {count}"
