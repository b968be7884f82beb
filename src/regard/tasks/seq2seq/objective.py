"""The objective of seq2seq models: predict each piece of a text from the source and the preceding pieces."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor
from torch.nn.functional import cross_entropy, pad

from regard.modules.seq2seq.seq2seq import Memory, Seq2Seq
from regard.special_ids import END, PADDING, START
from regard.tasks.recipe import Recipe
from regard.tasks.seq2seq.evaluation import evaluate_texts
from regard.tasks.seq2seq.generation import Search, generated, text_of
from regard.tasks.seq2seq.measures import TEXT_MEASURES
from regard.tasks.seq2seq.target import TextTarget
from regard.tasks.training.batching import Batches, batches_by_length, shuffled_batches
from regard.tasks.training.dataset import Dataset, TrainingBatch
from regard.tasks.training.objective import DevScore, Loss, Objective, Term

__all__ = ["Seq2SeqObjective"]


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
        return DevScore(score, total / pieces)
