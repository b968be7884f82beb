"""Training data of seq2seq models: sources with the texts to write."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from regard.errors import ArgumentError
from regard.tasks.examples import Pair, spread
from regard.tasks.network import encoder_decoder
from regard.tasks.seq2seq.model import Seq2SeqModel, check_texts, grouped
from regard.tasks.seq2seq.objective import Seq2SeqObjective
from regard.tasks.seq2seq.target import TextTarget
from regard.tasks.training.dataset import Dataset, TrainingBatch
from regard.tasks.training.pairs_data import PairsData, filled

__all__ = ["Seq2SeqData", "TextDataset"]


class Seq2SeqData(PairsData):
    """Sources, and the text that is to be written for each.

    Args:
        recipe: the recipe.
        examples: (source, text) pairs, or `Example`s; a source may occur several times, with different texts.
        dev: the dev examples; if a source has several texts, all of them are right.
        auxiliary: as in `PairsData`.

    Raises:
        ArgumentError: as in `PairsData`, or a target that isn't a text.
    """

    def checked(self, examples: Iterable[Any], argument: str) -> list[Pair]:
        pairs = super().checked(examples, argument)
        check_texts(pairs, argument)
        if not any(target for _, target in pairs):
            raise ArgumentError(f"`{argument}` must have a target that isn't an empty text, but all are.")
        return pairs

    def objective(self) -> Seq2SeqObjective:
        source, task = self.recipe.input, self.recipe.task
        encoder = source.fit([each for each, _ in self.examples])
        items = [source.training_item(encoder, each) for each, _ in self.examples]
        text = TextTarget.fit(
            [each for _, each in self.examples], task.vocabulary, task.size, source_items=sum(map(len, items))
        )
        sampled = spread(grouped(self.dev), task.judged)

        def dataset(items: list[Any], texts: list[str], name: str) -> TextDataset:
            wanted = [(torch.tensor(text.vocabulary.encode(each), dtype=torch.int64),) for each in texts]
            return filled(TextDataset(source, encoder, items, wanted), name)

        dev = [(item, right) for each, right in sampled if len(item := source.item(encoder, each))]
        return Seq2SeqObjective(
            encoder_decoder(self.recipe, encoder, text),
            self.recipe,
            dataset(items, [each for _, each in self.examples], "examples"),
            # If there are several right texts, the loss is that of the first.
            dataset([item for item, _ in dev], [right[0] for _, right in dev], "dev"),
            text,
            dev,
        )

    def model(self, objective: Seq2SeqObjective, about: dict[str, Any], name: str) -> Seq2SeqModel:
        return Seq2SeqModel(
            objective.network.cpu(), objective.dataset.encoder, objective.text, self.recipe, about=about, name=name
        )


class TextDataset(Dataset):
    """Examples with texts as targets, encoded as ids. The length of an example is that of its source or its text."""

    def __init__(self, source: Any, encoder: Any, items: Sequence[Any], wanted: Sequence[tuple[Tensor]]):
        super().__init__(source, encoder, items, wanted)
        self.lengths = [max(length, len(ids) + 1) for length, (ids,) in zip(self.lengths, self._wanted, strict=True)]

    def batch(self, members: Sequence[int]) -> TrainingBatch:
        return self._batch(members, lambda ids: pad_sequence(ids, batch_first=True, padding_value=-1))
