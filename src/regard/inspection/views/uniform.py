"""Whether a row of weights is about equal, so that its largest weight says nothing."""

import math
from collections.abc import Iterable, Sequence

from regard.page.numbers import percent

__all__ = ["equal_share", "is_uneven", "uniform_over"]

_SPREAD = 0.95
# Scores with a normal distribution and this variance give weights of that spread.
_VARIANCE = -2 * math.log(_SPREAD)
# Of two items, the larger one has this at most. Two among others that could have weight and have none are named.
_OF_TWO = 0.55
# Of weights that are said to be about equal, the largest is at most so many times the smallest.
_MOST_ALIKE = 1.5


def uniform_over(weights: Sequence[float], allowed: int = 0) -> int:
    """Over how many items weights are about equal; 0: over none. Items of weight 0 aren't counted.

    The exponential of the entropy says over how many items weights are spread: about equal are those that are spread
    over 95 % of their items or more, as those of normally distributed scores with a standard deviation of 0.32 are. In
    a long row a single item could stand out for all that, so the largest weight must not exceed what the largest of so
    many such scores would make it.

    Args:
        weights: those of one query; they need not sum to 1.
        allowed: how many of the items the mask doesn't hide; 0: that isn't known, and taken for all.

    Example:
        >>> uniform_over([0.26, 0.24, 0.25, 0.25]), uniform_over([0.3, 0.0, 0.35, 0.35]), uniform_over([0.7, 0.2, 0.1])
        (4, 3, 0)
        >>> uniform_over([1.0] * 999 + [30.0]), uniform_over([0.51, 0.49]), uniform_over([0.51, 0.49, 0.0])
        (0, 2, 0)
        >>> uniform_over([0.51, 0.49, 0.0], allowed=2)
        2
    """
    some = [weight for weight in weights if weight != 0]
    count, total = len(some), math.fsum(some) if all(map(math.isfinite, some)) else math.inf
    if count < 2 or not math.isfinite(total) or min(some) < 0:
        return 0
    if count == 2:
        return 2 if (allowed or len(weights)) == 2 and max(some) / total <= _OF_TWO else 0
    entropy = -math.fsum(weight / total * math.log(weight / total) for weight in some)
    if entropy < math.log(_SPREAD * count):
        return 0
    return count if max(some) / total <= math.exp(math.sqrt(2 * _VARIANCE * math.log(count))) / count else 0


def is_uneven(weights: Sequence[float]) -> bool:
    """Whether about equal weights don't read so: the largest is over 1.5 times the smallest, and written otherwise.

    Scores that are drawn at random give such weights, too.

    Args:
        weights: those of one query that `uniform_over` calls about equal. Those of 0 aren't counted.

    Example:
        >>> is_uneven([0.32, 0.3, 0.2, 0.18]), is_uneven([0.26, 0.24, 0.25, 0.25]), is_uneven([0.024, 0.016, 0.0])
        (True, False, False)
    """
    some = [weight for weight in weights if weight]
    return max(some) > _MOST_ALIKE * min(some) and percent(max(some)) != percent(min(some))


def equal_share(rows: Iterable[Iterable[float]], items: int) -> float:
    """What each item would have of equal weights; 0 if a row of weights doesn't sum to 1. Rows of zeros aren't counted.

    Args:
        rows: the rows.
        items: how many items a row may attend to; 0: it isn't the same for all, or not known, so this is 0, too.

    Example:
        >>> equal_share([[0.75, 0.25, 0.0, 0.0]], 4), equal_share([[0.75, 0.75]], 2), equal_share([[0.0, 0.0]], 2)
        (0.25, 0.0, 0.0)
    """
    sums = [total for row in rows if (total := math.fsum(filter(math.isfinite, row)))]
    return 1 / items if items and sums and all(abs(total - 1) < 1e-3 for total in sums) else 0.0
