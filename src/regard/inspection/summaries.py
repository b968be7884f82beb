"""Numbers drawn from weights: the average of heads, rankings, and whether the weights are what they should be."""

from typing import NamedTuple

import torch
from torch import Tensor

from regard.errors import ArgumentError
from regard.inspection.record import LayerRecord, Record
from regard.page.numbers import counted

__all__ = ["Choice", "RankedKey", "RankedKeys", "choose", "problems", "rank", "whole"]

# The normalisers whose weights sum to 1 over the keys; relu and sigmoid promise no such thing.
_SUM_TO_ONE = ("softmax", "sparsemax", "entmax")


class Choice(NamedTuple):
    """One matrix of weights (query, key) and the words for which one it is."""

    weights: Tensor
    title: str
    layer: LayerRecord


class RankedKey(NamedTuple):
    """A key by its index, from 0; its weight; and the sum of the weights down to it."""

    key: int
    weight: float
    total: float


class RankedKeys(NamedTuple):
    """The keys that a query attended to most; the sum of the weights of the others, and how many those are."""

    keys: tuple[RankedKey, ...]
    rest: float
    others: int


def choose(record: Record, layer: int | None = None, head: int | None = None) -> Choice:
    """Pick a layer and a head; they count from 1.

    Args:
        record: what was seen.
        layer: which layer; None is the last one.
        head: which head; None is the average of all, and the title says so.

    Raises:
        ArgumentError: the record has no attention, or no such layer or head; names those it has.

    Example:
        >>> seen = LayerRecord("layer 1", torch.tensor([[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]]))
        >>> record = Record(("I", "saw"), ("PRON", "VERB"), (0.9, 0.8), (seen,))
        >>> choose(record).title, choose(record).weights.tolist()
        ('Layer 1 of 1, average of heads 1-2', [[0.5, 0.5], [0.5, 0.5]])
        >>> choose(record, head=2).title
        'Layer 1 of 1, head 2 of 2'
    """
    if not record.layers:
        raise ArgumentError("`record` must hold the weights of a layer, but holds none. Nothing was observed.")
    layers = len(record.layers)
    number = layers if layer is None else layer
    if not 1 <= number <= layers:
        raise ArgumentError(f"`layer` must be {_range(layers)}, but is {number}. The last layer is {layers}.")
    chosen = record.layers[number - 1]
    place = f"Layer {number} of {layers}"
    if head is None and chosen.heads > 1:
        return Choice(chosen.weights.mean(0), f"{place}, average of heads 1-{chosen.heads}", chosen)
    head = 1 if head is None else head
    if not 1 <= head <= chosen.heads:
        raise ArgumentError(
            f"`head` must be {_range(chosen.heads)} in layer {number}, but is {head}. Leave it out for their average."
        )
    return Choice(chosen.weights[head - 1], f"{place}, head {head} of {chosen.heads}", chosen)


def whole(record: Record, layer: int | None = None, head: int | None = None) -> Choice:
    """What the whole looked at, as weights (1, key): the pooling's; without one, the average of what all items did.

    Args:
        record: what was seen.
        layer, head: of the average, as in `choose`; where one of them is given, the pooling isn't asked.

    Raises:
        ArgumentError: the record has neither, or no such layer or head.

    Example:
        >>> seen = LayerRecord("layer 1", torch.tensor([[[1.0, 0.0], [0.5, 0.5]]]))
        >>> pooling = LayerRecord("pooling", torch.tensor([[[0.25, 0.75]]]))
        >>> record = Record(("0.00 s", "0.01 s"), layers=(seen,), pooling=pooling, noun="frame")
        >>> whole(record).title, whole(record).weights.tolist()
        ('Pooling', [[0.25, 0.75]])
        >>> whole(record, layer=1).title, whole(record, layer=1).weights.tolist()
        ('Layer 1 of 1, head 1 of 1, average over all 2 frames', [[0.75, 0.25]])
    """
    if record.pooling is not None and layer is None and head is None:
        return Choice(record.pooling.weights.mean(0), "Pooling", record.pooling)
    choice = choose(record, layer, head)
    title = f"{choice.title}, average over all {counted(len(record.looking), record.noun)}"
    return Choice(choice.weights.mean(0, keepdim=True), title, choice.layer)


def rank(weights: Tensor, top: int) -> RankedKeys:
    """Rank the keys of one query by weight, largest first; of equal keys the earlier one, and NaN above everything.

    Args:
        weights: (key,), one query's weights.
        top: how many to list; keys of weight 0 aren't listed.

    Raises:
        ArgumentError: `top` is negative.

    Example:
        >>> keys, rest, others = rank(torch.tensor([0.125, 0.5, 0.375]), top=2)
        >>> [tuple(key) for key in keys], rest, others
        ([(1, 0.5, 0.5), (2, 0.375, 0.875)], 0.125, 1)
    """
    if top < 0:
        raise ArgumentError(f"`top` must be 0 or more, but is {top}.")
    # Sums in float64, so that a thousand small weights still add up to what they are.
    ordered, indices = weights.double().sort(descending=True, stable=True)
    attended = int((ordered != 0).sum())
    listed = min(top, attended)
    totals = ordered[:listed].cumsum(0).tolist()
    keys = zip(indices[:listed].tolist(), ordered[:listed].tolist(), totals, strict=True)
    return RankedKeys(tuple(RankedKey(*key) for key in keys), float(ordered[listed:].sum()), attended - listed)


def problems(choice: Choice) -> list[str]:
    """What is wrong with weights, as sentences; an empty list is good news.

    A row of zeros alone is right: a query to which everything is hidden attends to nothing.

    Example:
        >>> layer = LayerRecord("layer 1", torch.tensor([[[0.5, 0.25], [0.5, 0.5]]]), normaliser="softmax")
        >>> problems(Choice(layer.weights[0], "Layer 1 of 1, head 1 of 1", layer))
        ['Layer 1 of 1, head 1 of 1: the weights of 1 of 2 rows sum to something other than 1; the first is row 1.']
    """
    weights, title = choice.weights, choice.title
    found = []
    unusable = int((~weights.isfinite()).sum())
    if unusable:
        found.append(f"{title}: {unusable} of {weights.numel()} weights aren't finite numbers (NaN or infinite).")
    sums = weights.double().sum(-1)
    if choice.layer.normaliser in _SUM_TO_ONE:
        wrong = sums.isfinite() & ((sums - 1).abs() > 1e-3) & ~(weights == 0).all(-1)
        if wrong.any():
            first = int(torch.nonzero(wrong)[0]) + 1
            found.append(
                f"{title}: the weights of {int(wrong.sum())} of {len(wrong)} rows sum to something other than 1; the "
                f"first is row {first}."
            )
    return found


def _range(count: int) -> str:
    return "1" if count == 1 else f"from 1 to {count}"
