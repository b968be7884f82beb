"""How a net learns to answer, for each item of a source or for the whole: batches, loss, and the figure on dev."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from regard.tasks.batching import Batches, batches_by_length, shuffled_batches
from regard.tasks.corpus import Corpus, Lesson
from regard.tasks.ensemble import Ensemble
from regard.tasks.learner import Learner, Loss, Term, Verdict
from regard.tasks.network import SourceNetwork
from regard.tasks.recipe import Recipe

__all__ = ["AnswerLearner"]


class AnswerLearner(Learner):
    """A net that learns to answer, each member with a head for each auxiliary answer beside its own.

    Args:
        network: the net to train.
        recipe: how.
        corpus: the training examples.
        dev: those it is judged by.
        answers: what its numbers mean (`regard.tasks.answers`), then what those of each auxiliary head do; if there
            are any, what is wanted has a last axis for all of them.
        shares: how much each auxiliary answer counts beside 1 for its own.
    """

    network: SourceNetwork | Ensemble

    def __init__(
        self,
        network: SourceNetwork | Ensemble,
        recipe: Recipe,
        corpus: Corpus,
        dev: Corpus,
        answers: Sequence[Any],
        shares: Sequence[float] = (),
    ):
        super().__init__(network, answers[0].measure)
        self.auxiliary: Any = nn.ModuleList(
            nn.ModuleList(nn.Linear(recipe.width, answer.outputs) for answer in answers[1:]) for _ in network.members
        )
        self.recipe, self.corpus, self.dev, self.answers, self.shares = recipe, corpus, dev, answers, shares

    def batches(self, epoch: int) -> Batches:
        places = shuffled_batches(self.corpus.lengths, self.recipe.batch_items, seed=self.recipe.seed, epoch=epoch)
        return Batches(self.corpus.lesson, places)

    def loss(self, batch: Lesson) -> Loss:
        # Each member has a loss of its own: of their mean's, one could leave its errors to the others.
        both = zip(self.network.members, self.auxiliary, strict=True)
        own = [self._terms(member, heads, batch) for member, heads in both]
        means = (torch.stack([term.mean for term in same]).mean() for same in zip(*own, strict=True))
        return Loss(tuple(Term(mean, term.things) for mean, term in zip(means, own[0], strict=True)))

    def _terms(self, member: SourceNetwork, heads: Sequence[nn.Module], batch: Lesson) -> list[Term]:
        features = member.features(batch.batch)
        wanted = batch.wanted.unbind(-1) if self.shares else (batch.wanted,)
        terms = [Term(*self.answers[0].loss(member.output(features), wanted[0], self.recipe.smoothing))]
        more = zip(heads, self.answers[1:], wanted[1:], self.shares, strict=True)
        for head, answer, labels, share in more:
            mean, known = answer.loss(head(features), labels, 0.0)
            terms.append(Term(share * mean, known))
        return terms

    def judge(self) -> Verdict:
        device = next(self.parameters()).device
        given, wanted = [], []
        for places in batches_by_length(self.dev.lengths, 2 * self.recipe.batch_items):
            lesson = self.dev.lesson(places)
            given.append(self.network(lesson.batch.to(device)).cpu())
            wanted.append(lesson.wanted)
        both = torch.cat(given), torch.cat(wanted)
        return Verdict(self.answers[0].judge(*both), self.answers[0].loss(*both, 0.0)[0].item())
