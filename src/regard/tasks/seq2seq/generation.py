"""Generation of texts, by beam search or greedily."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from regard.errors import ArgumentError
from regard.modules import Generated, GenerationConfig, beam_search, greedy, rescore
from regard.modules.inference import inference_mode
from regard.modules.seq2seq.seq2seq import Seq2Seq
from regard.tasks.recipe import Recipe
from regard.tasks.seq2seq.target import TextTarget
from regard.tasks.training.batching import batches_by_length

__all__ = ["GeneratedText", "Search", "generated", "text_of"]


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


@dataclass(frozen=True)
class Search:
    """How texts are searched for, where that differs from the recipe.

    Args:
        beams, length_penalty, no_repeat_ngram_size: as in `Seq2SeqModel.write`; None: as in the recipe.
    """

    beams: int | None = None
    length_penalty: float | None = None
    no_repeat_ngram_size: int | None = None


def text_of(said: Generated, text: TextTarget) -> GeneratedText:
    """Decode generated ids to a text."""
    return GeneratedText(text.vocabulary.decode(said.ids), said.score, said.ended)


def generated(
    network: Seq2Seq,
    recipe: Recipe,
    encoder: Any,
    items: Sequence[Any],
    search: Search = Search(),
    *,
    batch_items: int = 4000,
) -> list[Generated | None]:
    """Generate ids for each encoded source, which `text_of` decodes; None for an empty source."""
    source, task = recipe.input, recipe.task
    beams = int(task.beams) if search.beams is None else search.beams
    if isinstance(beams, bool) or not isinstance(beams, int) or beams < 1:
        raise ArgumentError(f"`beams` must be a whole number, 1 or more, but is {beams!r:.60}.")
    present = [index for index, item in enumerate(items) if len(item)]
    device = next(network.parameters()).device
    found: list[Generated | None] = [None] * len(items)
    penalty, ngrams = search.length_penalty, search.no_repeat_ngram_size
    config = GenerationConfig(
        length_penalty=task.length_penalty if penalty is None else penalty,
        no_repeat_ngram_size=task.no_repeat_ngram_size if ngrams is None else ngrams,
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
