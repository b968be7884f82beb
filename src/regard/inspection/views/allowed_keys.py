"""Over how many keys equal weights would be spread: those that a mask allows."""

from regard.inspection.record.record import LayerRecord
from regard.inspection.views.layer_arrays import hidden_pairs

__all__ = ["allowed_keys"]


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
    keys = layer.shape[1]
    hidden = hidden_pairs(layer)
    if hidden is None:
        return keys if all(call.mask is None for call in layer.calls) else 0
    rows = slice(None) if row is None else slice(row, row + 1)
    if "start" in hidden:
        counts = {*(hidden["stop"] - hidden["start"])[rows].tolist()}
    elif "pair" in hidden:
        counts = {*hidden["pair"][:, rows].sum(-1, dtype=int).flatten().tolist()}
    else:
        return keys
    return counts.pop() if len(counts) == 1 else 0
