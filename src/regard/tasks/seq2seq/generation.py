"""Generation of texts, by beam search or greedily."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from regard.errors import ArgumentError
from regard.modules import Generated, GenerationConfig, beam_search, greedy, rescore
from regard.modules.inference import inference_mode
from regard.modules.seq2seq import Seq2Seq
from regard.tasks.recipe import Recipe
from regard.tasks.seq2seq.target import TextTarget
from regard.tasks.training.batching import batches_by_length

__all__ = ["GeneratedText", "generated", "text_of", "written"]


class GeneratedText(NamedTuple):
    """A text that a model generated.

    Args:
        text: the text.
        score: the logarithm of its probability, over ((5 + pieces) / 6)^length_penalty.
        ended: whether the model predicted its end; False if it was cut at the largest length.
    """

    text: str
    score: float
    ended: bool


def written(
    network: Seq2Seq, recipe: Recipe, encoder: Any, text: TextTarget, items: Sequence[Any], **options: Any
) -> list[GeneratedText | None]:
    """Generate a text for each encoded source; the options are those of `Seq2SeqModel.write`."""
    said = generated(network, recipe, encoder, items, **options)
    return [None if each is None else text_of(each, text) for each in said]


def text_of(said: Generated, text: TextTarget) -> GeneratedText:
    """Decode generated ids to a text."""
    return GeneratedText(text.vocabulary.decode(said.ids), said.score, said.ended)


def generated(
    network: Seq2Seq,
    recipe: Recipe,
    encoder: Any,
    items: Sequence[Any],
    *,
    beams: int | None = None,
    length_penalty: float | None = None,
    no_repeat_ngram_size: int | None = None,
    batch_items: int = 4000,
) -> list[Generated | None]:
    """Generate ids for each encoded source, as `written` does before it decodes them."""
    source, task = recipe.input, recipe.task
    beams = int(task.beams) if beams is None else beams
    if isinstance(beams, bool) or not isinstance(beams, int) or beams < 1:
        raise ArgumentError(f"`beams` must be a whole number, 1 or more, but is {beams!r:.60}.")
    present = [index for index, item in enumerate(items) if len(item)]
    device = next(network.parameters()).device
    found: list[Generated | None] = [None] * len(items)
    config = GenerationConfig(
        length_penalty=task.length_penalty if length_penalty is None else length_penalty,
        no_repeat_ngram_size=task.no_repeat_ngram_size if no_repeat_ngram_size is None else no_repeat_ngram_size,
        longest=task.longest,
        spare=task.spare,
    )
    for places in batches_by_length([beams * len(items[index]) for index in present], batch_items):
        members = [present[place] for place in places]
        batch = source.batch(encoder, [items[index] for index in members]).to(device)
        asked = (network, batch.vectors, batch.lengths)
        with inference_mode(network):
            memory = network.encode(batch.vectors, batch.lengths)
        if beams == 1:
            said = greedy(*asked, config=config, memory=memory)
        else:
            said = beam_search(*asked, beams=beams, config=config, memory=memory)
        said = rescore(*asked, said, weight=task.spelling_weight, config=config, memory=memory)
        for index, each in zip(members, said, strict=True):
            found[index] = each
    return found
