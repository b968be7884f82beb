"""The weight that a watched model gave to the pairs that a change hides: what it attended to, beside what mattered."""

import torch

from regard.errors import ArgumentError
from regard.inspection.explain.changes import HideKey, HidePair
from regard.inspection.record.seen import Seen

__all__ = ["attended"]


def attended(seen: Seen, change: HideKey | HidePair) -> float:
    """The mean weight, over items, layers, heads and queries, of the pairs that a change hides.

    Beside the effect of the change: weights say what is attended to, effects what mattered.

    Args:
        seen: the model as it ran without the change.
        change: what a change would hide.

    Raises:
        ArgumentError: the change hides nothing, or nothing in what was seen.

    Example:
        >>> from torch import nn
        >>> from regard.inspection import watch
        >>> layer = nn.TransformerEncoderLayer(8, nhead=2, batch_first=True).eval()
        >>> with watch(layer) as seen:
        ...     output = layer(torch.randn(1, 5, 8))
        >>> round(sum(attended(seen, HideKey(key)) for key in range(1, 6)), 4)
        1.0
    """
    if not isinstance(change, HideKey | HidePair):
        raise ArgumentError(f"`change` must hide a key or a pair, as HideKey(3) does, but is {change!r}.")
    numbers = {name: number for number, name in enumerate(dict.fromkeys(seen.names), 1)}
    where = change.where()
    total, count = 0.0, 0
    for layer in seen:
        if not change.in_layer(numbers[layer.name], layer.name) or change.missing(layer):
            continue
        rows = None if where.query is None else torch.tensor([where.query], device=layer.query.device)
        for _, block in layer.blocks(rows):
            weights = block[..., where.key]
            weights = weights if where.head is None else weights[:, where.head]
            total, count = total + float(weights.double().sum()), count + weights.numel()
    if not count:
        raise ArgumentError(f"`change` must hide something in what was seen, but nothing there fits: {change}.")
    return total / count
