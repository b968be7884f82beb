"""Over how many keys equal weights would be spread: those that a mask allows."""

from regard.inspection.record.record import LayerRecord
from regard.inspection.views.layer_arrays import equal_weights, hidden_pairs

__all__ = ["allowed_keys"]

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
