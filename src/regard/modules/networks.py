"""Networks over a sequence of vectors, which differ in one thing: how a vector learns of the others.

| name | what a vector sees of the others |
|---|---|
| connected | nothing |
| window | so many before and after it |
| convolution | in each layer its nearest: after all layers, a receptive field |
| recurrent | all before it, through the state of an RNN |
| bidirectional | all, through the states of two RNNs |
| attention | all, or what the mask allows |
| graph_attention | the same |

The rest is the same, so that a comparison is fair: each layer is x + mix(norm(x)), then x + connected(norm(x)), and a
norm stands at the end, as in `Encoder`. Each net has one linear map for its mixing beside what makes it what it is.
Only graph_attention is attention alone: no residual path, nothing fully connected, and no norm at the end.
"""

import functools
import inspect
import operator
from collections.abc import Iterable
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Lengths
from regard.attention.masks import as_mask
from regard.attention.validation import check_count
from regard.errors import ArgumentError, UnknownNameError
from regard.modules.encoder import Encoder
from regard.modules.graph_attention import GraphAttentionEncoder
from regard.modules.mixing import MixedLayer, Neighbours, Reading
from regard.modules.padding import is_full, zero_padding

__all__ = [
    "NETWORKS",
    "AttentionNetwork",
    "BidirectionalNetwork",
    "ConnectedNetwork",
    "ConvolutionNetwork",
    "GraphAttentionNetwork",
    "Network",
    "RecurrentNetwork",
    "WindowNetwork",
    "build_network",
]


class Network(nn.Module):
    """Layers of mixing and fully connected in turn: as many vectors come out as go in.

    What padding holds doesn't matter, and it comes out as zeros.

    Args:
        width: the size of the vectors.
        mixers: for each layer the module (vectors, lengths) -> vectors that lets them look at each other, or None.
        hidden: the size of the fully connected layer inside.
        dropout: the share dropped of what each sublayer adds.

    Attributes:
        attends: whether it has scores, and so obeys a mask and takes a bias.
    """

    attends = False

    def __init__(self, width: int, mixers: Iterable[nn.Module | None], *, hidden: int, dropout: float = 0.0):
        super().__init__()
        self.width = width
        self.layers = nn.ModuleList(MixedLayer(width, mixer, hidden=hidden, dropout=dropout) for mixer in mixers)
        self.norm = nn.LayerNorm(width)

    def forward(
        self,
        vectors: Float[Tensor, "batch length width"],
        lengths: Int[Tensor, " batch"],
        mask: Any = None,
        bias: Tensor | None = None,
    ) -> Float[Tensor, "batch length width"]:
        """The vectors in context.

        Args:
            vectors: the sequences, padding behind.
            lengths: (batch,) how many vectors of each are real.
            mask: what may look at what, beside padding, such as a graph's edges. Only attention can obey one.
            bias: what is added to the scores of every layer, broadcastable to (batch, head, query, key), such as a
                number for each kind of bond. Only attention has scores.

        Raises:
            ArgumentError: vectors of another width, lengths that can't be, a mask where there is no attention, or a
                bias where there is none.
        """
        if vectors.shape[-1] != self.width:
            raise ArgumentError(f"`vectors` must be of size {self.width}, but are of size {vectors.shape[-1]}.")
        vectors = zero_padding(vectors, lengths)
        if vectors.numel():
            vectors = self.mix(vectors, lengths, mask, bias)
        return zero_padding(self.norm(vectors), lengths)

    def mix(
        self,
        vectors: Float[Tensor, "batch length width"],
        lengths: Int[Tensor, " batch"],
        mask: Any,
        bias: Tensor | None,
    ) -> Float[Tensor, "batch length width"]:
        """All layers, of sequences that are not empty throughout and whose padding is zeros."""
        if bias is not None:
            raise ArgumentError("`bias` must be None for a network without attention: it has no scores.")
        if mask is not None and any(layer.mixer is not None for layer in self.layers):
            raise ArgumentError("`mask` must be None for a network that mixes without attention: it can't obey one.")
        for layer in self.layers:
            vectors = layer(vectors, lengths)
        return vectors


class ConnectedNetwork(Network):
    """A fully connected net on each vector alone: equal vectors give equal outputs, wherever they stand.

    Source: the notes, 001 "Sequence Labeling": it can't tell the two "saw" of "I saw a saw" apart.

    Example:
        >>> import torch
        >>> ConnectedNetwork(8, layers=2, hidden=16)(torch.zeros(3, 5, 8), torch.tensor([5, 2, 0])).shape
        torch.Size([3, 5, 8])
    """

    def __init__(self, width: int, layers: int, *, hidden: int, dropout: float = 0.0):
        super().__init__(width, [None] * _checked(layers), hidden=hidden, dropout=dropout)


class WindowNetwork(Network):
    """A fully connected net on each vector together with its neighbours, so many before and after it.

    The first layer sees the window, and the others what it made of it: more layers see no further. Beyond the ends
    stand zeros.

    Args:
        width, layers, hidden, dropout: as in `Network`.
        before: how many vectors before its own.
        after: how many behind.

    Source: the notes, 001 "Sequence Labeling".
    """

    def __init__(self, width: int, layers: int, *, hidden: int, dropout: float = 0.0, before: int, after: int):
        check_count("before", before, "how many vectors before its own each sees", least=0)
        check_count("after", after, "how many vectors behind its own each sees", least=0)
        mixers = [Neighbours(width, before, after), *[None] * (_checked(layers, least=1) - 1)]
        super().__init__(width, mixers, hidden=hidden, dropout=dropout)


class ConvolutionNetwork(Network):
    """A stack of convolutions: the higher the layer, the further it sees.

    Args:
        width, layers, hidden, dropout: as in `Network`.
        kernel: how many vectors a filter covers, its own in the middle (of an even number, one more behind).

    Source: the notes, 000 and 001: filters, and what stacking them does.

    Example:
        >>> ConvolutionNetwork(8, layers=2, hidden=16, kernel=3).receptive_field
        5
    """

    def __init__(self, width: int, layers: int, *, hidden: int, dropout: float = 0.0, kernel: int):
        check_count("kernel", kernel, "how many vectors a filter covers")
        mixers = [Neighbours(width, (kernel - 1) // 2, kernel // 2) for _ in range(_checked(layers))]
        super().__init__(width, mixers, hidden=hidden, dropout=dropout)
        self.kernel = kernel

    @property
    def receptive_field(self) -> int:
        """How many vectors of the input an output depends on: 1 + layers x (kernel - 1)."""
        return 1 + len(self.layers) * (self.kernel - 1)


class RecurrentNetwork(Network):
    """RNNs that read from the first vector to the last: each knows what was before it, and nothing of what comes.

    Args:
        width, layers, hidden, dropout: as in `Network`.
        cell: "gru" or "lstm".

    Source: the notes, 000 and 001, "Self-attention v.s. RNN".
    """

    def __init__(self, width: int, layers: int, *, hidden: int, dropout: float = 0.0, cell: str = "gru"):
        mixers = [Reading(width, cell, directions=1) for _ in range(_checked(layers))]
        super().__init__(width, mixers, hidden=hidden, dropout=dropout)


class BidirectionalNetwork(Network):
    """Two RNNs in each layer, one from each end, each with half of the width.

    Args:
        width, layers, hidden, dropout: as in `Network`.
        cell: "gru" or "lstm".

    Source: the notes, 000: an RNN of both directions sees the context on both sides.
    """

    def __init__(self, width: int, layers: int, *, hidden: int, dropout: float = 0.0, cell: str = "gru"):
        mixers = [Reading(width, cell, directions=2) for _ in range(_checked(layers))]
        super().__init__(width, mixers, hidden=hidden, dropout=dropout)


class AttentionNetwork(Network):
    """Self-attention: the `Encoder`, with lengths instead of a mask, as the other networks are called.

    Args:
        width, layers, hidden, dropout: as in `Network`.
        heads, position, score, weights, share, attention_dropout: as in `Encoder`.
        mask: what else hides, beside padding: `Window(2, 2)` is truncated attention.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), figure 1, left; the notes, 001.
    """

    attends = True
    _encoder = Encoder

    def __init__(
        self,
        width: int,
        layers: int,
        *,
        hidden: int,
        dropout: float = 0.0,
        heads: int,
        position: Any = None,
        score: Any = "scaled_dot",
        weights: Any = "softmax",
        share: str = "none",
        attention_dropout: float = 0.0,
        mask: Any = None,
    ):
        super().__init__(width, [], hidden=hidden, dropout=dropout)
        parts = {"score": score, "weights": weights, "share": share, "attention_dropout": attention_dropout}
        parts |= {"position": position, "hidden": hidden, "dropout": dropout}
        encoder = self._encoder(width, _checked(layers), heads, **parts)
        # What the encoder ends in is the norm that every network ends in.
        self.norm, encoder.norm = encoder.norm, nn.Identity()  # pyright: ignore[reportAttributeAccessIssue]
        self.encoder = encoder
        self.mask = None if mask is None else as_mask(mask)

    def mix(
        self,
        vectors: Float[Tensor, "batch length width"],
        lengths: Int[Tensor, " batch"],
        mask: Any,
        bias: Tensor | None,
    ) -> Float[Tensor, "batch length width"]:
        masks = [as_mask(more) for more in (self.mask, mask) if more is not None]
        if not is_full(vectors, lengths):
            masks.insert(0, Lengths(lengths))
        allowed = functools.reduce(operator.and_, masks) if masks else None
        return self.encoder(vectors, mask=allowed, bias=bias)


class GraphAttentionNetwork(AttentionNetwork):
    """Attention to a graph's neighbours, layer on layer, with no residual path and no fully connected layers.

    Args:
        width, layers, heads, position, score, weights, share, attention_dropout, mask: as in `AttentionNetwork`.
        hidden: not used: nothing in it is fully connected. It stands here so that every network is built alike.
        dropout: the share dropped of what each layer but the first is given.

    Source: Velickovic et al. 2018 (arXiv 1710.10903), section 2; the notes, 001: on a graph only an edge is looked
        along.
    """

    _encoder = GraphAttentionEncoder


def _checked(layers: int, least: int = 0) -> int:
    check_count("layers", layers, "how many layers", least)
    return layers


def build_network(name: str, width: int, layers: int, *, hidden: int, dropout: float = 0.0, **parts: Any) -> Network:
    """The network of that name.

    Args:
        name: one of `NETWORKS`.
        width, layers, hidden, dropout: what every network has.
        **parts: what only this one has: `before` and `after`, `kernel`, `cell`, `heads`, `position`, ...

    Raises:
        UnknownNameError: no network has that name.
        ArgumentError: a part is missing, or is none of this network's.

    Example:
        >>> type(build_network("window", 8, 2, hidden=16, before=2, after=1)).__name__
        'WindowNetwork'
    """
    if name not in NETWORKS:
        raise UnknownNameError("name", name, NETWORKS)
    common = ("width", "layers", "hidden", "dropout")
    takes = {key: part for key, part in inspect.signature(NETWORKS[name]).parameters.items() if key not in common}
    if unknown := [part for part in parts if part not in takes]:
        known = f"one of {', '.join(takes)}" if takes else "left out"
        raise ArgumentError(f"`{unknown[0]}` is no part of the network {name!r}: it must be {known}.")
    if missing := [key for key, part in takes.items() if part.default is part.empty and key not in parts]:
        raise ArgumentError(f"`{'`, `'.join(missing)}` must be given for the network {name!r}.")
    return NETWORKS[name](width, layers, hidden=hidden, dropout=dropout, **parts)


NETWORKS: dict[str, Any] = {
    "attention": AttentionNetwork,
    "graph_attention": GraphAttentionNetwork,
    "connected": ConnectedNetwork,
    "window": WindowNetwork,
    "convolution": ConvolutionNetwork,
    "recurrent": RecurrentNetwork,
    "bidirectional": BidirectionalNetwork,
}
