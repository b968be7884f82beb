"""Training data of seq2seq models, sources with the texts to write, and what is learned from them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, pad
from torch.nn.utils.rnn import pad_sequence

from regard.errors import ArgumentError
from regard.modules.seq2seq.seq2seq import Memory, Seq2Seq
from regard.special_ids import END, PADDING, START
from regard.tasks.examples import Pair, spread
from regard.tasks.network import encoder_decoder
from regard.tasks.recipe import Recipe
from regard.tasks.seq2seq.evaluation import evaluate_texts
from regard.tasks.seq2seq.generation import Search, generated, text_of
from regard.tasks.seq2seq.hallucination import Hallucination
from regard.tasks.seq2seq.measures import TEXT_MEASURES
from regard.tasks.seq2seq.model import Seq2SeqModel, check_texts, grouped
from regard.tasks.seq2seq.target import TextTarget
from regard.tasks.training.batching import Batches, batches_by_length, shuffled_batches
from regard.tasks.training.dataset import Dataset, TrainingBatch
from regard.tasks.training.objective import DevScore, Loss, Objective, Term
from regard.tasks.training.pairs_data import PairsData, filled

__all__ = ["Seq2SeqData", "Seq2SeqObjective", "TextDataset"]


Made = tuple[Any, tuple[Tensor]]
"""A training example that was made of others: its item and its target."""


class Seq2SeqObjective(Objective):
    """A seq2seq network and its loss.

    Args:
        network: the network to train.
        recipe: the recipe.
        dataset: the training examples; the targets are ids, -1 at padding.
        dev: the dev examples.
        text: the target, which decodes the ids.
        right: the encoded sources for which texts are generated after each epoch, each with its right texts.
    """

    network: Seq2Seq

    def __init__(
        self,
        network: Seq2Seq,
        recipe: Recipe,
        dataset: Dataset,
        dev: Dataset,
        text: TextTarget,
        right: Sequence[tuple[Any, Sequence[str]]],
    ):
        super().__init__(network, TEXT_MEASURES[recipe.task.measure].measure)
        self.recipe, self.dataset, self.dev, self.text, self.right = recipe, dataset, dev, text, right

    def batches(self, epoch: int) -> Batches:
        members = shuffled_batches(self.dataset.lengths, self.recipe.batch_items, seed=self.recipe.seed, epoch=epoch)
        return Batches(self.dataset.batch, members)

    def loss(self, batch: TrainingBatch) -> Loss:
        loss, memory, ids, counts = self._of_pieces(batch, self.recipe.smoothing)
        if self.network.spelling is None:
            return Loss((loss,))
        ctc = self.network.spelling.loss(memory, ids, counts)
        return Loss((loss, Term(self.recipe.task.monotonic * ctc, len(counts))))

    def _of_pieces(self, batch: TrainingBatch, smoothing: float) -> tuple[Term, Memory, Tensor, Tensor]:
        """The loss of the pieces, the encoded sources, and the ids of each text with their number."""
        (text,) = batch.targets
        real = text >= 0
        counts = real.sum(1)
        ids = text.masked_fill(~real, PADDING)
        inputs = pad(ids, (1, 0), value=START)
        # The end follows the last piece; nothing is learned after it.
        wanted = pad(ids, (0, 1), value=PADDING)
        wanted.scatter_(1, counts.unsqueeze(1), END)
        memory = self.network.encode(batch.sources.vectors, batch.sources.lengths)
        scores = self.network(memory, inputs).flatten(0, 1)
        loss = cross_entropy(scores, wanted.flatten(), ignore_index=PADDING, label_smoothing=smoothing)
        return Term(loss, int(counts.sum()) + len(counts)), memory, ids, counts

    def evaluate(self) -> DevScore:
        device = next(self.parameters()).device
        batches = batches_by_length(self.dev.lengths, 2 * self.recipe.batch_items)
        # Without label smoothing and CTC, which only help training.
        losses = [self._of_pieces(self.dev.batch(members).to(device), 0.0)[0] for members in batches]
        items = [item for item, _ in self.right]
        greedily = Search(beams=1, no_repeat_ngram_size=0)
        ids = generated(self.network, self.recipe, self.dataset.encoder, items, greedily)
        texts = ["" if each is None else text_of(each, self.text).text for each in ids]
        score = evaluate_texts(self.recipe.task, texts, [right for _, right in self.right]).score
        total, pieces = sum(loss.mean.item() * loss.items for loss in losses), sum(loss.items for loss in losses)
        return DevScore(score, total / pieces, len(self.right) if self.measure.share else 0)


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
        for name, kind, why in (
            ("hallucination", "texts", "only a text shares something with its target"),
            ("joining", "speech", "only recordings are joined"),
        ):
            if (probability := getattr(self.recipe.task, name)) and self.recipe.input.kind != kind:
                raise ArgumentError(
                    f"`task.{name}` must be 0 for {self.recipe.input.kind}, as {why}, but is {probability}."
                )
        if not any(target for _, target in pairs):
            raise ArgumentError(f"`{argument}` must have a target that isn't an empty text, but all are.")
        return pairs

    def objective(self) -> Seq2SeqObjective:
        source, task = self.recipe.input, self.recipe.task
        encoder = source.fit([each for each, _ in self.examples])
        items = [source.training_item(encoder, each) for each, _ in self.examples]
        text = TextTarget.fit(
            [each for _, each in self.examples],
            task.vocabulary,
            task.size,
            source_items=sum(map(len, items)),
            beside=[each for each, _ in self.examples if isinstance(each, str)] if task.copying else (),
        )
        sampled = spread(grouped(self.dev), task.judged)

        def encoded(each: str) -> tuple[Tensor]:
            return (torch.tensor(text.vocabulary.encode(each), dtype=torch.int64),)

        def dataset(items: list[Any], texts: list[str], name: str, make: Any = None) -> TextDataset:
            return filled(TextDataset(source, encoder, items, [*map(encoded, texts)], make), name)

        dev = [(item, right) for each, right in sampled if len(item := source.item(encoder, each))]
        return Seq2SeqObjective(
            encoder_decoder(self.recipe, encoder, text),
            self.recipe,
            dataset(items, [each for _, each in self.examples], "examples", self._make(encoder, items, encoded)),
            # If there are several right texts, the loss is that of the first.
            dataset([item for item, _ in dev], [right[0] for _, right in dev], "dev"),
            text,
            dev,
        )

    def _make(
        self, encoder: Any, items: Sequence[Any], encoded: Callable[[str], tuple[Tensor]]
    ) -> Callable[[int], Made | None] | None:
        """What makes a training example of others, of its place; None if the recipe asks for nothing of the kind."""
        source, task = self.recipe.input, self.recipe.task

        if task.hallucination:
            hallucination = Hallucination(self.examples, task.hallucination)

            def hallucinated(example: int) -> Made | None:
                made = hallucination.pair(example)
                return None if made is None else (source.training_item(encoder, made[0]), encoded(made[1]))

            return hallucinated
        if task.joining:
            separator = " " if any(" " in text for _, text in self.examples) else ""

            def joined(example: int) -> Made | None:
                if float(torch.rand((), device="cpu")) >= task.joining:
                    return None
                other = int(torch.randint(len(items), (), device="cpu"))
                both = separator.join(self.examples[each][1] for each in (example, other))
                return source.joined(items[example], items[other]), encoded(both)

            return joined
        return None

    def model(self, objective: Seq2SeqObjective, about: dict[str, Any], name: str) -> Seq2SeqModel:
        return Seq2SeqModel(
            objective.network.cpu(), objective.dataset.encoder, objective.text, self.recipe, about=about, name=name
        )


class TextDataset(Dataset):
    """Examples with texts as targets, encoded as ids. The length of an example is that of its source or its text.

    Args:
        source, encoder, items, wanted: as in `Dataset`.
        make: makes an example anew whenever it is in a batch, of its place in `items`; None where it stays as it is.
    """

    def __init__(
        self, source: Any, encoder: Any, items: Sequence[Any], wanted: Sequence[tuple[Tensor]], make: Any = None
    ):
        super().__init__(source, encoder, items, wanted)
        self._make, self._places = make, [place for place, item in enumerate(items) if len(item)]
        self.lengths = [max(length, len(ids) + 1) for length, (ids,) in zip(self.lengths, self._wanted, strict=True)]

    def batch(self, members: Sequence[int]) -> TrainingBatch:
        examples = [self._example(member) for member in members]
        batch = self._source.batch(self.encoder, [item for item, _ in examples])
        ids = pad_sequence([ids for _, (ids,) in examples], batch_first=True, padding_value=-1)
        return TrainingBatch(batch, (ids,))

    def _example(self, member: int) -> tuple[Any, tuple[Tensor, ...]]:
        made = None if self._make is None else self._make(self._places[member])
        return (self._items[member], self._wanted[member]) if made is None else made
