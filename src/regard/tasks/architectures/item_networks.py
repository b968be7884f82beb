"""The networks of taggers and classifiers, which differ in how an item receives information from the others."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from regard.errors import ArgumentError
from regard.modules import (
    AttentionNetwork,
    BidirectionalNetwork,
    ConnectedNetwork,
    ConvolutionNetwork,
    GraphAttentionNetwork,
    IdentityNetwork,
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
    def build(self, *, pair_bias: bool = False) -> Network:
        # The bias already takes memory for all pairs, so the dense engine is faster and takes no more memory.
        engine = {"engine": "dense"} if pair_bias else {}
        network = self._module(**self.attention.arguments(), **engine)
        self.attention.position.draw(network)
        return network


@dataclass(frozen=True)
class Attention(_WithAttention):
    """Self-attention, as in a Transformer."""

    name: ClassVar[str] = "attention"
    summary: ClassVar[str] = "Self-attention and nothing recurrent"
    module: ClassVar[Any] = AttentionNetwork

    hidden: int
    residual: bool

    def arguments(self) -> dict[str, Any]:
        return {"hidden": self.hidden, "residual": self.residual}


@dataclass(frozen=True)
class ConvolutionAttention(_WithAttention):
    """A convolution before each attention."""

    name: ClassVar[str] = "convolution_attention"
    summary: ClassVar[str] = "Convolutions and self-attention in turn, and nothing recurrent"
    module: ClassVar[Any] = ConvolutionAndAttentionNetwork
    fixed: ClassVar[Fixed] = {"residual": (True, "always has residual connections")}

    hidden: int
    reach: int

    def arguments(self) -> dict[str, Any]:
        return {"hidden": self.hidden, "kernel": 2 * self.reach + 1}


@dataclass(frozen=True)
class GraphAttention(_WithAttention):
    """Attention alone, for graphs."""

    name: ClassVar[str] = "graph_attention"
    summary: ClassVar[str] = "Attention and nothing beside it"
    module: ClassVar[Any] = GraphAttentionNetwork
    fixed: ClassVar[Fixed] = {"residual": (True, "has no residual connections to leave out")}

    def arguments(self) -> dict[str, Any]:
        return {"hidden": 0}  # it has no fully connected part


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

    def build(self, *, pair_bias: bool = False) -> Network:
        return self._module(hidden=self.hidden)


@dataclass(frozen=True)
class Identity(ItemNetwork):
    """No layers."""

    name: ClassVar[str] = "identity"
    summary: ClassVar[str] = "The vectors of the items as they are"
    unattended: ClassVar[str] = ", without attention"
    attends: ClassVar[bool] = False
    fixed: ClassVar[Fixed] = {
        "projections": ("usual", "has no attention"),
        "mask": ("none", "has no attention"),
        "approximation": ("none", "has no attention"),
        "residual": (True, "has no residual connections to leave out"),
    }

    @classmethod
    def ignored(cls, values: Mapping[str, Any]) -> Collection[str]:
        return ("layers", "dropout")

    def build(self, *, pair_bias: bool = False) -> Network:
        return IdentityNetwork(self.width)


@dataclass(frozen=True)
class Connected(_WithoutAttention):
    """Fully connected layers on each item by itself."""

    name: ClassVar[str] = "connected"
    summary: ClassVar[str] = "Linear layers that look at each item by itself"
    module: ClassVar[Any] = ConnectedNetwork


@dataclass(frozen=True)
class Window(_WithoutAttention):
    """Fully connected layers on a window around each item."""

    name: ClassVar[str] = "window"
    summary: ClassVar[str] = "Linear layers that look at a window of items"
    module: ClassVar[Any] = WindowNetwork

    reach: int

    def arguments(self) -> dict[str, Any]:
        return {"before": self.reach, "after": self.reach}


@dataclass(frozen=True)
class Convolution(_WithoutAttention):
    """A stack of convolutions."""

    name: ClassVar[str] = "convolution"
    summary: ClassVar[str] = "Convolutions"
    module: ClassVar[Any] = ConvolutionNetwork

    reach: int

    def arguments(self) -> dict[str, Any]:
        return {"kernel": 2 * self.reach + 1}


@dataclass(frozen=True)
class Recurrent(_WithoutAttention):
    """RNNs from the first item to the last."""

    name: ClassVar[str] = "recurrent"
    summary: ClassVar[str] = "RNNs that read from the first item to the last"
    module: ClassVar[Any] = RecurrentNetwork

    cell: str

    def arguments(self) -> dict[str, Any]:
        return {"cell": self.cell}


@dataclass(frozen=True)
class Bidirectional(Recurrent):
    """RNNs in both directions."""

    name: ClassVar[str] = "bidirectional"
    summary: ClassVar[str] = "RNNs that read both ways"
    module: ClassVar[Any] = BidirectionalNetwork


@dataclass(frozen=True)
class Pretrained(ItemNetwork):
    """A pretrained model with an output layer of its own, which the kind of source brings."""

    name: ClassVar[str] = "pretrained"
    summary: ClassVar[str] = "A pretrained model"
    of_source: ClassVar[bool] = True
    fixed: ClassVar[Fixed] = {
        "projections": ("usual", "has the attention of its base"),
        "mask": ("none", "has the attention of its base"),
        "approximation": ("none", "has the attention of its base"),
        "residual": (True, "has the layers of its base"),
    }

    @classmethod
    def ignored(cls, values: Mapping[str, Any]) -> Collection[str]:
        return ("width", "layers", "dropout")

    def check(self, recipe: Any) -> None:
        if not recipe.input.brings_network:
            raise ArgumentError(
                f"`network` must be one of regard's for {recipe.input.kind}, but is {self.name!r}, which only a base "
                "has. Set `input` to a base, or take another network."
            )
        if recipe.members != 1:
            raise ArgumentError(
                f"`members` must be 1 for a base, which is saved as a single model, but is {recipe.members}."
            )
        if recipe.task.auxiliary:
            # The words of a tagger are read from the pieces by this network alone.
            others = (
                ""
                if recipe.task.kind == "tagger"
                else (
                    " Another network that reads the base may have several: set `network` to 'identity', and "
                    "`input.special_tokens` to true."
                )
            )
            raise ArgumentError(
                f"`task.auxiliary` must be empty for the network 'pretrained', which has one output layer, but names "
                f"{', '.join(recipe.task.auxiliary)}.{others}"
            )


_KINDS = (
    Attention,
    ConvolutionAttention,
    GraphAttention,
    Connected,
    Window,
    Convolution,
    Recurrent,
    Bidirectional,
    Identity,
    Pretrained,
)

ITEM_NETWORKS = Architectures(
    "network",
    {each.name: each for each in (*_KINDS, Pretrained)},
    aliases={"rnn": "bidirectional", "cnn": "convolution"},
)
"""The networks of taggers and classifiers."""
