"""The networks of taggers and classifiers, which differ in how an item receives information from the others."""

from dataclasses import dataclass
from typing import Any, ClassVar

from regard.modules import (
    AttentionNetwork,
    BidirectionalNetwork,
    ConnectedNetwork,
    ConvolutionNetwork,
    GraphAttentionNetwork,
    Network,
    RecurrentNetwork,
    WindowNetwork,
)
from regard.modules.networks import ConvolutionAndAttentionNetwork
from regard.tasks.architectures.architecture import Architectures, Fixed, ItemNetwork
from regard.tasks.architectures.self_attention import WithSelfAttention

__all__ = ["ITEM_NETWORKS"]


@dataclass(frozen=True)
class _WithAttention(WithSelfAttention, ItemNetwork):
    def _build(self, module: Any, *, pair_bias: bool, hidden: int, **arguments: Any) -> Network:
        if pair_bias:
            # The bias already takes memory for all pairs, so the dense engine is faster and takes no more memory.
            arguments["engine"] = "dense"
        arguments |= self.attention.arguments()
        network = module(self.width, self.layers, hidden=hidden, dropout=self.dropout, **arguments)
        self.attention.position.draw(network)
        return network


@dataclass(frozen=True)
class Attention(_WithAttention):
    """Self-attention, as in a Transformer."""

    name: ClassVar[str] = "attention"
    summary: ClassVar[str] = "Self-attention and nothing recurrent"

    hidden: int
    residual: bool

    def build(self, *, pair_bias: bool = False) -> Network:
        return self._build(AttentionNetwork, pair_bias=pair_bias, hidden=self.hidden, residual=self.residual)


@dataclass(frozen=True)
class ConvolutionAttention(_WithAttention):
    """A convolution before each attention."""

    name: ClassVar[str] = "convolution_attention"
    summary: ClassVar[str] = "Convolutions and self-attention in turn, and nothing recurrent"
    fixed: ClassVar[Fixed] = {"residual": (True, "always has residual connections")}

    hidden: int
    reach: int

    def build(self, *, pair_bias: bool = False) -> Network:
        module, kernel = ConvolutionAndAttentionNetwork, 2 * self.reach + 1
        return self._build(module, pair_bias=pair_bias, hidden=self.hidden, kernel=kernel)


@dataclass(frozen=True)
class GraphAttention(_WithAttention):
    """Attention alone, for graphs."""

    name: ClassVar[str] = "graph_attention"
    summary: ClassVar[str] = "Attention and nothing beside it"
    fixed: ClassVar[Fixed] = {"residual": (True, "has no residual connections to leave out")}

    def build(self, *, pair_bias: bool = False) -> Network:
        return self._build(GraphAttentionNetwork, pair_bias=pair_bias, hidden=0)


@dataclass(frozen=True)
class _WithoutAttention(ItemNetwork):
    attends: ClassVar[bool] = False
    fixed: ClassVar[Fixed] = {
        "projections": ("usual", "has no attention"),
        "mask": ("none", "has no attention"),
        "approximation": ("none", "has no attention"),
        "residual": (True, "always has residual connections"),
    }

    hidden: int

    def _build(self, module: Any, **arguments: Any) -> Network:
        return module(self.width, self.layers, hidden=self.hidden, dropout=self.dropout, **arguments)


@dataclass(frozen=True)
class Connected(_WithoutAttention):
    """Fully connected layers on each item by itself."""

    name: ClassVar[str] = "connected"
    summary: ClassVar[str] = "Linear layers that look at each item by itself"

    def build(self, *, pair_bias: bool = False) -> Network:
        return self._build(ConnectedNetwork)


@dataclass(frozen=True)
class Window(_WithoutAttention):
    """Fully connected layers on a window around each item."""

    name: ClassVar[str] = "window"
    summary: ClassVar[str] = "Linear layers that look at a window of items"

    reach: int

    def build(self, *, pair_bias: bool = False) -> Network:
        return self._build(WindowNetwork, before=self.reach, after=self.reach)


@dataclass(frozen=True)
class Convolution(_WithoutAttention):
    """A stack of convolutions."""

    name: ClassVar[str] = "convolution"
    summary: ClassVar[str] = "Convolutions"

    reach: int

    def build(self, *, pair_bias: bool = False) -> Network:
        return self._build(ConvolutionNetwork, kernel=2 * self.reach + 1)


@dataclass(frozen=True)
class Recurrent(_WithoutAttention):
    """RNNs from the first item to the last."""

    name: ClassVar[str] = "recurrent"
    summary: ClassVar[str] = "RNNs that read from the first item to the last"

    cell: str

    def build(self, *, pair_bias: bool = False) -> Network:
        return self._build(RecurrentNetwork, cell=self.cell)


@dataclass(frozen=True)
class Bidirectional(_WithoutAttention):
    """RNNs in both directions."""

    name: ClassVar[str] = "bidirectional"
    summary: ClassVar[str] = "RNNs that read both ways"

    cell: str

    def build(self, *, pair_bias: bool = False) -> Network:
        return self._build(BidirectionalNetwork, cell=self.cell)


_KINDS = (Attention, ConvolutionAttention, GraphAttention, Connected, Window, Convolution, Recurrent, Bidirectional)

ITEM_NETWORKS = Architectures(
    "network", {each.name: each for each in _KINDS}, aliases={"rnn": "bidirectional", "cnn": "convolution"}
)
"""The networks of taggers and classifiers."""
