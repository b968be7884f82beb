"""Out-of-distribution sources: a few statistics of each, and the thresholds that dev gives."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

import numpy as np

__all__ = ["Statistic", "Threshold", "saved_thresholds", "thresholds_of"]

_QUANTILE = 0.995
_MOST = 0.5


class Statistic(NamedTuple):
    """How much a source has of something that is rare in sources that a model was made for.

    Args:
        name: what it is called where it is saved.
        amount: how much the source has.
        size: of how many parts.
        description: that in words.
        least: with less of it a source is never unusual: one unknown word is no other language.
        always: whether it is unusual whatever dev has: nothing in the source is known.
    """

    name: str
    amount: float
    size: float
    description: str
    least: float = -math.inf
    always: bool = False


@dataclass(frozen=True)
class Threshold:
    """How large a statistic usually is.

    Args:
        rate: so much a part has on average.
        limit: how far above that a source may be, over the square root of its size: of larger ones the mean is surer.
    """

    rate: float
    limit: float

    @classmethod
    def fit(cls, found: Sequence[Statistic]) -> Self:
        """What is usual of sources: all but one in two hundred are, and of few sources all of them, with a margin."""
        rate = sum(each.amount for each in found) / max(sum(each.size for each in found), 1e-9)
        usual = cls(rate, 0.0)
        above = [usual.above(each) for each in found]
        limit = float(np.quantile(above, _QUANTILE))
        return cls(rate, limit + (limit - float(np.median(above))) / math.sqrt(len(above)))

    def above(self, found: Statistic) -> float:
        """How far above the rate a source is."""
        return (found.amount - self.rate * found.size) / math.sqrt(max(found.size, 1e-9))

    def exceeded(self, found: Statistic) -> bool:
        """Whether a source has more of it than is usual."""
        # Where most of dev is unknown, too, it says nothing.
        if found.always and self.rate < _MOST:
            return True
        return found.amount >= found.least and self.above(found) > self.limit


def thresholds_of(statistics: Sequence[Sequence[Statistic]]) -> dict[str, dict[str, float]]:
    """The threshold of each statistic, as JSON holds it.

    Args:
        statistics: of each source; one that holds nothing has none.
    """
    named: dict[str, list[Statistic]] = {}
    for each in (each for own in statistics for each in own):
        named.setdefault(each.name, []).append(each)
    return {name: asdict(Threshold.fit(found)) for name, found in named.items()}


def saved_thresholds(saved: Any) -> dict[str, Threshold]:
    """What `thresholds_of` gave; nothing of what isn't of that form, as in models that were saved before."""
    found: dict[str, Threshold] = {}
    for name, values in saved.items() if isinstance(saved, dict) else ():
        numbers = [values.get(key) for key in ("rate", "limit")] if isinstance(values, dict) else []
        if numbers and all(isinstance(each, int | float) and math.isfinite(each) for each in numbers):
            found[name] = Threshold(*map(float, numbers))  # pyright: ignore[reportArgumentType]
    return found
