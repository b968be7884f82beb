"""Out-of-distribution detection: a few statistics of each source, and thresholds determined on dev."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

import numpy as np

__all__ = ["Statistic", "Threshold", "saved_thresholds", "thresholds_of"]

_QUANTILE = 0.995
_MOST = 0.5


class Statistic(NamedTuple):
    """The amount of something in a source that is rare in the data of a model, such as unknown words.

    Args:
        name: its name in a saved model.
        amount: the amount.
        size: the number of parts of the source that it is counted in, such as all words.
        description: the amount in words, for a warning.
        least: smaller amounts never exceed a threshold: one unknown word doesn't make another language.
        always: whether it exceeds any threshold, because nothing in the source is known.
    """

    name: str
    amount: float
    size: float
    description: str
    least: float = -math.inf
    always: bool = False


@dataclass(frozen=True)
class Threshold:
    """The usual size of a statistic.

    Args:
        rate: the average amount in one part.
        limit: the largest excess over the rate, times the square root of the number of parts: the mean over more parts
            varies less.
    """

    rate: float
    limit: float

    @classmethod
    def fit(cls, found: Sequence[Statistic]) -> Self:
        """The threshold that one in 200 sources exceeds; for few sources, one above all of them."""
        rate = sum(each.amount for each in found) / max(sum(each.size for each in found), 1e-9)
        usual = cls(rate, 0.0)
        above = [usual.above(each) for each in found]
        limit = float(np.quantile(above, _QUANTILE))
        return cls(rate, limit + (limit - float(np.median(above))) / math.sqrt(len(above)))

    def above(self, found: Statistic) -> float:
        """The excess of a source over the rate, scaled by the square root of its size."""
        return (found.amount - self.rate * found.size) / math.sqrt(max(found.size, 1e-9))

    def exceeded(self, found: Statistic) -> bool:
        """Whether a source exceeds the threshold."""
        # If most of dev is unknown too, the statistic tells nothing.
        if found.always and self.rate < _MOST:
            return True
        return found.amount >= found.least and self.above(found) > self.limit


def thresholds_of(statistics: Sequence[Sequence[Statistic]]) -> dict[str, dict[str, float]]:
    """The threshold of each statistic, as a JSON object.

    Args:
        statistics: the statistics of each source; empty sources have none.
    """
    named: dict[str, list[Statistic]] = {}
    for each in (each for own in statistics for each in own):
        named.setdefault(each.name, []).append(each)
    return {name: asdict(Threshold.fit(found)) for name, found in named.items()}


def saved_thresholds(saved: Any) -> dict[str, Threshold]:
    """Read a result of `thresholds_of`; other content, from models of earlier versions, gives no thresholds."""
    found: dict[str, Threshold] = {}
    for name, values in saved.items() if isinstance(saved, dict) else ():
        numbers = [values.get(key) for key in ("rate", "limit")] if isinstance(values, dict) else []
        if numbers and all(isinstance(each, int | float) and math.isfinite(each) for each in numbers):
            found[name] = Threshold(*map(float, numbers))  # pyright: ignore[reportArgumentType]
    return found
