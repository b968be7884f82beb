"""Networks over a sequence of vectors, which differ in how the vectors of a sequence are combined.

| name | what a vector depends on, beside itself |
|---|---|
| identity | nothing: it stays as it is |
| connected | nothing |
| window | a fixed number of vectors before and after it |
| convolution | its neighbours in each layer: a receptive field that grows with depth |
| recurrent | all vectors before it, through the state of an RNN |
| bidirectional | all vectors, through the states of two RNNs |
| attention | all vectors, or those that the mask allows |
| convolution_attention | its neighbours, by a convolution, then all vectors, or those that the mask allows |
| graph_attention | as for attention |

Everything else is equal, so that a comparison is fair: each layer is x + mixer(norm(x)), then x + connected(norm(x)),
and a norm follows the last layer, as in `Encoder`. Each mixer includes one linear map of its output. A layer of
convolution_attention has two mixers, one after the other. The exception is graph_attention, which consists of attention
alone: no residual connections, no feed-forward networks, no final norm.
"""

import functools
import inspect
import operator
from collections.abc import Iterable
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention.masks import as_mask
from regard.attention.validation import check_count
from regard.distributed import with_neighbours
from regard.errors import ArgumentError, UnknownNameError
from regard.modules.encoder import Encoder
from regard.modules.graph_attention import GraphAttentionEncoder
from regard.modules.mixers import ConvolutionMixer, MixerLayer, MixerSublayer, RecurrentMixer
from regard.modules.padding import checked_vectors, padding_mask, zero_padding
from regard.modules.projections import Projections
from regard.modules.slices import by_slices

__all__ = [
    "NETWORKS",
    "AttentionNetwork",
    "BidirectionalNetwork",
    "ConnectedNetwork",
    "ConvolutionAndAttentionNetwork",
    "ConvolutionNetwork",
    "GraphAttentionNetwork",
    "IdentityNetwork",
    "Network",
    "RecurrentNetwork",
    "WindowNetwork",
    "build_network",
]


class Network(nn.Module):
    """Layers of a mixer and a feed-forward network, which return as many vectors as they are given.

    The content of padding doesn't matter, and zeros are returned for it.

    Args:
        width: the size of the vectors.
        mixers: the mixer of each layer, a module (vectors, lengths) -> vectors, or None.
        hidden: the size of the hidden layer of the feed-forward networks.
        dropout: the fraction dropped of what each sublayer adds.

    Attributes:
        attends: whether the network uses attention, so that it accepts a mask and a bias.
    """

    attends = False

    def __init__(self, width: int, mixers: Iterable[nn.Module | None], *, hidden: int, dropout: float = 0.0):
        super().__init__()
        self.width = width
        self.layers = nn.ModuleList(MixerLayer(width, mixer, hidden=hidden, dropout=dropout) for mixer in mixers)
        self.norm = nn.LayerNorm(width)

    def forward(
        self,
        vectors: Float[Tensor, "batch length width"],
        lengths: Int[Tensor, " batch"],
        mask: Any = None,
        bias: Tensor | None = None,
    ) -> Float[Tensor, "batch length width"]:
        """The contextual vectors.

        Args:
            vectors: the sequences, padded at the end.
            lengths: (batch,) the number of real vectors of each sequence.
            mask: which vectors may attend to which, in addition to padding, such as a graph's edges; for attention
                only.
            bias: a bias that is added to the scores of every layer, broadcastable to (batch, head, query, key), such as
                a number for each kind of bond; for attention only.

        Raises:
            ArgumentError: vectors of another width, invalid lengths, or a mask or a bias for a network without
                attention.
        """
        vectors = checked_vectors(vectors, lengths, self.width)
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
        """Apply all layers to sequences that aren't all empty and whose padding is zeros."""
        if bias is not None:
            raise ArgumentError("`bias` must be None for a network without attention: it has no scores.")
        if mask is not None and any(layer.mixer is not None for layer in self.layers):
            raise ArgumentError("`mask` must be None for a network without attention: its mixers can't apply one.")
        for layer in self.layers:
            vectors = layer(vectors, lengths)
        return vectors


class IdentityNetwork(Network):
    """No layers: each vector stays as it is, without a norm, for vectors that need nothing more.

    Args:
        width: the size of the vectors.
        layers, hidden, dropout: have no effect.

    Source: Iyyer et al. 2015 (ACL P15-1162), section 2: a mean of vectors and a linear layer, the neural bag of words.

    Example:
        >>> import torch
        >>> IdentityNetwork(1)(torch.tensor([[[3.0], [99.0]]]), torch.tensor([1])).tolist()
        [[[3.0], [0.0]]]
    """

    def __init__(self, width: int, layers: int = 0, *, hidden: int = 0, dropout: float = 0.0):
        _checked(layers)
        super().__init__(width, [], hidden=hidden)
        self.norm = nn.Identity()  # pyright: ignore[reportAttributeAccessIssue]


class ConnectedNetwork(Network):
    """A feed-forward network on each vector alone: equal vectors give equal outputs, whatever their position.

    Source: the notes, 001 "Sequence Labeling": it can't tell the two "saw" of "I saw a saw" apart.

    Example:
        >>> import torch
        >>> ConnectedNetwork(8, layers=2, hidden=16)(torch.zeros(3, 5, 8), torch.tensor([5, 2, 0])).shape
        torch.Size([3, 5, 8])
    """

    def __init__(self, width: int, layers: int, *, hidden: int, dropout: float = 0.0):
        super().__init__(width, [None] * _checked(layers), hidden=hidden, dropout=dropout)


class WindowNetwork(Network):
    """A feed-forward network on a window around each vector.

    Only the first layer sees the window, so that more layers don't widen it. Beyond the ends the window holds zeros.

    Args:
        width, layers, hidden, dropout: as in `Network`.
        before: the number of vectors before the own one.
        after: the number of vectors after it.

    Source: the notes, 001 "Sequence Labeling".
    """

    def __init__(self, width: int, layers: int, *, hidden: int, dropout: float = 0.0, before: int, after: int):
        check_count("before", before, "how many vectors before its own each sees", least=0)
        check_count("after", after, "how many vectors after its own each sees", least=0)
        mixers = [ConvolutionMixer(width, before, after), *[None] * (_checked(layers, least=1) - 1)]
        super().__init__(width, mixers, hidden=hidden, dropout=dropout)


class ConvolutionNetwork(Network):
    """A stack of convolutions, whose receptive field grows with each layer.

    Args:
        width, layers, hidden, dropout: as in `Network`.
        kernel: the number of vectors that a filter covers, centred on its own (if even, with one more after it).

    Source: the notes, 000 and 001: filters, and what stacking them does.

    Example:
        >>> ConvolutionNetwork(8, layers=2, hidden=16, kernel=3).receptive_field
        5
    """

    def __init__(self, width: int, layers: int, *, hidden: int, dropout: float = 0.0, kernel: int):
        mixers = [_centred_convolution(width, kernel) for _ in range(_checked(layers))]
        super().__init__(width, mixers, hidden=hidden, dropout=dropout)
        self.kernel = kernel

    @property
    def receptive_field(self) -> int:
        """The number of input vectors that an output depends on: 1 + layers x (kernel - 1)."""
        return 1 + len(self.layers) * (self.kernel - 1)


class RecurrentNetwork(Network):
    """RNNs from the first vector to the last: each output depends on the vectors before it, not on those after it.

    Args:
        width, layers, hidden, dropout: as in `Network`.
        cell: "gru" or "lstm".

    Source: the notes, 000 and 001, "Self-attention v.s. RNN".
    """

    def __init__(self, width: int, layers: int, *, hidden: int, dropout: float = 0.0, cell: str = "gru"):
        mixers = [RecurrentMixer(width, cell, directions=1) for _ in range(_checked(layers))]
        super().__init__(width, mixers, hidden=hidden, dropout=dropout)


class BidirectionalNetwork(Network):
    """Two RNNs in each layer, one in each direction, each with half of the width.

    Args:
        width, layers, hidden, dropout: as in `Network`.
        cell: "gru" or "lstm".

    Source: the notes, 000: an RNN of both directions sees the context on both sides.
    """

    def __init__(self, width: int, layers: int, *, hidden: int, dropout: float = 0.0, cell: str = "gru"):
        mixers = [RecurrentMixer(width, cell, directions=2) for _ in range(_checked(layers))]
        super().__init__(width, mixers, hidden=hidden, dropout=dropout)


class AttentionNetwork(Network):
    """Self-attention: the `Encoder`, called with lengths instead of a mask like the other networks.

    Args:
        width, layers, hidden, dropout: as in `Network`.
        heads, position, score, weights, attention_dropout, engine: as in `Encoder`.
        projections: as in `MultiHeadAttention`; None: the usual ones of a layer.
        approximation: as in `MultiHeadAttention`.
        mask: a mask in addition to padding: `Window(2, 2)` is truncated attention.
        residual: as in `Encoder`.

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
        projections: Projections | None = None,
        attention_dropout: float = 0.0,
        engine: str = "auto",
        approximation: Any = None,
        mask: Any = None,
        residual: bool = True,
    ):
        super().__init__(width, [], hidden=hidden, dropout=dropout)
        parts = {"score": score, "weights": weights, "attention_dropout": attention_dropout, "engine": engine}
        parts |= {"position": position, "hidden": hidden, "dropout": dropout, "residual": residual}
        parts["approximation"] = approximation
        if projections is not None:
            parts["projections"] = projections
        encoder = self._encoder(width, _checked(layers), heads, **parts)
        # The encoder's final norm becomes that of the network.
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
        return self.encoder(vectors, mask=self._allowed(vectors, lengths, mask), bias=bias)

    def _allowed(self, vectors: Float[Tensor, "batch length width"], lengths: Int[Tensor, " batch"], mask: Any) -> Any:
        """Which vectors may attend to which: all that the masks and padding allow; None if that is all of them."""
        masks = [as_mask(more) for more in (self.mask, mask) if more is not None]
        return padding_mask(vectors, lengths, functools.reduce(operator.and_, masks) if masks else None)


class ConvolutionAndAttentionNetwork(AttentionNetwork):
    """A convolution, then attention, in each layer: phrases of neighbours, and what they have to do with each other.

    A layer is x + convolution(norm(x)), then x + attention(norm(x)), then x + connected(norm(x)). The convolution
    doesn't know the mask: on a graph, whose nodes have no neighbours by their number, use attention alone.

    Args:
        width, layers, hidden, dropout, heads, position, score, weights, projections, attention_dropout, engine,
            approximation, mask: as in `AttentionNetwork`. A position that is added to the inputs is added before the
            first convolution.
        kernel: as in `ConvolutionNetwork`.

    Source: Gulati et al. 2020 (arXiv 2005.08100), section 2, attention and convolution in turn; here the convolution
        comes first and is that of `ConvolutionNetwork`, so that each of the two can be left out for comparison.

    Example:
        >>> import torch
        >>> network = ConvolutionAndAttentionNetwork(8, layers=2, hidden=16, heads=2, kernel=3)
        >>> network(torch.zeros(3, 5, 8), torch.tensor([5, 2, 0])).shape
        torch.Size([3, 5, 8])
    """

    def __init__(
        self,
        width: int,
        layers: int,
        *,
        hidden: int,
        dropout: float = 0.0,
        kernel: int,
        heads: int,
        position: Any = None,
        score: Any = "scaled_dot",
        weights: Any = "softmax",
        projections: Projections | None = None,
        attention_dropout: float = 0.0,
        engine: str = "auto",
        approximation: Any = None,
        mask: Any = None,
    ):
        super().__init__(
            width,
            layers,
            hidden=hidden,
            dropout=dropout,
            heads=heads,
            position=position,
            score=score,
            weights=weights,
            projections=projections,
            attention_dropout=attention_dropout,
            engine=engine,
            approximation=approximation,
            mask=mask,
        )
        mixers = [_centred_convolution(width, kernel) for _ in range(layers)]
        self.convolutions = nn.ModuleList(MixerSublayer(width, mixer, dropout=dropout) for mixer in mixers)

    def mix(
        self,
        vectors: Float[Tensor, "batch length width"],
        lengths: Int[Tensor, " batch"],
        mask: Any,
        bias: Tensor | None,
    ) -> Float[Tensor, "batch length width"]:
        allowed = self._allowed(vectors, lengths, mask)
        if self.encoder.position is not None:
            vectors = self.encoder.position(vectors)

        def layers(vectors: Tensor) -> Tensor:
            for convolution, layer in zip(self.convolutions, self.encoder.layers, strict=True):
                vectors = layer(self._convolved(convolution, vectors, lengths), mask=allowed, bias=bias)
            return vectors

        return by_slices(self.encoder.shared_by, layers, vectors)

    def _convolved(self, convolution: Any, vectors: Tensor, lengths: Tensor) -> Tensor:
        """What a convolution makes of the sequences, or of this process's slice of them."""
        mesh = self.encoder.shared_by
        if mesh is None:
            return convolution(vectors, lengths)
        seen, place, first = with_neighbours(vectors, *convolution.mixer.reach, dim=1, group=mesh)
        return convolution(seen, (lengths - first).clamp(0, seen.shape[1]))[:, place]


class GraphAttentionNetwork(AttentionNetwork):
    """Layers of attention to a graph's neighbours, without residual connections and feed-forward networks.

    Args:
        width, layers, heads, position, score, weights, attention_dropout, engine, approximation, mask: as in
            `AttentionNetwork`.
        projections: as in `MultiHeadAttention`; None: queries only.
        hidden: not used, as there are no feed-forward networks; it is here so that all networks are built alike.
        residual: True, though there is none, for the same reason.
        dropout: the fraction dropped of the input of each layer but the first.

    Source: Velickovic et al. 2018 (arXiv 1710.10903), section 2; the notes, 001: on a graph, attention follows the
        edges only.
    """

    _encoder = GraphAttentionEncoder


def _centred_convolution(width: int, kernel: int) -> ConvolutionMixer:
    check_count("kernel", kernel, "how many vectors a filter covers")
    return ConvolutionMixer(width, (kernel - 1) // 2, kernel // 2)


def _checked(layers: int, least: int = 0) -> int:
    check_count("layers", layers, "how many layers", least)
    return layers


def build_network(name: str, width: int, layers: int, *, hidden: int, dropout: float = 0.0, **parts: Any) -> Network:
    """Build a network by its name.

    Args:
        name: one of `NETWORKS`.
        width, layers, hidden, dropout: the arguments that all networks share.
        **parts: the arguments of this network: `before` and `after`, `kernel`, `cell`, `heads`, `position`, ...

    Raises:
        UnknownNameError: no network has that name.
        ArgumentError: an argument is missing, or isn't one of this network's.

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
        raise ArgumentError(f"`{unknown[0]}` is no argument of the network {name!r}: it must be {known}.")
    if missing := [key for key, part in takes.items() if part.default is part.empty and key not in parts]:
        raise ArgumentError(f"`{'`, `'.join(missing)}` must be given for the network {name!r}.")
    return NETWORKS[name](width, layers, hidden=hidden, dropout=dropout, **parts)


NETWORKS: dict[str, Any] = {
    "attention": AttentionNetwork,
    "convolution_attention": ConvolutionAndAttentionNetwork,
    "graph_attention": GraphAttentionNetwork,
    "connected": ConnectedNetwork,
    "window": WindowNetwork,
    "convolution": ConvolutionNetwork,
    "recurrent": RecurrentNetwork,
    "bidirectional": BidirectionalNetwork,
    "identity": IdentityNetwork,
}
