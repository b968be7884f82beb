"""What a task brings to training: checked data, a network, batches, a loss, and a score on the dev examples."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from torch import Tensor, nn

from regard.tasks.measure import Measure
from regard.tasks.training.batching import Batches

__all__ = ["DevScore", "Loss", "Objective", "Term", "TrainingData"]


class Term(NamedTuple):
    """A part of a loss: a mean, times its weight, and of how many things it is the mean."""

    mean: Tensor
    things: int


class Loss(NamedTuple):
    """The loss of a batch: terms that add up. The first is what the log shows; the others only help.

    Where several processes share a batch, each term is brought together by how many things each process has of it.
    """

    terms: tuple[Term, ...]

    @property
    def total(self) -> Tensor:
        """What is differentiated."""
        return sum((term.mean for term in self.terms[1:]), self.terms[0].mean)

    @property
    def shown(self) -> float:
        """The mean that the log shows."""
        return self.terms[0].mean.item()

    @property
    def items(self) -> int:
        """Of how many things that is the mean."""
        return self.terms[0].things


class DevScore(NamedTuple):
    """How good a net is on the dev examples.

    Args:
        score: the figure that it is chosen by.
        loss: what decides between equal scores: of few dev examples, or by an area, many epochs have the same.
    """

    score: float
    loss: float


class Objective(nn.Module):
    """A net, and beside it what learns with it and is thrown away in the end.

    Args:
        network: the net that is kept.
        measure: what the score of `evaluate` is.
    """

    dataset: Any
    """The examples that it is trained on, read; `longest` of them is the most items of a source."""

    def __init__(self, network: nn.Module, measure: Measure):
        super().__init__()
        self.network = network
        self.measure = measure

    def batches(self, epoch: int) -> Batches:
        """The batches of an epoch, from 0; they follow from it and the recipe's seed alone."""
        raise NotImplementedError(f"{type(self).__name__} must say its batches")

    def loss(self, batch: Any) -> Loss:
        """The loss of a batch."""
        raise NotImplementedError(f"{type(self).__name__} must say its loss")

    def evaluate(self) -> DevScore:
        """How good the net is now on the dev examples; asked for in evaluation mode, without gradients."""
        raise NotImplementedError(f"{type(self).__name__} must evaluate itself")


class TrainingData(Protocol):
    """A recipe and the data that it is to be trained on, checked; and what becomes of them."""

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
        """A digest of everything that the trained weights depend on beside the recipe, each by its argument's name."""
        ...

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """How much there is in each split, for the card."""
        ...

    def objective(self) -> Objective:
        """The net as training begins, drawn from torch's generator."""
        ...

    def model(self, objective: Any, about: dict[str, Any], name: str) -> Any:
        """The finished model, of a objective whose net has the final weights."""
        ...
