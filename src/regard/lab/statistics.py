"""Paired differences with an interval, and where two lines cross."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Crossing", "Difference", "crossing", "difference", "student"]


@dataclass(frozen=True)
class Difference:
    """The mean of paired differences.

    Args:
        mean: the mean over the pairs.
        low, high: its 95 % confidence interval.
        count: the number of pairs.
        positive: the number of pairs whose difference is above 0.
    """

    mean: float
    low: float
    high: float
    count: int
    positive: int


def difference(values: Sequence[float]) -> Difference:
    """The mean of differences between paired runs, with Student's 95 % confidence interval.

    It tells what other seeds would give, under the same data; that isn't what other data would give.

    Source: Student 1908, The probable error of a mean.

    Example:
        >>> found = difference([0.01, 0.02, 0.03])
        >>> f"{found.mean:.3f}, {found.low:.3f} to {found.high:.3f}, {found.positive} of {found.count}"
        '0.020, -0.005 to 0.045, 3 of 3'
    """
    mean, count = statistics.fmean(values), len(values)
    positive = sum(value > 0 for value in values)
    if count < 2:
        return Difference(mean, -math.inf, math.inf, count, positive)
    reach = student(count - 1) * statistics.stdev(values) / math.sqrt(count)
    return Difference(mean, mean - reach, mean + reach, count, positive)


# The 97.5 % quantiles of Student's distribution of 1 to 12 degrees of freedom.
_STUDENT = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788)


def student(freedom: int) -> float:
    """The 97.5 % quantile of Student's distribution; with more than 12 degrees of freedom from its expansion.

    Source: Abramowitz and Stegun 1964, 26.7.5, the expansion.

    Example:
        >>> round(student(2), 4), round(student(30), 4)
        (4.3027, 2.0423)
    """
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    z = 1.959963984540054
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


@dataclass(frozen=True)
class Crossing:
    """Where two lines cross.

    Args:
        at: where the lines of the means cross.
        low, high: the smallest and the largest value at which the lines of single seeds cross.
        count, seeds: the number of seeds whose lines cross, and of all.
        first_after: whether the first line is the better one after it.
    """

    at: float
    low: float
    high: float
    count: int
    seeds: int
    first_after: bool


def crossing(by_seed: Mapping[int, Mapping[float, float]], *, log: bool = False) -> Crossing | None:
    """The last place where the mean difference changes its sign; None if it doesn't.

    Args:
        by_seed: for each seed, the difference in favour of the first line by the value along which it was measured;
            each seed has the same values.
        log: whether lines are straight on a logarithmic axis.

    Example:
        >>> found = crossing({0: {1: -1.0, 2: 1.0}, 1: {1: -1.0, 2: 3.0}})
        >>> round(found.at, 2), found.low, found.high, found.first_after
        (1.33, 1.25, 1.5, True)
    """
    values = sorted(next(iter(by_seed.values())))
    mean = {value: statistics.fmean(line[value] for line in by_seed.values()) for value in values}
    at = _crossed(mean, log)
    if at is None:
        return None
    of_seeds = [place for line in by_seed.values() if (place := _crossed(line, log)) is not None]
    last = [value for value in values if mean[value] != 0][-1]
    low, high = min(of_seeds, default=at), max(of_seeds, default=at)
    return Crossing(at, low, high, len(of_seeds), len(by_seed), mean[last] > 0)


def _crossed(line: Mapping[float, float], log: bool) -> float | None:
    at = None
    # A difference of exactly 0 is on neither side.
    values = [value for value in sorted(line) if line[value] != 0]
    for before, after in pairwise(values):
        if (line[before] > 0) != (line[after] > 0):
            share = line[before] / (line[before] - line[after])
            if log:
                at = math.exp(math.log(before) + share * (math.log(after) - math.log(before)))
            else:
                at = before + share * (after - before)
    return at
