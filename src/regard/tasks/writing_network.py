"""The net of a writer: sources to vectors, and a model that writes a text of them."""

from typing import Any

from regard.errors import ArgumentError
from regard.modules import AttentiveSeq2Seq, Guide, RecurrentSeq2Seq, TransformerSeq2Seq
from regard.modules.seq2seq import Seq2Seq
from regard.tasks.network import own_relative_positions
from regard.tasks.recipe import Recipe
from regard.tasks.text import Text

__all__ = ["writing_network"]


def writing_network(recipe: Recipe, reader: Any, text: Text) -> Seq2Seq:
    """The net that a recipe for a writer describes.

    Args:
        recipe: what the sources are, and the net.
        reader: what reads the sources; it fixes the sizes of tables.
        text: what is written.

    Raises:
        ArgumentError: sources with edges, which a writer would not see.
    """
    if getattr(recipe.input, "edges", False):
        raise ArgumentError("`input.edges` must be false for seq2seq, whose nets look at all of a source, but is true.")
    task = recipe.task
    guide = None if task.guide is None else Guide(task.guide, text.rate)
    sizes = (recipe.input.embedding(reader, recipe.width), text.vocabulary.size, recipe.width, recipe.layers)
    both = {"dropout": recipe.dropout, "tied": task.tied}
    if task.architecture == "recurrent":
        return RecurrentSeq2Seq(*sizes, bidirectional=task.bidirectional, **both)
    if task.architecture == "attentive":
        return AttentiveSeq2Seq(
            *sizes,
            bidirectional=task.bidirectional,
            heads=recipe.heads,
            score=recipe.score,
            keys=task.keys,
            values=task.values,
            guide=guide,
            **both,
        )
    network = TransformerSeq2Seq(
        *sizes,
        heads=recipe.heads,
        hidden=recipe.hidden,
        decoder_layers=task.decoder_layers,
        position=None if recipe.position in ("none", "relative") else recipe.position,
        score=recipe.score,
        weights=recipe.weights,
        attention_dropout=recipe.attention_dropout,
        guide=guide,
        **both,
    )
    own_relative_positions(network, recipe)
    return network
