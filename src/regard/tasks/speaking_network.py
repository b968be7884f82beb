"""The net of a speaker: sources to vectors, and a model that says frames after them."""

from typing import Any

from regard.modules import FrameSeq2Seq, Guide
from regard.tasks.network import attention_parts, own_relative_positions, refuse_edges
from regard.tasks.recipe import Recipe
from regard.tasks.speech import Speech

__all__ = ["speaking_network"]


def speaking_network(recipe: Recipe, reader: Any, speech: Speech) -> FrameSeq2Seq:
    """The net that a recipe for a speaker describes.

    Args:
        recipe: what the sources are, and the net.
        reader: what reads the sources; it fixes the sizes of tables.
        speech: what is said.

    Raises:
        ArgumentError: sources with edges, which a speaker would not see.
    """
    refuse_edges(recipe)
    task = recipe.task
    network = FrameSeq2Seq(
        recipe.input.embedding(reader, recipe.width),
        speech.width,
        recipe.width,
        recipe.layers,
        hidden=recipe.hidden,
        decoder_layers=task.decoder_layers,
        dropout=recipe.dropout,
        frame_dropout=task.frame_dropout,
        guide=None if task.guide is None else Guide(task.guide, speech.rate),
        parts_per_item=task.parts,
        strides=speech.together,
        **attention_parts(recipe),
    )
    own_relative_positions(network, recipe)
    return network
