"""95 % confidence intervals of scores.

A share of independent things that are right or wrong has Wilson's score interval. Things that come in groups, such as
the words of sentences, and figures that are no shares have the interval of a percentile bootstrap over the groups. The
bootstrap is not defined for a few groups, or for groups that are all alike. A share then has Wilson's interval with one
thing for each group; another figure has no interval.

Source: Wilson 1927, Probable inference, the law of succession, and statistical inference; Efron and Tibshirani 1993, An
    Introduction to the Bootstrap, chapter 13.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["FEWEST", "Interval", "format_interval", "interval_of_share", "interval_of_sums", "resampled", "wilson"]

Interval = tuple[float, float] | None
"""The lower and the upper end, or None where there are too few examples to say."""

FEWEST = 10
"""Of fewer groups, resampling finds far too narrow an interval."""

_RESAMPLES = 2000
_QUANTILE = 1.959963984540054
"""Of the normal distribution, at 97.5 %."""


def wilson(share: float, count: int) -> tuple[float, float]:
    """Wilson's score interval of a share that was found among so many things, 95 %.

    Example:
        >>> [round(end, 4) for end in wilson(1.0, 50)], [round(end, 4) for end in wilson(0.5, 2)]
        ([0.9287, 1.0], [0.0945, 0.9055])
    """
    square = _QUANTILE**2
    middle = (share + square / (2 * count)) / (1 + square / count)
    reach = _QUANTILE / (1 + square / count) * (share * (1 - share) / count + square / (4 * count**2)) ** 0.5
    # Rounding must not leave the share itself outside.
    return max(0.0, min(middle - reach, share)), min(1.0, max(middle + reach, share))


def interval_of_share(
    right: np.ndarray, lengths: np.ndarray | None = None, called: tuple[str, str] = ("sources", "items")
) -> tuple[Interval, str]:
    """Between which figures the share of right things lies, and how that was found.

    Args:
        right: (thing,) bool.
        lengths: (group,) how many things each group holds, 1 or more, where those of one group are right or wrong
            together; of a single group, a graph, its things are taken for themselves.
        called: what groups and things are called.

    Example:
        >>> interval_of_share(np.array([True] * 9 + [False]), called=("", "examples"))[1]
        '95 % Wilson score interval over examples'
    """
    groups, things = called
    share = float(right.mean())
    if lengths is None or len(lengths) == 1:
        return wilson(share, len(right)), f"95 % Wilson score interval over {things}"
    ends = np.cumsum(lengths)
    sums = np.diff(np.concatenate([[0], np.cumsum(right)[ends - 1]]))
    counts = np.stack([sums, lengths], axis=1)
    interval, method = interval_of_sums(counts, lambda drawn: float(drawn[0] / drawn[1]), groups)
    if interval is not None:
        return interval, method
    # As if a group were one thing: things of a group say less than as many that are independent.
    return wilson(share, len(lengths)), f"95 % Wilson score interval over {groups}"


def interval_of_sums(
    counts: np.ndarray, figure: Callable[[Any], float], called: str = "examples"
) -> tuple[Interval, str]:
    """Between which values a figure lies that is made of sums over examples, and how that was found.

    Args:
        counts: (example, count) what each example adds to the sums.
        figure: of the sums.
        called: what examples are called.

    Example:
        >>> interval_of_sums(np.array([[1.0, 2.0]] * 9), lambda sums: float(sums[0] / sums[1]))
        (None, 'too few examples to say: an interval takes 10')
    """
    generator = np.random.default_rng(0)

    def draw(size: int) -> np.ndarray:
        drawn = generator.multinomial(size, np.full(size, 1 / size), size=_RESAMPLES)
        return np.array([figure(sums) for sums in drawn @ counts])

    return resampled(len(counts), draw, called)


def resampled(count: int, draw: Callable[[int], Any], called: str) -> tuple[Interval, str]:
    """The interval of the percentile bootstrap, where it is defined, and how it was found.

    Args:
        count: how many groups there are.
        draw: of how many to draw -> the figure of each of `_RESAMPLES` samples.
        called: what the groups are called.
    """
    if count < FEWEST:
        return None, f"too few {called} to say: an interval takes {FEWEST}"
    figures = draw(count)
    low, high = map(float, np.quantile(figures, [0.025, 0.975]))
    if not low < high:
        return None, f"the {called} are too much alike to say"
    return (low, high), f"95 % percentile bootstrap over {called}, {len(figures)} resamples, seed 0"


def format_interval(interval: Interval, said: Callable[[float], str], between: str = " to ") -> str:
    """An interval, for people.

    Example:
        >>> format_interval((0.5, 0.75), "{:.1%}".format), format_interval(None, str)
        ('50.0% to 75.0%', 'too few to say')
    """
    return "too few to say" if interval is None else between.join(map(said, interval))
