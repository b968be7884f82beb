"""What a task brings to training: checked data, a network, batches, a loss, and a score on the dev examples.

`TargetObjective` is that of taggers and classifiers.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from regard.tasks.judging.measure import Measure
from regard.tasks.network import Ensemble, SourceNetwork
from regard.tasks.pretrained.tuned_base import TunedBase
from regard.tasks.recipe import Recipe
from regard.tasks.training.batching import Batches, batches_by_length, shuffled_batches
from regard.tasks.training.dataset import Dataset, TrainingBatch
from regard.tasks.training.pairs_data import auxiliary_weights

__all__ = ["DevScore", "Loss", "Objective", "TargetObjective", "Term", "TrainingData"]


class Term(NamedTuple):
    """A part of a loss.

    Args:
        mean: the mean loss of the items, times the weight of this term in the total loss.
        items: the number of items averaged: words, sources or pieces, depending on the term.
    """

    mean: Tensor
    items: int


class Loss(NamedTuple):
    """The loss of a batch: the sum of its terms. The log shows the first; the others are auxiliary.

    Where several processes share a batch, each term is averaged over them, weighted by the items in each process.
    """

    terms: tuple[Term, ...]

    @property
    def total(self) -> Tensor:
        """The loss that is differentiated: the sum of the means."""
        return sum((term.mean for term in self.terms[1:]), self.terms[0].mean)

    @property
    def shown(self) -> float:
        """The mean of the first term, which the log shows."""
        return self.terms[0].mean.item()


class DevScore(NamedTuple):
    """The score and the loss of a network on the dev examples.

    Args:
        score: the best epoch is the one with the best score.
        loss: decides between equal scores, which are common if there are few dev examples or the score is the
            area under a curve.
        judged: the number of sources that were judged, where a perfect score is one without any error; 0 elsewhere.
    """

    score: float
    loss: float
    judged: int = 0


class Objective(nn.Module):
    """A network with its loss and its score; parameters outside `network` are trained too, but discarded at the end.

    Args:
        network: the network that the finished model keeps.
        measure: the measure of the score that `evaluate` returns.
    """

    dataset: Any
    """The encoded training examples; `dataset.longest` is the number of items of the longest source."""
    dev: Any
    """The encoded dev examples, likewise."""

    def __init__(self, network: nn.Module, measure: Measure):
        super().__init__()
        self.network = network
        self.measure = measure

    def rate_factors(self) -> dict[str, float]:
        """The learning rates of parameters as multiples of the recipe's, by name; 1 for those that are left out."""
        bases = [(place, part) for place, part in self.named_modules() if isinstance(part, TunedBase)]
        # What stands above a base has the rate of an output layer.
        above = {name: part.tuning.head_rate for _, part in bases if part.tuning for name, _ in self.named_parameters()}
        own = {f"{place}.{name}": rate for place, part in bases for name, rate in part.rate_factors().items()}
        return above | own

    @property
    def may_leave_out(self) -> bool:
        """Whether a batch may give a trained parameter no gradient: some bases have what only pre-training uses."""
        return any(isinstance(part, TunedBase) for part in self.modules())

    def finish(self) -> None:
        """Give the network, which has its final weights, the form in which it is saved."""
        for part in self.modules():
            if isinstance(part, TunedBase):
                part.finish()

    def batches(self, epoch: int) -> Batches:
        """The batches of an epoch, counted from 0; they depend only on the epoch and the recipe's seed."""
        raise NotImplementedError(f"{type(self).__name__} must define `batches`")

    def loss(self, batch: Any) -> Loss:
        """The loss of a batch."""
        raise NotImplementedError(f"{type(self).__name__} must define `loss`")

    def evaluate(self) -> DevScore:
        """The score and loss on the dev examples; called in evaluation mode, without gradients."""
        raise NotImplementedError(f"{type(self).__name__} must define `evaluate`")


class TrainingData(Protocol):
    """A recipe with its checked training data; makes the objective, and the model after training."""

    @property
    def examples(self) -> Sequence[Any]:
        """The training examples, each a source and its target."""
        ...

    @property
    def dev(self) -> Sequence[Any]:
        """The dev examples, each a source and its target."""
        ...

    @property
    def digests(self) -> dict[str, str]:
        """Digests of what determines the trained weights beside the recipe, by the name of the argument."""
        ...

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """The sizes of each split, for the model card."""
        ...

    def objective(self) -> Objective:
        """The objective with its initial weights, drawn from torch's generator."""
        ...

    def model(self, objective: Any, about: dict[str, Any], name: str) -> Any:
        """The finished model, made of an objective whose network has the final weights."""
        ...


# The number of passes with different dropout in consistency training; Feng et al. 2020 (arXiv 2005.11079) use four for
# Cora.
_PASSES = 4
_MOST_CALIBRATED = 500_000


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
        places = shuffled_batches(self.dataset.sizes, self.recipe.batch_items, seed=self.recipe.seed, epoch=epoch)
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
        if batch.offsets is not None:
            given = given + batch.offsets
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
        for places in batches_by_length(self.dev.sizes, 2 * self.recipe.batch_items):
            batch = self.dev.batch(places)
            given.append(self.network(batch.sources.to(device)).cpu())
            wanted.append(batch.targets[0])
        both = torch.cat(given), torch.cat(wanted)
        judged = len(self.dev.lengths) if self.answers[0].labels else 0
        return DevScore(self.answers[0].score(*both), self._dev_loss(*both), judged)

    def _dev_loss(self, given: Tensor, wanted: Tensor) -> float:
        answer = self.answers[0]
        if self.recipe.best_by == "loss":
            # The loss rises with the network's confidence even where it is right as often; the finished model's
            # confidence is set by a temperature anyway.
            # A few thousand of many examples tell the temperature as well.
            step = 1 + given.numel() // _MOST_CALIBRATED
            fitted = answer.calibrated(given[::step], wanted[::step], prior=False)
            given = given / getattr(fitted, "temperature", 1.0)
        return answer.loss(given, wanted, 0.0)[0].item()
