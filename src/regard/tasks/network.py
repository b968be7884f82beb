"""The network of taggers and classifiers: an embedding, layers that mix the items, and a linear output."""

import functools
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import Relative
from regard.errors import ArgumentError
from regard.inputs import Batch
from regard.modules import NETWORKS, MultiHeadAttention, PerLayer
from regard.modules.dropout import Dropout
from regard.modules.networks import build_network
from regard.modules.pooling import POOLINGS
from regard.tasks.recipe import Recipe

__all__ = ["SourceNetwork", "attention_parts", "draw_relative_positions", "refuse_edges"]


class SourceNetwork(nn.Module):
    """Sources in; out come numbers for each of their items, or for the whole.

    Args:
        recipe: what the sources are, the network, and, where the whole is asked about, the pooling.
        encoder: of the sources; it fixes the sizes of tables.
        outputs: how many numbers.
    """

    def __init__(self, recipe: Recipe, encoder: Any, outputs: int):
        super().__init__()
        self.embedding = recipe.input.embedding(encoder, recipe.width)
        self.dropout = Dropout(recipe.dropout)
        relations = recipe.input.relations if NETWORKS[recipe.network].attends else 0
        parts = _parts(recipe)
        if relations:
            # The bias is a table of all pairs already: beside it the definition saves time, and costs no more memory.
            parts["engine"] = "dense"
        self.network = build_network(
            recipe.network, recipe.width, recipe.layers, hidden=recipe.hidden, dropout=recipe.dropout, **parts
        )
        draw_relative_positions(self.network, recipe)
        # For each relation a number to each head, as a bias on its scores; without any to begin with.
        self.relations = nn.Embedding(relations, recipe.heads) if relations else None
        if self.relations is not None:
            nn.init.zeros_(self.relations.weight)
        pooling = getattr(recipe.task, "pooling", None)
        self.pooling = None if pooling is None else POOLINGS[pooling](recipe.width)
        self.output = nn.Linear(recipe.width, outputs)

    @property
    def members(self) -> tuple["SourceNetwork"]:
        """Itself: so that it is asked for its parts as an ensemble is."""
        return (self,)

    def hidden(self, batch: Batch) -> Float[Tensor, "batch length width"]:
        """Each item's vector in context."""
        vectors = self.dropout(self.embedding(batch.vectors))
        bias = None
        if self.relations is not None:
            # (batch query key head) -> (batch head query key)
            bias = self.relations(batch.relations).permute(0, 3, 1, 2)
        return self.network(vectors, batch.lengths, batch.mask, bias)

    def features(self, batch: Batch) -> Float[Tensor, "thing width"]:
        """A vector for each thing that is asked about: the sources, or their items one after the other."""
        hidden = self.hidden(batch)
        return hidden[batch.real] if self.pooling is None else self.pooling(hidden, batch.lengths)

    def item_numbers(self, batch: Batch) -> Float[Tensor, "batch length output"]:
        """The numbers of each item where each is asked about; what is padding is noise."""
        return self.output(self.hidden(batch))

    def forward(self, batch: Batch) -> Float[Tensor, "thing output"]:
        """The numbers that an answer makes sense of."""
        return self.output(self.features(batch))


def attention_parts(recipe: Recipe) -> dict[str, Any]:
    """The recipe's settings of attention, as arguments; after the network is made, call `draw_relative_positions`."""
    position = None if recipe.position == "none" else recipe.position
    if position == "relative":
        # "Three words ago" matters differently in the second layer, so each layer has vectors of its own.
        position = PerLayer(functools.partial(_undrawn, reach=recipe.reach))
    return {
        "heads": recipe.heads,
        "score": recipe.score,
        "weights": recipe.weights,
        "attention_dropout": recipe.attention_dropout,
        "position": position,
    }


def draw_relative_positions(network: nn.Module, recipe: Recipe) -> None:
    """Draw the first vectors of relative positions, after all other parameters of the network.

    Drawn among them, they would change what the same seed draws for the others, and so what published recipes give.
    """
    if recipe.position != "relative":
        return
    for layer in network.modules():
        if isinstance(layer, MultiHeadAttention) and layer.position is not None:
            layer.position.load_state_dict(Relative(layer.head_size, recipe.reach).state_dict())


def _undrawn(head_size: int, *, reach: int) -> Relative:
    with torch.random.fork_rng(devices=()):
        return Relative(head_size, reach)


def refuse_edges(recipe: Recipe) -> None:
    """Refuse sources with edges where the net would not see them.

    Raises:
        ArgumentError: the sources have edges.
    """
    if getattr(recipe.input, "edges", False):
        kind = recipe.task.kind
        raise ArgumentError(f"`input.edges` must be false for {kind}, whose nets look at all of a source, but is true.")


def _parts(recipe: Recipe) -> dict[str, Any]:
    """What only this kind of network has."""
    match recipe.network:
        case "window":
            return {"before": recipe.reach, "after": recipe.reach}
        case "convolution":
            return {"kernel": 2 * recipe.reach + 1}
        case "recurrent" | "bidirectional":
            return {"cell": recipe.cell}
        case "attention" | "graph_attention":
            return attention_parts(recipe)
        case _:
            return {}
