"""What a task brings to training: its data, checked; a net, batches, a loss, and a figure on the dev examples."""

from typing import Any, NamedTuple, Protocol

from torch import Tensor, nn

from regard.tasks.batching import Batches
from regard.tasks.measure import Measure

__all__ = ["Job", "Learner", "Loss", "Verdict"]


class Loss(NamedTuple):
    """The loss of a batch.

    Args:
        total: what is differentiated.
        shown: the mean of what the log shows, which may leave out what only helps.
        items: of how many it is the mean.
    """

    total: Tensor
    shown: float
    items: int


class Verdict(NamedTuple):
    """How good a net is on the dev examples.

    Args:
        score: the figure that it is chosen by.
        loss: what decides between equal scores: of few dev examples, or by an area, many epochs have the same.
    """

    score: float
    loss: float


class Learner(nn.Module):
    """A net, and beside it what learns with it and is thrown away in the end.

    Args:
        network: the net that is kept.
        measure: what the score of `judge` is.
    """

    corpus: Any
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

    def judge(self) -> Verdict:
        """How good the net is now on the dev examples; asked for in evaluation mode, without gradients."""
        raise NotImplementedError(f"{type(self).__name__} must judge itself")


class Job(Protocol):
    """A recipe and the data that it is to be trained on, checked; and what becomes of them."""

    @property
    def digests(self) -> dict[str, str]:
        """A digest of everything that the trained weights depend on beside the recipe, each by its argument's name."""
        ...

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """How much there is in each split, for the card."""
        ...

    def learner(self) -> Learner:
        """The net as training begins, drawn from torch's generator."""
        ...

    def model(self, learner: Any, about: dict[str, Any], name: str) -> Any:
        """The finished model, of a learner whose net has the final weights."""
        ...
