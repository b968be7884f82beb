"""The objective of taggers and classifiers: batches, loss, and the score on dev."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from regard.tasks.auxiliary import auxiliary_weights
from regard.tasks.ensemble import Ensemble
from regard.tasks.network import SourceNetwork
from regard.tasks.recipe import Recipe
from regard.tasks.training.batching import Batches, batches_by_length, shuffled_batches
from regard.tasks.training.dataset import Dataset, TrainingBatch
from regard.tasks.training.objective import DevScore, Loss, Objective, Term

__all__ = ["TargetObjective"]

# The number of passes with different dropout in consistency training; Feng et al. 2020 (arXiv 2005.11079) use four for
# Cora.
_PASSES = 4


class TargetObjective(Objective):
    """A network that learns targets for sources or items; each member has a further head for each auxiliary target.

    Args:
        network: the network to train.
        recipe: the recipe; its task has the weight of each auxiliary target, beside 1 for the main target.
        dataset: the training examples, with the main and the auxiliary targets.
        dev: the dev examples, with the main targets.
        answers: the main target (`regard.tasks.targets`), then the auxiliary targets.
    """

    network: SourceNetwork | Ensemble

    def __init__(
        self,
        network: SourceNetwork | Ensemble,
        recipe: Recipe,
        dataset: Dataset,
        dev: Dataset,
        answers: Sequence[Any],
    ):
        super().__init__(network, answers[0].measure)
        self.auxiliary: Any = nn.ModuleList(
            nn.ModuleList(nn.Linear(recipe.width, answer.outputs) for answer in answers[1:]) for _ in network.members
        )
        self.recipe, self.dataset, self.dev, self.answers = recipe, dataset, dev, answers

    def batches(self, epoch: int) -> Batches:
        places = shuffled_batches(self.dataset.lengths, self.recipe.batch_items, seed=self.recipe.seed, epoch=epoch)
        return Batches(self.dataset.batch, places)

    def loss(self, batch: TrainingBatch) -> Loss:
        # Each member has its own loss: with a loss of the mean output, members could leave their errors to each other.
        both = zip(self.network.members, self.auxiliary, strict=True)
        own = [self._terms(member, heads, batch) for member, heads in both]
        means = (torch.stack([term.mean for term in same]).mean() for same in zip(*own, strict=True))
        return Loss(tuple(Term(mean, term.items) for mean, term in zip(means, own[0], strict=True)))

    def _terms(self, member: SourceNetwork, heads: Sequence[nn.Module], batch: TrainingBatch) -> list[Term]:
        drawn = [member.features(batch.sources) for _ in range(_PASSES if self.recipe.consistency else 1)]
        own, *others = self.answers
        given = torch.stack([member.output(features) for features in drawn])
        terms = [self._mean(own, given, batch.targets[0], self.recipe.smoothing)]
        shares = auxiliary_weights(self.recipe).values()
        for head, answer, wanted, share in zip(heads, others, batch.targets[1:], shares, strict=True):
            term = self._mean(answer, torch.stack([head(features) for features in drawn]), wanted, 0.0)
            terms.append(term._replace(mean=share * term.mean))
        if self.recipe.consistency:
            terms.append(Term(self.recipe.consistency * own.disagreement(given), given.shape[1]))
        return terms

    @staticmethod
    def _mean(answer: Any, passes: Tensor, wanted: Tensor, smoothing: float) -> Term:
        """The mean loss over the passes with different dropout."""
        losses = [answer.loss(given, wanted, smoothing) for given in passes]
        return Term(torch.stack([mean for mean, _ in losses]).mean(), losses[0][1])

    def evaluate(self) -> DevScore:
        device = next(self.parameters()).device
        given, wanted = [], []
        for places in batches_by_length(self.dev.lengths, 2 * self.recipe.batch_items):
            batch = self.dev.batch(places)
            given.append(self.network(batch.sources.to(device)).cpu())
            wanted.append(batch.targets[0])
        both = torch.cat(given), torch.cat(wanted)
        return DevScore(self.answers[0].score(*both), self.answers[0].loss(*both, 0.0)[0].item())
