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
from regard.modules.projections import PROJECTIONS
from regard.tasks.approximations import approximation_part
from regard.tasks.recipe import Recipe
from regard.tasks.source_masks import source_mask

__all__ = ["SourceNetwork", "attention_parts", "draw_relative_positions", "refuse_edges"]


class SourceNetwork(nn.Module):
    """Maps a batch of sources to outputs for each source, or for each of their items.

    Args:
        recipe: the kind of source, the network and, for outputs for each source, the pooling.
        encoder: the encoder of the sources, which determines the sizes of tables.
        outputs: the number of outputs.
    """

    def __init__(self, recipe: Recipe, encoder: Any, outputs: int):
        super().__init__()
        self.embedding = recipe.input.embedding(encoder, recipe.width)
        self.dropout = Dropout(recipe.dropout)
        relations = recipe.input.relations if NETWORKS[recipe.network].attends else 0
        parts = _parts(recipe)
        if relations:
            # The bias already takes memory for all pairs, so the dense engine is faster and takes no more memory.
            parts["engine"] = "dense"
        self.network = build_network(
            recipe.network, recipe.width, recipe.layers, hidden=recipe.hidden, dropout=recipe.dropout, **parts
        )
        draw_relative_positions(self.network, recipe)
        # A bias on the scores for each relation and head, initially 0.
        self.relations = nn.Embedding(relations, recipe.heads) if relations else None
        if self.relations is not None:
            nn.init.zeros_(self.relations.weight)
        pooling = getattr(recipe.task, "pooling", None)
        self.pooling = None if pooling is None else POOLINGS[pooling](recipe.width)
        self.output = nn.Linear(recipe.width, outputs)

    @property
    def members(self) -> tuple["SourceNetwork"]:
        """The network itself, so that it can be used like an `Ensemble`."""
        return (self,)

    def hidden(self, batch: Batch) -> Float[Tensor, "batch length width"]:
        """The vector of each item in its context."""
        vectors = self.dropout(self.embedding(batch.vectors))
        bias = None
        if self.relations is not None:
            # (batch query key head) -> (batch head query key)
            bias = self.relations(batch.relations).permute(0, 3, 1, 2)
        return self.network(vectors, batch.lengths, batch.mask, bias)

    def features(self, batch: Batch) -> Float[Tensor, "target width"]:
        """The vectors before the output layer: one for each source, or for each item, source by source."""
        hidden = self.hidden(batch)
        return hidden[batch.real] if self.pooling is None else self.pooling(hidden, batch.lengths)

    def item_numbers(self, batch: Batch) -> Float[Tensor, "batch length output"]:
        """The outputs for each item; those at padding are meaningless."""
        return self.output(self.hidden(batch))

    def forward(self, batch: Batch) -> Float[Tensor, "target output"]:
        """The outputs, which a `Target` decodes."""
        return self.output(self.features(batch))


def attention_parts(recipe: Recipe) -> dict[str, Any]:
    """The arguments for attention from a recipe. After the network is made, call `draw_relative_positions`."""
    position = None if recipe.position == "none" else recipe.position
    if position == "relative":
        # Each layer has vectors of its own, because the same distance can mean something else in another layer.
        position = PerLayer(functools.partial(_undrawn, reach=recipe.reach))
    parts = {
        "heads": recipe.heads,
        "score": recipe.score,
        "weights": recipe.weights,
        "attention_dropout": recipe.attention_dropout,
        "position": position,
        "approximation": approximation_part(recipe),
    }
    return parts if recipe.projections == "usual" else {**parts, "projections": PROJECTIONS[recipe.projections]}


def draw_relative_positions(network: nn.Module, recipe: Recipe) -> None:
    """Initialise the vectors of relative positions, after all other parameters of the network.

    If they were drawn earlier, the same seed would give the other parameters other values than in published recipes.
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
    """Refuse sources with edges for a network that would ignore them.

    Raises:
        ArgumentError: the sources have edges.
    """
    if getattr(recipe.input, "edges", False):
        kind = recipe.task.kind
        raise ArgumentError(
            f"`input.edges` must be false for {kind}, whose networks attend to all of a source, but is true."
        )


def _parts(recipe: Recipe) -> dict[str, Any]:
    """The arguments that only this kind of network has."""
    match recipe.network:
        case "window":
            return {"before": recipe.reach, "after": recipe.reach}
        case "convolution":
            return {"kernel": 2 * recipe.reach + 1}
        case "recurrent" | "bidirectional":
            return {"cell": recipe.cell}
        case "attention" | "graph_attention":
            return {**attention_parts(recipe), "mask": source_mask(recipe), "residual": recipe.residual}
        case "convolution_attention":
            return {
                **attention_parts(recipe),
                "kernel": 2 * recipe.reach + 1,
                "mask": source_mask(recipe),
            }
        case _:
            return {}
