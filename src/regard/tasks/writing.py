"""From sources with texts and a recipe to what learns to write; and from that to a writer."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from regard.errors import ArgumentError
from regard.tasks.corpus import Corpus, Lesson
from regard.tasks.examples import Pair, spread
from regard.tasks.pairs_job import PairsJob, filled
from regard.tasks.text import Text
from regard.tasks.text_learner import TextLearner
from regard.tasks.writer import Writer, check_texts, grouped
from regard.tasks.writing_network import writing_network

__all__ = ["TextCorpus", "WriterJob"]


class WriterJob(PairsJob):
    """Sources, and the text that is to be written for each.

    Args:
        recipe: how.
        examples: (source, text) pairs, or `Example`s; a source may stand there several times, with other texts.
        dev: more of them. Several texts of one source are all right.
        auxiliary: as in `PairsJob`.

    Raises:
        ArgumentError: what `PairsJob` refuses, or a target that is no text.
    """

    def checked(self, examples: Iterable[Any], argument: str) -> list[Pair]:
        pairs = super().checked(examples, argument)
        check_texts(pairs, argument)
        if not any(target for _, target in pairs):
            raise ArgumentError(f"`{argument}` must have a target that isn't an empty text, but all are.")
        return pairs

    def learner(self) -> TextLearner:
        source, task = self.recipe.input, self.recipe.task
        reader = source.fit([each for each, _ in self.examples])
        items = [source.training_item(reader, each) for each, _ in self.examples]
        text = Text.fit(
            [each for _, each in self.examples], task.vocabulary, task.size, source_items=sum(map(len, items))
        )
        judged = spread(grouped(self.dev), task.judged)

        def corpus(items: list[Any], texts: list[str], name: str) -> TextCorpus:
            wanted = [(torch.tensor(text.vocabulary.encode(each), dtype=torch.int64),) for each in texts]
            return filled(TextCorpus(source, reader, items, wanted), name)

        dev = [(item, right) for each, right in judged if len(item := source.item(reader, each))]
        return TextLearner(
            writing_network(self.recipe, reader, text),
            self.recipe,
            corpus(items, [each for _, each in self.examples], "examples"),
            # Of several right texts the first is what the loss is of.
            corpus([item for item, _ in dev], [right[0] for _, right in dev], "dev"),
            text,
            dev,
        )

    def model(self, learner: TextLearner, about: dict[str, Any], name: str) -> Writer:
        return Writer(learner.network.cpu(), learner.corpus.reader, learner.text, self.recipe, about=about, name=name)


class TextCorpus(Corpus):
    """Examples of which a text is wanted, as ids: a batch has as much room as its longest source or text needs."""

    def __init__(self, source: Any, reader: Any, items: Sequence[Any], wanted: Sequence[tuple[Tensor]]):
        super().__init__(source, reader, items, wanted)
        self.lengths = [max(length, len(ids) + 1) for length, (ids,) in zip(self.lengths, self._wanted, strict=True)]

    def lesson(self, members: Sequence[int]) -> Lesson:
        return self._lesson(members, lambda ids: pad_sequence(ids, batch_first=True, padding_value=-1))
