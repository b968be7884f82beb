"""How much of its blue an item has, which items have their numbers written, and how long bars are."""

import math
from collections.abc import Iterable

import numpy as np

from regard.page.scale import full_colour

__all__ = ["full_change", "heaviest", "highest", "strengths", "width_of", "with_minus"]

_MOST_NUMBERS, _LEAST_NUMBER = 8, 0.02


def highest(weights: np.ndarray) -> float:
    """The weight that has the full colour: the largest, if equal weights wouldn't be dark on its scale.

    Example:
        >>> highest(np.array([0.25, math.nan, 0.5])), highest(np.full(8, 0.125))
        (1.0, 0.5)
    """
    return full_colour(max([0.0, *weights[np.isfinite(weights)].tolist()]), len(weights))


def strengths(weights: np.ndarray) -> np.ndarray:
    """How much of the colour each item has, from 0 to 1; the root, as in the map.

    Example:
        >>> strengths(np.array([0.0, 0.25, 1.0])).tolist()
        [0.0, 0.5, 1.0]
    """
    return np.sqrt(np.clip(np.nan_to_num(weights, nan=0.0, posinf=0.0, neginf=0.0) / highest(weights), 0.0, 1.0))


def heaviest(weights: np.ndarray) -> list[int]:
    """The items whose weights are written: eight at most, the largest first, and none below 2%.

    Example:
        >>> heaviest(np.array([0.25, 0.01, 0.74]))
        [2, 0]
    """
    found = [item for item, weight in enumerate(weights.tolist()) if math.isfinite(weight) and weight >= _LEAST_NUMBER]
    return sorted(found, key=lambda item: -weights[item])[:_MOST_NUMBERS]


def full_change(sizes: Iterable[float], least: float) -> float:
    """The change that has the longest bar: the largest of these sizes, but no smaller one than `least`.

    Example:
        >>> full_change([0.02, 0.75], 0.5), full_change([0.02], 0.5), full_change([0.02], 0.0)
        (0.75, 0.5, 0.02)
    """
    return max([1e-12, least, *sizes])


def width_of(weight: float) -> float:
    """The width in points of a line that stands for a weight."""
    return 0.8 + 5.0 * min(1.0, max(0.0, weight))


def with_minus(text: str) -> str:
    """A number with the sign, or two with the arrow, that print has.

    Example:
        >>> with_minus("-0.37"), with_minus("80% -> 4%")
        ('−0.37', '80% → 4%')
    """
    return f"−{text[1:]}" if text.startswith("-") else text.replace(" -> ", " → ")
