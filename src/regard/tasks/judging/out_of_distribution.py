"""Out-of-distribution detection: a few statistics of each source, and thresholds determined on dev."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any, NamedTuple, Self

import numpy as np

from regard.tasks.judging.moments import Moments, finite_numbers

__all__ = ["Difference", "Statistic", "Threshold", "percent", "saved_thresholds", "thresholds_of"]

_QUANTILE = 0.995
_MOST = 0.5
_NORMAL = NormalDist().inv_cdf(_QUANTILE)


def percent(share: float) -> str:
    """Format a rate that is a fraction.

    Example:
        >>> percent(0.125)
        '12.5 %'
    """
    return f"{100 * share:.1f} %"


class Statistic(NamedTuple):
    """The amount of something in a source that is rare in the data of a model, such as unknown words.

    Args:
        name: its name in a saved model.
        amount: the amount.
        size: the number of parts of the source that it is counted in, such as all words.
        description: the amount in words, for a warning.
        least: smaller amounts never exceed a threshold: one unknown word doesn't make another language.
        always: whether it exceeds any threshold, because nothing in the source is known.
        of_set: the mean in a set of sources in words, after "in these sources", with {} for the rate; "": it isn't
            compared.
        shown: formats the rate.
    """

    name: str
    amount: float
    size: float
    description: str
    least: float = -math.inf
    always: bool = False
    of_set: str = ""
    shown: Callable[[float], str] = percent


@dataclass(frozen=True)
class Threshold:
    """The usual size of a statistic.

    Args:
        rate: the average amount in one part.
        limit: the largest excess over the rate, times the square root of the number of parts: the mean over more parts
            varies less.
        moments: the sums of the `Moments` of the sources, by which sets of sources are compared; empty if an earlier
            version saved it.
    """

    rate: float
    limit: float
    moments: tuple[float, ...] = ()

    @classmethod
    def fit(cls, found: Sequence[Statistic]) -> Self:
        """The threshold that one in 200 sources exceeds; for few sources, one above all of them."""
        rate = sum(each.amount for each in found) / max(sum(each.size for each in found), 1e-9)
        usual = cls(rate, 0.0)
        above = [usual.above(each) for each in found]
        limit = float(np.quantile(above, _QUANTILE))
        moments = Moments.of((each.amount, each.size) for each in found)
        return cls(rate, limit + (limit - float(np.median(above))) / math.sqrt(len(above)), moments.sums)

    def above(self, found: Statistic) -> float:
        """The excess of a source over the rate, scaled by the square root of its size."""
        return (found.amount - self.rate * found.size) / math.sqrt(max(found.size, 1e-9))

    def exceeded(self, found: Statistic) -> bool:
        """Whether a source exceeds the threshold."""
        # If most of dev is unknown too, the statistic tells nothing.
        if found.always and self.rate < _MOST:
            return True
        return found.amount >= found.least and self.above(found) > self.limit

    def usual(self, like: Moments, count: float | None) -> Moments | None:
        """The moments of the sources of dev.

        Without those that were saved, the sources have the sizes of another set, and the spread of a normal
        distribution of which one in 200 exceeds the limit.

        Args:
            like: the other set.
            count: the number of sources of dev; None if it isn't known, and there are no moments then.
        """
        if self.moments:
            return Moments(self.moments)
        return None if count is None else Moments.assumed(self.rate, count, max(0.0, self.limit) / _NORMAL, like)


@dataclass(frozen=True)
class Difference:
    """A statistic that is higher in a set of sources than in the model's own data.

    Args:
        name: its name, such as "unknown words".
        found: its rate in the set.
        usual: its rate in dev.
        description: both in words.
    """

    name: str
    found: float
    usual: float
    description: str


def thresholds_of(statistics: Sequence[Sequence[Statistic]]) -> dict[str, dict[str, Any]]:
    """The threshold of each statistic, as a JSON object.

    Args:
        statistics: the statistics of each source; empty sources have none.
    """
    named: dict[str, list[Statistic]] = {}
    for each in (each for own in statistics for each in own):
        named.setdefault(each.name, []).append(each)
    fitted = {name: Threshold.fit(found) for name, found in named.items()}
    return {name: {**asdict(each), "moments": [*each.moments]} for name, each in fitted.items()}


def saved_thresholds(saved: Any) -> dict[str, Threshold]:
    """Read a result of `thresholds_of`; other content, from models of earlier versions, gives no thresholds."""
    found: dict[str, Threshold] = {}
    for name, values in saved.items() if isinstance(saved, dict) else ():
        saved_numbers = [values.get("rate"), values.get("limit")] if isinstance(values, dict) else []
        if numbers := finite_numbers(saved_numbers):
            moments = Moments.read(values.get("moments"))
            found[name] = Threshold(numbers[0], numbers[1], () if moments is None else moments.sums)
    return found
