"""What a task brings to training: checked data, a network, batches, a loss, and a score on the dev examples."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from torch import Tensor, nn

from regard.tasks.judging.measure import Measure
from regard.tasks.training.batching import Batches

__all__ = ["DevScore", "Loss", "Objective", "Term", "TrainingData"]


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
    """

    score: float
    loss: float


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
