"""Which keys a mask allows to a query, and over how many of them equal weights would be spread."""

import numpy as np

from regard.inspection.record.record import LayerRecord
from regard.inspection.views.layer_arrays import equal_weights, hidden_pairs

__all__ = ["allowed_ends", "allowed_keys", "masked_keys"]

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
    counts = _counts(layer, row)
    return int(counts.flat[0]) if counts is not None and counts.size and (counts == counts.flat[0]).all() else 0


def allowed_ends(layer: LayerRecord) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The rows with the most and the fewest keys that their masks allow, the first ones of those.

    Rows without any key aren't counted.

    Args:
        layer: the layer.

    Returns:
        Of the two rows the number, from 0, and how many keys are allowed; None if all rows have as many, or if it
        depends on the head or isn't known.

    Example:
        >>> import regard, torch
        >>> from regard.modules import MultiHeadAttention
        >>> attention = MultiHeadAttention(4, heads=2).eval()
        >>> with regard.watch(attention) as seen:
        ...     _ = attention(torch.zeros(1, 3, 4), mask="causal")
        >>> allowed_ends(LayerRecord("layer 1", (seen[0],)))
        ((2, 3), (0, 1))
    """
    counts = _counts(layer, None)
    if counts is None or (counts != counts[:1]).any():
        return None
    some = [(row, count) for row, count in enumerate(counts[0].tolist()) if count]
    if len({count for _, count in some}) < 2:
        return None
    return max(some, key=lambda each: each[1]), min(some, key=lambda each: each[1])


def _counts(layer: LayerRecord, row: int | None) -> np.ndarray | None:
    """How many keys are allowed, [heads or 1, rows], of one row or of all; None: it isn't known."""
    queries, keys = layer.shape
    hidden, rows = hidden_pairs(layer), slice(None) if row is None else slice(row, row + 1)
    if hidden is None and any(call.mask is not None for call in layer.calls):
        which = [*range(queries)][rows]
        if layer.heads * len(which) * keys > _MOST_PAIRS:
            return None
        return (equal_weights(layer).weights(which) > 0).numpy().sum(-1, dtype=int)
    if hidden is not None and "start" in hidden:
        return (hidden["stop"] - hidden["start"])[None, rows]
    if hidden is not None and "pair" in hidden:
        return np.asarray(hidden["pair"])[:, rows].sum(-1, dtype=int)
    return np.full((1, queries), keys)[:, rows]


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
