"""Calibration: the temperature that fits probabilities to dev, and the expected calibration error."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

__all__ = ["Calibration", "best_temperature", "calibration_error"]

_BINS = 15
_HOTTEST = 100.0
_STEPS = 60
# The spread of the logarithm of temperatures that are expected: two thirds lie between 0.6 and 1.65.
_SPREAD = 0.5


@dataclass(frozen=True)
class Calibration:
    """The calibration of probabilities, before and after temperature scaling.

    Args:
        error: the expected calibration error with the temperature.
        before: the expected calibration error without it.
        temperature: the divisor of the logits.
        confidence: the mean probability of what is predicted, with the temperature; None: an earlier version saved it.
        right: the fraction of these predictions that are right.
    """

    error: float
    before: float
    temperature: float
    confidence: float | None = None
    right: float | None = None

    def describe(self) -> str:
        """Two sentences: the error, and the confidence beside the fraction that is right.

        Example:
            >>> Calibration(0.05, 0.09, 1.5, 0.925, 0.881).describe()[:75]
            'Its mean confidence is 92.5 %, and 88.1 % of its predictions are right. Its'
        """
        error = (
            f"Its probabilities are off by {100 * self.error:.2f} points on average (expected calibration error) at "
            f"the temperature of {self.temperature:.2f} that was fitted on dev; without it, by {100 * self.before:.2f}."
        )
        if self.confidence is None or self.right is None:
            return error
        return (
            f"Its mean confidence is {100 * self.confidence:.1f} %, and {100 * self.right:.1f} % of its predictions "
            f"are right. {error}"
        )


def calibration_error(probabilities: Float[Tensor, " answer"], true: Shaped[Tensor, " answer"]) -> float:
    """The expected calibration error: the mean difference between a probability and the accuracy at that probability.

    Predictions are sorted into 15 bins by probability. In each bin, the mean probability is compared with the accuracy.

    Args:
        probabilities: the probability of each prediction.
        true: whether each prediction is right.

    Example:
        >>> calibration_error(torch.tensor([0.75, 0.75, 0.5, 0.5]), torch.tensor([True, True, True, False]))
        0.125

    Source: Guo et al. 2017 (arXiv 1706.04599), equation 3, with their 15 bins.
    """
    probabilities, hits = probabilities.double(), true.double()
    places = (probabilities * _BINS).ceil().clamp(1, _BINS).long() - 1
    gaps = torch.zeros(_BINS, dtype=torch.float64).index_add_(0, places, probabilities - hits)
    return float(gaps.abs().sum()) / len(probabilities)


def best_temperature(loss: Callable[[float], float], count: int | None) -> float:
    """The most probable temperature, between 1/100 and 100.

    The logarithm of the temperature has a normal prior around 0, so that a few examples can't move it far: those of
    chance would make the probabilities of further sources worse than they are at a temperature of 1.

    Args:
        loss: the mean loss of the examples at a temperature; as a function of the logarithm of the temperature it
            falls, then rises.
        count: the number of the examples; None: without the prior, the temperature with the lowest loss.

    Example:
        >>> [round(best_temperature(lambda temperature: (temperature - 1.5) ** 2, count), 2) for count in (1, 10, 1000)]
        [1.2, 1.45, 1.5]
    """

    def improbable(place: float) -> float:
        fit = loss(math.exp(place))
        return fit if count is None else count * fit + place**2 / (2 * _SPREAD**2)

    # Golden-section search.
    ratio = (math.sqrt(5) - 1) / 2
    low, high = -math.log(_HOTTEST), math.log(_HOTTEST)
    for _ in range(_STEPS):
        first, second = high - ratio * (high - low), low + ratio * (high - low)
        if improbable(first) <= improbable(second):
            high = second
        else:
            low = first
    return math.exp((low + high) / 2)
