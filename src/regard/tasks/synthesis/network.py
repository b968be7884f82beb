"""The network of a synthesizer: an encoder of sources, and a decoder that predicts frames."""

from typing import Any

from regard.modules import FrameSeq2Seq, Guide
from regard.tasks.network import attention_parts, draw_relative_positions, refuse_edges
from regard.tasks.recipe import Recipe
from regard.tasks.source_masks import source_mask
from regard.tasks.synthesis.target import SpeechTarget

__all__ = ["synthesis_network"]


def synthesis_network(recipe: Recipe, encoder: Any, speech: SpeechTarget) -> FrameSeq2Seq:
    """The network that a recipe for speech synthesis describes.

    Args:
        recipe: the recipe.
        encoder: the encoder of the sources, which determines the sizes of tables.
        speech: the target.

    Raises:
        ArgumentError: sources with edges, which a synthesizer would ignore.
    """
    refuse_edges(recipe)
    task = recipe.task
    network = FrameSeq2Seq(
        recipe.input.embedding(encoder, recipe.width),
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
        mask=source_mask(recipe),
        **attention_parts(recipe),
    )
    draw_relative_positions(network, recipe)
    return network
