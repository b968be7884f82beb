"""Mixers: modules that combine the vectors of a sequence without attention, by a convolution or an RNN."""

from collections.abc import Callable

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import UnknownNameError
from regard.modules.dropout import Dropout
from regard.modules.encoder import EncoderLayer
from regard.modules.padding import zero_padding
from regard.modules.recurrence import recur

__all__ = ["CELLS", "ConvolutionMixer", "MixerLayer", "MixerSublayer", "RecurrentMixer"]


class MixerSublayer(nn.Module):
    """x + mixer(norm(x)); without a mixer, x."""

    def __init__(self, width: int, mixer: nn.Module | None, *, dropout: float):
        super().__init__()
        self.norm = None if mixer is None else nn.LayerNorm(width)
        self.mixer = mixer
        self.dropout = Dropout(dropout)

    def forward(
        self, vectors: Float[Tensor, "batch length width"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch length width"]:
        if self.mixer is None or self.norm is None:
            return vectors
        # The norm and the layers below add a bias to padding too, but the mixer must see zeros there.
        normed = zero_padding(self.norm(vectors), lengths)
        return vectors + self.dropout(self.mixer(normed, lengths))


class MixerLayer(MixerSublayer):
    """One layer: x + mixer(norm(x)), then x + connected(norm(x))."""

    def __init__(self, width: int, mixer: nn.Module | None, *, hidden: int, dropout: float):
        super().__init__(width, mixer, dropout=dropout)
        self.connected = EncoderLayer(width, 1, hidden=hidden, dropout=dropout, attention=False)

    def forward(
        self, vectors: Float[Tensor, "batch length width"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch length width"]:
        return self.connected(super().forward(vectors, lengths))


class ConvolutionMixer(nn.Module):
    """A convolution: a linear map of each vector and its neighbours, with zeros beyond the ends."""

    def __init__(self, width: int, before: int, after: int):
        super().__init__()
        self.reach = before, after
        self.linear = nn.Conv1d(width, width, before + 1 + after)

    def forward(
        self, vectors: Float[Tensor, "batch length width"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch length width"]:
        # (batch length width) -> (batch width length), as convolutions expect it, and back.
        return self.linear(nn.functional.pad(vectors.mT, self.reach)).mT


class RecurrentMixer(nn.Module):
    """An RNN in one direction or both, and a linear map of its states."""

    def __init__(self, width: int, cell: str, directions: int):
        super().__init__()
        if cell not in CELLS:
            raise UnknownNameError("cell", cell, CELLS)
        size = -(-width // directions)
        self.cells = CELLS[cell](width, size, batch_first=True, bidirectional=directions == 2)
        self.output = nn.Linear(directions * size, width)

    def forward(
        self, vectors: Float[Tensor, "batch length width"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch length width"]:
        return self.output(recur(self.cells, vectors, lengths)[0])


CELLS: dict[str, Callable[..., nn.RNNBase]] = {"gru": nn.GRU, "lstm": nn.LSTM}
