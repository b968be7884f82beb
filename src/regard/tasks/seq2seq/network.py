"""The network of a seq2seq model: an encoder of sources, and a decoder of texts."""

from typing import Any

from regard.modules import AttentionSeq2Seq, CTCHead, Guide, RecurrentSeq2Seq, TransformerSeq2Seq
from regard.modules.projections import PROJECTIONS
from regard.modules.seq2seq import Seq2Seq
from regard.tasks.network import attention_parts, draw_relative_positions, refuse_edges
from regard.tasks.recipe import Recipe
from regard.tasks.seq2seq.target import TextTarget
from regard.tasks.source_masks import source_mask

__all__ = ["seq2seq_network"]


def seq2seq_network(recipe: Recipe, encoder: Any, text: TextTarget) -> Seq2Seq:
    """The network that a recipe for a seq2seq model describes.

    Args:
        recipe: the recipe.
        encoder: the encoder of the sources, which determines the sizes of tables.
        text: the target.

    Raises:
        ArgumentError: sources with edges, which a seq2seq model would ignore.
    """
    refuse_edges(recipe)
    network = _of_architecture(recipe, encoder, text)
    if recipe.task.monotonic:
        network.spelling = CTCHead(recipe.width, text.vocabulary.size)
    return network


def _of_architecture(recipe: Recipe, encoder: Any, text: TextTarget) -> Seq2Seq:
    task = recipe.task
    guide = None if task.guide is None else Guide(task.guide, text.rate)
    sizes = (recipe.input.embedding(encoder, recipe.width), text.vocabulary.size, recipe.width, recipe.layers)
    both = {"dropout": recipe.dropout, "tied": task.tied}
    if task.architecture == "recurrent":
        return RecurrentSeq2Seq(*sizes, bidirectional=task.bidirectional, **both)
    if task.architecture == "attentive":
        return AttentionSeq2Seq(
            *sizes,
            bidirectional=task.bidirectional,
            heads=recipe.heads,
            score=recipe.score,
            weights=recipe.weights,
            attention_dropout=recipe.attention_dropout,
            projections=PROJECTIONS["separate" if recipe.projections == "usual" else recipe.projections],
            keys=task.keys,
            values=task.values,
            guide=guide,
            **both,
        )
    network = TransformerSeq2Seq(
        *sizes,
        hidden=recipe.hidden,
        decoder_layers=task.decoder_layers,
        guide=guide,
        mask=source_mask(recipe),
        **attention_parts(recipe),
        **both,
    )
    draw_relative_positions(network, recipe)
    return network
