"""Which keys a mask allows to a query, and over how many of them equal weights would be spread."""

import numpy as np

from regard.inspection.record.record import LayerRecord
from regard.inspection.views.layer_arrays import equal_weights, hidden_pairs

__all__ = ["allowed_keys", "masked_keys"]

# Pairs that are looked at where a mask follows no rule.
_MOST_PAIRS = 2**18


def allowed_keys(layer: LayerRecord, row: int | None) -> int:
    """Over how many keys the equal weights of a row would be spread: those that its mask allows.

    Args:
        layer: the layer.
        row: the number of the query, from 0; None: all rows together.

    Returns:
        The number; 0 if it depends on the head or, of all rows, on the row, or if it isn't known.

    Example:
        >>> import regard, torch
        >>> from regard.modules import MultiHeadAttention
        >>> attention = MultiHeadAttention(4, heads=2).eval()
        >>> with regard.watch(attention) as seen:
        ...     _ = attention(torch.zeros(1, 3, 4), mask="causal")
        >>> layer = LayerRecord("layer 1", (seen[0],))
        >>> [allowed_keys(layer, row) for row in (0, 2, None)]
        [1, 3, 0]
    """
    queries, keys = layer.shape
    hidden = hidden_pairs(layer)
    if hidden is None:
        if all(call.mask is None for call in layer.calls):
            return keys
        which = range(queries) if row is None else [row]
        if layer.heads * len(which) * keys > _MOST_PAIRS:
            return 0
        hidden, row = {"pair": (equal_weights(layer).weights(which) > 0).numpy()}, None
    rows = slice(None) if row is None else slice(row, row + 1)
    if "start" in hidden:
        counts = {*(hidden["stop"] - hidden["start"])[rows].tolist()}
    elif "pair" in hidden:
        counts = {*hidden["pair"][:, rows].sum(-1, dtype=int).flatten().tolist()}
    else:
        return keys
    return counts.pop() if len(counts) == 1 else 0


def masked_keys(layer: LayerRecord, head: int | None, row: int) -> tuple[bool, ...]:
    """Which keys the mask hides from a query: there the weight is 0 whatever the scores are.

    Args:
        layer: the layer.
        head: the number of the head, from 0; None: the average of all heads, which all have to hide a key.
        row: the number of the query, from 0.

    Returns:
        For each key whether it is hidden; none is if the mask isn't known.

    Example:
        >>> import regard, torch
        >>> from regard.modules import MultiHeadAttention
        >>> attention = MultiHeadAttention(4, heads=2).eval()
        >>> with regard.watch(attention) as seen:
        ...     _ = attention(torch.zeros(1, 3, 4), mask="causal")
        >>> masked_keys(LayerRecord("layer 1", (seen[0],)), None, 1)
        (False, False, True)
    """
    keys, hidden = layer.shape[1], hidden_pairs(layer)
    if hidden is None:
        if all(call.mask is None for call in layer.calls) or layer.heads * keys > _MOST_PAIRS:
            return (False,) * keys
        allowed = (equal_weights(layer).weights([row])[:, 0] > 0).numpy()
    elif "start" in hidden:
        number = np.arange(keys)
        allowed = ((number >= hidden["start"][row]) & (number < hidden["stop"][row]))[None]
    elif "pair" in hidden:
        allowed = hidden["pair"][:, row] > 0
    else:
        return (False,) * keys
    # One table may stand for all heads.
    own = allowed if head is None or len(allowed) == 1 else allowed[[head]]
    return tuple(np.logical_not(own.any(0)).tolist())
