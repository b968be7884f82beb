"""95 % confidence intervals of scores.

The share of independent observations that are right has Wilson's score interval. Observations in clusters, such as the
words of sentences, and figures that aren't shares have a percentile bootstrap interval over the clusters. The bootstrap
fails for a few clusters, and for clusters that are all alike. A share then has Wilson's interval with one observation
for each cluster; another figure has no interval.

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
"""For fewer clusters, the bootstrap gives an interval that is far too narrow."""

_RESAMPLES = 2000
_QUANTILE = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""


def wilson(share: float, count: int) -> tuple[float, float]:
    """Wilson's 95 % score interval of a share of `count` observations.

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
    """The 95 % interval of the share of right observations, and the method.

    Args:
        right: (observation,) bool.
        lengths: (cluster,) the number of observations in each cluster, 1 or more, if those of one cluster depend on
            each other; a single cluster, such as a graph, counts as independent observations.
        called: the plural nouns for clusters and observations.

    Example:
        >>> interval_of_share(np.array([True] * 9 + [False]), called=("", "examples"))[1]
        '95 % Wilson score interval over examples'
    """
    clusters, observations = called
    share = float(right.mean())
    if lengths is None or len(lengths) == 1:
        return wilson(share, len(right)), f"95 % Wilson score interval over {observations}"
    ends = np.cumsum(lengths)
    sums = np.diff(np.concatenate([[0], np.cumsum(right)[ends - 1]]))
    counts = np.stack([sums, lengths], axis=1)
    interval, method = interval_of_sums(counts, lambda drawn: float(drawn[0] / drawn[1]), clusters)
    if interval is not None:
        return interval, method
    # One observation for each cluster: dependent observations tell less than as many independent ones.
    return wilson(share, len(lengths)), f"95 % Wilson score interval over {clusters}"


def interval_of_sums(
    counts: np.ndarray, figure: Callable[[Any], float], called: str = "examples"
) -> tuple[Interval, str]:
    """The 95 % interval of a figure that is computed from sums over examples, and the method.

    Args:
        counts: (example, count), the contribution of each example to the sums.
        figure: computes the figure from the sums.
        called: the plural noun for examples.

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
    """The percentile bootstrap interval, if it is defined, and the method.

    Args:
        count: the number of clusters.
        draw: computes the figures of all resamples, given the number of clusters to draw.
        called: the plural noun for clusters.
    """
    if count < FEWEST:
        return None, f"too few {called} to say: an interval takes {FEWEST}"
    figures = draw(count)
    low, high = map(float, np.quantile(figures, [0.025, 0.975]))
    if not low < high:
        return None, f"the {called} are too much alike to say"
    return (low, high), f"95 % percentile bootstrap over {called}, {len(figures)} resamples, seed 0"


def format_interval(interval: Interval, format_value: Callable[[float], str], between: str = " to ") -> str:
    """Format an interval.

    Example:
        >>> format_interval((0.5, 0.75), "{:.1%}".format), format_interval(None, str)
        ('50.0% to 75.0%', 'too few to say')
    """
    return "too few to say" if interval is None else between.join(map(format_value, interval))
