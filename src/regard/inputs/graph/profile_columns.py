"""A column of profiles: the values of one attribute for all people, numbers or words."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from regard.errors import ArgumentError

__all__ = ["ProfileColumn", "ProfileColumns", "read_column"]

ProfileColumns = Mapping[str, "Sequence[Any] | np.ndarray"]
"""The columns by name, each with the value of every person in the same order; in a float64 array NaN is missing."""

_LARGEST = torch.finfo(torch.float32).max


class ProfileColumn(NamedTuple):
    """A column as it was given, the function that parses its values, and its unique parsed values."""

    given: Sequence[Any] | np.ndarray
    read: Callable[[Any], str | float | None]
    unique: list[str | float | None]

    def words(self) -> Iterator[str | float | None]:
        """The parsed value of each person."""
        return map(self.read, self.given)

    def numbers(self, name: str) -> np.ndarray:
        """The number of each person, NaN if it is missing.

        Raises:
            ArgumentError: one of the values is a word.
        """
        if isinstance(self.given, np.ndarray) and self.given.dtype == np.float64:
            return self.given
        for value in self.unique:
            if isinstance(value, str):
                raise ArgumentError(
                    f"`profiles` must have a number for {name!r:.60}, as others have, but has the word {value!r:.60}. "
                    "What isn't known is None."
                )
        values: Iterator[Any] = map(self.read, self.given)
        if None in self.unique:
            values = (math.nan if value is None else value for value in values)
        return np.fromiter(values, np.float64, len(self.given))


def read_column(name: str, column: Sequence[Any] | np.ndarray) -> ProfileColumn:
    """Parse a column. Each unique value is parsed once, because a bag of words has two values and many rows.

    Raises:
        ArgumentError: a value that isn't a number in the range of float32, a word, or None.

    Example:
        >>> read_column("age", [31, None, 31]).numbers("age")
        array([31., nan, 31.])
    """
    if isinstance(column, np.ndarray) and column.dtype == np.float64:
        unknown = np.isnan(column)
        known = column if not unknown.any() else column[~unknown]
        ends = [_value(name, float(end)) for end in (known.min(), known.max())] if len(known) else []
        return ProfileColumn(
            column, lambda value: _value(name, value), ends if len(known) == len(column) else [*ends, None]
        )
    try:
        read = {value: _value(name, value) for value in dict.fromkeys(column)}
    except TypeError:
        # Values such as arrays of one number aren't hashable.
        return ProfileColumn(column, lambda value: _value(name, value), [_value(name, value) for value in column])
    return ProfileColumn(column, read.__getitem__, [*read.values()])


def _value(name: str, value: Any) -> str | float | None:
    """Parse the value of an attribute: a word, a number as float, or None; an empty word is None."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"`profiles` must hold numbers and words, but {name!r:.60} is {value!r:.60}.") from None
    if not math.isfinite(number) or abs(number) > _LARGEST:
        raise ArgumentError(
            f"`profiles` must hold numbers that float32 can hold, but {name!r:.60} is {number}. "
            "What isn't known is None."
        )
    return number
