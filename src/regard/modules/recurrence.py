"""An RNN over sequences of unequal length, of which some may be empty."""

from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

__all__ = ["recur"]


def recur(
    cells: nn.RNNBase, vectors: Float[Tensor, "batch length width"], lengths: Int[Tensor, " batch"]
) -> tuple[Float[Tensor, "batch length state"], Float[Tensor, "layer batch size"]]:
    """Read each sequence from its first real vector to its last, and in the other direction if `cells` has two.

    Args:
        cells: a GRU, LSTM or RNN of PyTorch, batch first.
        vectors: what is read; padding isn't.
        lengths: (batch,) how many vectors of each sequence are real.

    Returns:
        The states of the last layer after each vector, both directions side by side, zeros at padding; and the state
        that each layer and direction ended in, zeros for an empty sequence.

    Example:
        >>> import torch
        >>> states, last = recur(nn.GRU(4, 3, batch_first=True), torch.ones(2, 5, 4), torch.tensor([5, 0]))
        >>> states.shape, last.shape, bool(states[1].any()), torch.equal(states[0, 4], last[0, 0])
        (torch.Size([2, 5, 3]), torch.Size([1, 2, 3]), False, True)
    """
    batch, length, _ = vectors.shape
    directions = 2 if cells.bidirectional else 1
    if not batch or not length:
        states = vectors.new_zeros(batch, length, directions * cells.hidden_size)
        return states, vectors.new_zeros(directions * cells.num_layers, batch, cells.hidden_size)
    # PyTorch packs no sequence without a vector: an empty one reads a single one, and that is wiped out again.
    packed = pack_padded_sequence(vectors, lengths.cpu().clamp(min=1), batch_first=True, enforce_sorted=False)
    read: tuple[Any, Any] = cells(packed)
    states, _ = pad_packed_sequence(read[0], batch_first=True, total_length=length)
    last: Tensor = read[1][0] if isinstance(read[1], tuple) else read[1]
    empty = (lengths == 0).to(vectors.device)
    return states.masked_fill(empty[:, None, None], 0.0), last.masked_fill(empty[:, None], 0.0)
