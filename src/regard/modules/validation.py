"""Checks of numbers that several modules take."""

import math
from typing import Any

from regard.attention.validation import check_number
from regard.errors import ArgumentError

__all__ = ["check_non_negative"]


def check_non_negative(name: str, value: Any) -> None:
    """Check that an argument is a finite number, 0 or more.

    Raises:
        ArgumentError: it isn't a number, or it is negative, infinite or NaN.

    Example:
        >>> check_non_negative("weight", -1.0)
        Traceback (most recent call last):
            ...
        regard.errors.ArgumentError: `weight` must be a number, 0 or more, but is -1.0.
    """
    check_number(name, value)
    if not 0 <= value < math.inf:
        raise ArgumentError(f"`{name}` must be a number, 0 or more, but is {value}.")
