"""Moments of amounts over sources, and a test of whether one set of sources has a higher rate than another."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Self

from regard.tasks.judging.intervals import FEWEST

__all__ = ["FALSE_ALARMS", "Moments", "finite_numbers", "is_above"]

FALSE_ALARMS = 0.001
"""The share of sets of the model's own data that are told as unlike, about."""

_LEAST_SHIFT = 0.3
"""A smaller shift, in standard deviations of one source, is never told: in large sets any shift is significant."""

_POWERS = tuple((power, order - power) for order in range(4) for power in range(order + 1))


@dataclass(frozen=True)
class Moments:
    """Sums over sources, from which the moments of the amounts about any rate follow.

    Args:
        sums: the sums of amount^i size^j for all i + j up to 3.

    Example:
        >>> found = Moments.of([(1.0, 4.0), (3.0, 4.0)])
        >>> found.count, found.rate, found.about(2, 0.5)
        (2.0, 0.5, 2.0)
    """

    sums: tuple[float, ...] = (0.0,) * len(_POWERS)

    @classmethod
    def of(cls, sources: Iterable[tuple[float, float]]) -> Self:
        """The moments of sources, each of which is given by its amount and its size."""
        rows = [[amount**i * size**j for i, j in _POWERS] for amount, size in sources]
        return cls(tuple(math.fsum(column) for column in zip(*rows, strict=True))) if rows else cls()

    @classmethod
    def read(cls, saved: Any) -> Self | None:
        """The moments that were saved as their sums; None if they aren't such sums."""
        sums = finite_numbers(saved)
        return cls(tuple(sums)) if len(sums) == len(_POWERS) else None

    @classmethod
    def assumed(cls, rate: float, count: float, spread: float | None, like: "Moments") -> Self:
        """Those of `count` sources of a model that kept only a rate, as large as those of another set on average.

        Args:
            rate: the amount in one part.
            count: the number of sources.
            spread: the standard deviation of the excess over the rate, divided by the root of the size; None: that of
                the other set.
            like: the other set.
        """
        size = like.size / like.count
        variance = size * (like.about(2, like.rate) / like.size if spread is None else spread**2)
        # The mean of amount^i for an amount that varies about rate * size without skew.
        middle = rate * size
        means = (1.0, middle, middle**2 + variance, middle**3 + 3 * middle * variance)
        return cls(tuple(count * means[i] * size**j for i, j in _POWERS))

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(tuple(one + two for one, two in zip(self.sums, other.sums, strict=True)))

    @property
    def count(self) -> float:
        """The number of sources."""
        return self.sums[_POWERS.index((0, 0))]

    @property
    def size(self) -> float:
        """The number of parts in all sources."""
        return self.sums[_POWERS.index((0, 1))]

    @property
    def rate(self) -> float:
        """The amount in one part."""
        return self.sums[_POWERS.index((1, 0))] / self.size

    def about(self, order: int, rate: float) -> float:
        """The sum of (amount - rate * size)^order over the sources."""
        return sum(
            math.comb(order, power) * (-rate) ** (order - power) * self.sums[_POWERS.index((power, order - power))]
            for power in range(order + 1)
        )


def is_above(found: Moments, usual: Moments, *, tests: int = 1) -> bool:
    """Whether a set has a higher rate than the usual one, beyond chance and by more than a small shift.

    If both are draws of the same data, this is so for one in a thousand sets. The difference of the rates is divided
    by its standard deviation, as pooled over both sets, and compared with a quantile of the normal distribution that is
    corrected for the skewness (Cornish-Fisher), since most sources have few unknown words and some have many.

    Args:
        found: the set; with fewer than 10 sources it is never above.
        usual: the sources of dev, likewise.
        tests: the number of statistics that are tested for the set, over which the false alarms are divided.

    Source: Cornish and Fisher 1938, Moments and cumulants in the specification of distributions, Revue de l'Institut
        International de Statistique 5(4), to the first order; the ratio of sums as in Cochran 1977, Sampling
        Techniques, section 2.11.

    Example:
        >>> usual = Moments.of([(share, 20.0) for share in (0.0, 1.0, 2.0)] * 50)
        >>> is_above(Moments.of([(3.0, 20.0)] * 20), usual), is_above(Moments.of([(1.0, 20.0)] * 20), usual)
        (True, False)
    """
    if min(found.count, usual.count) < FEWEST or not min(found.size, usual.size) > 0:
        return False
    pooled, shift = found + usual, found.rate - usual.rate
    squares = pooled.about(2, pooled.rate)
    if shift <= 0 or squares <= 0:
        return False
    spread = math.sqrt(squares / pooled.size)
    deviations = shift / (spread * math.sqrt(1 / found.size + 1 / usual.size))
    one, two = 1 / found.count, 1 / usual.count
    skewness = pooled.about(3, pooled.rate) / pooled.count / (squares / pooled.count) ** 1.5
    of_difference = skewness * (one**2 - two**2) / (one + two) ** 1.5
    quantile = NormalDist().inv_cdf(1 - FALSE_ALARMS / tests)
    limit = quantile + (quantile**2 - 1) * max(0.0, of_difference) / 6
    return deviations > limit and shift * math.sqrt(found.size / found.count) > _LEAST_SHIFT * spread


def finite_numbers(values: Any) -> list[float]:
    """A saved list of finite numbers; empty if it is anything else.

    Example:
        >>> finite_numbers([1, 0.5]), finite_numbers([1, None]), finite_numbers("12")
        ([1.0, 0.5], [], [])
    """
    if not isinstance(values, list | tuple):
        return []
    sound = all(isinstance(each, int | float) and math.isfinite(each) for each in values)
    return [float(each) for each in values] if sound else []
