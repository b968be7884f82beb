"""The net of a speaker: sources to vectors, and a model that says frames after them."""

from typing import Any

from regard.errors import ArgumentError
from regard.modules import FrameSeq2Seq, Guide
from regard.tasks.network import own_relative_positions
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
    if getattr(recipe.input, "edges", False):
        raise ArgumentError(
            "`input.edges` must be false for synthesis, whose nets look at all of a source, but is true."
        )
    task = recipe.task
    network = FrameSeq2Seq(
        recipe.input.embedding(reader, recipe.width),
        speech.width,
        recipe.width,
        recipe.layers,
        recipe.heads,
        hidden=recipe.hidden,
        decoder_layers=task.decoder_layers,
        dropout=recipe.dropout,
        frame_dropout=task.frame_dropout,
        position=None if recipe.position in ("none", "relative") else recipe.position,
        score=recipe.score,
        weights=recipe.weights,
        attention_dropout=recipe.attention_dropout,
        guide=None if task.guide is None else Guide(task.guide, speech.rate),
    )
    own_relative_positions(network, recipe)
    return network
