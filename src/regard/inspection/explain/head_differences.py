"""How much the weights of each head differ between two records."""

import math

import torch

from regard.inspection.explain.alignment import Alignment
from regard.inspection.record.record import LayerRecord, Record

__all__ = ["head_differences"]

# Of larger layers rows are taken, evenly spaced, so that a long text doesn't take minutes.
_MOST_WEIGHTS = 2**24
_FEWEST_ROWS = 16


def head_differences(first: Record, second: Record, alignment: Alignment) -> tuple[tuple[float, ...], ...]:
    """The fraction of the weight of each head that is on other items in the second record.

    It is half the sum of the differences of a row, without their signs, averaged over the rows that have a partner: for
    weights that sum to 1, the total variation distance, from 0 (the same weights) to 1 (all on other items). The weight
    of an item without a partner differs as a whole.

    Args:
        first, second: the records.
        alignment: what `align` gave for them.

    Returns:
        For each layer that both have, and each head that it has in both: the fraction; NaN if no row has a partner, or
        if a weight isn't a finite number.

    Example:
        >>> from regard.inspection.explain.alignment import align
        >>> layers = (LayerRecord.of_weights("layer 1", torch.tensor([[[0.5, 0.5], [0.5, 0.5]]])),)
        >>> others = (LayerRecord.of_weights("layer 1", torch.tensor([[[0.5, 0.5], [0.25, 0.75]]])),)
        >>> one, other = Record(("a", "saw"), layers=layers), Record(("a", "saw"), layers=others)
        >>> head_differences(one, other, align(one, other))
        ((0.125,),)
    """
    return tuple(_of_layer(*each, alignment) for each in zip(first.layers, second.layers, strict=False))


def _of_layer(first: LayerRecord, second: LayerRecord, alignment: Alignment) -> tuple[float, ...]:
    heads = min(first.heads, second.heads)
    rows = [(one, other) for one, other in alignment.queries if one is not None and other is not None]
    keys = [(one, other) for one, other in alignment.items if one is not None and other is not None]
    if not rows or not keys:
        return (math.nan,) * heads
    a_keys, b_keys = (list(each) for each in zip(*keys, strict=True))
    a_alone = [one for one, other in alignment.items if one is not None and other is None]
    b_alone = [other for one, other in alignment.items if other is not None and one is None]
    widest = max(first.heads, second.heads) * max(first.shape[1], second.shape[1])
    most = max(_FEWEST_ROWS, _MOST_WEIGHTS // widest)
    rows = rows[:: -(-len(rows) // most)]
    total = torch.zeros(heads, dtype=torch.float64)
    # A few rows at a time, so that memory grows with the length and not with its square.
    for start in range(0, len(rows), _FEWEST_ROWS):
        own, others = zip(*rows[start : start + _FEWEST_ROWS], strict=True)
        a, b = first.weights(own)[:heads].double(), second.weights(others)[:heads].double()
        both = (a[..., a_keys] - b[..., b_keys]).abs().sum(-1)
        total += (both + a[..., a_alone].abs().sum(-1) + b[..., b_alone].abs().sum(-1)).sum(-1) / 2
    return tuple((total / len(rows)).tolist())
