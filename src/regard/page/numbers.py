"""How a share is written: short, and never rounded into something else."""

import math

__all__ = ["percent"]


def percent(value: float | None) -> str:
    """Write a share as whole percents; 0% and 100% are exact, and what only comes near says so.

    Example:
        >>> [percent(value) for value in (0.0, 0.001, 0.52, 0.999, 1.0, None, float("nan"))]
        ['0%', '<1%', '52%', '>99%', '100%', 'masked', 'NaN']
    """
    if value is None:
        return "masked"
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    # float32 sums of weights miss 1 by a few units in the seventh place; that is rounding, not a share that is missing.
    if abs(value - 1.0) < 1e-6:
        return "100%"
    if 0.0 < value < 0.005:
        return "<1%"
    if 0.995 <= value < 1.0:
        return ">99%"
    return f"{100 * value:.0f}%"
