"""How a net learns to answer, for each item of a source or for the whole: batches, loss, and the figure on dev."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from regard.tasks.batching import Batches, batches_by_length, shuffled_batches
from regard.tasks.corpus import Corpus, Lesson
from regard.tasks.learner import Learner, Loss, Term, Verdict
from regard.tasks.network import SourceNetwork
from regard.tasks.recipe import Recipe

__all__ = ["AnswerLearner"]


class AnswerLearner(Learner):
    """A net that learns to answer, with a head for each auxiliary answer beside its own.

    Args:
        network: the net to train.
        recipe: how.
        corpus: the training examples.
        dev: those it is judged by.
        answers: what its numbers mean (`regard.tasks.answers`), then what those of each auxiliary head do; if there
            are any, what is wanted has a last axis for all of them.
        shares: how much each auxiliary answer counts beside 1 for its own.
    """

    network: SourceNetwork

    def __init__(
        self,
        network: SourceNetwork,
        recipe: Recipe,
        corpus: Corpus,
        dev: Corpus,
        answers: Sequence[Any],
        shares: Sequence[float] = (),
    ):
        super().__init__(network, answers[0].measure)
        self.auxiliary = nn.ModuleList(nn.Linear(recipe.width, answer.outputs) for answer in answers[1:])
        self.recipe, self.corpus, self.dev, self.answers, self.shares = recipe, corpus, dev, answers, shares

    def batches(self, epoch: int) -> Batches:
        members = shuffled_batches(self.corpus.lengths, self.recipe.batch_items, seed=self.recipe.seed, epoch=epoch)
        return Batches(self.corpus.lesson, members)

    def loss(self, batch: Lesson) -> Loss:
        features = self.network.features(batch.batch)
        wanted = batch.wanted.unbind(-1) if self.shares else (batch.wanted,)
        terms = [Term(*self.answers[0].loss(self.network.output(features), wanted[0], self.recipe.smoothing))]
        more = zip(self.auxiliary, self.answers[1:], wanted[1:], self.shares, strict=True)
        for head, answer, labels, share in more:
            mean, known = answer.loss(head(features), labels, 0.0)
            terms.append(Term(share * mean, known))
        return Loss(tuple(terms))

    def judge(self) -> Verdict:
        device = next(self.parameters()).device
        given, wanted = [], []
        for members in batches_by_length(self.dev.lengths, 2 * self.recipe.batch_items):
            lesson = self.dev.lesson(members)
            given.append(self.network(lesson.batch.to(device)).cpu())
            wanted.append(lesson.wanted)
        both = torch.cat(given), torch.cat(wanted)
        return Verdict(self.answers[0].judge(*both), self.answers[0].loss(*both, 0.0)[0].item())
