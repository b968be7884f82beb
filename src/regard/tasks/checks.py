"""What a recipe's values must be: a check for each kind of field, which returns the value in its one form."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from regard.errors import ArgumentError, UnknownNameError
from regard.inputs import WordFeatures

__all__ = ["CHECKS"]


def _whole_number(name: str, value: Any, limits: Mapping[str, Any]) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentError(f"`{name}` must be a whole number, but is {value!r}.")
    _check_range(name, value, limits)
    return value


def _real_number(name: str, value: Any, limits: Mapping[str, Any]) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ArgumentError(f"`{name}` must be a number, but is {value!r}.")
    _check_range(name, value, limits)
    return float(value)


def _real_or_none(name: str, value: Any, limits: Mapping[str, Any]) -> float | None:
    return None if value is None else _real_number(name, value, limits)


def _check_range(name: str, value: float, limits: Mapping[str, Any]) -> None:
    low, high = limits["low"], limits.get("high")
    over = value > low if limits.get("above") else value >= low
    under = high is None or (value < high if limits.get("below") else value <= high)
    # Not `value < low`: a NaN must fail too. Nor may a number without an upper limit be infinite.
    if not (over and under and value < float("inf")):
        first = f"above {low}" if limits.get("above") else f"at least {low}"
        second = "" if high is None else f" and below {high}" if limits.get("below") else f" and at most {high}"
        raise ArgumentError(f"`{name}` must be {first}{second}, but is {value!r}.")


def _truth(name: str, value: Any, limits: Mapping[str, Any]) -> bool:
    if not isinstance(value, bool):
        raise ArgumentError(f"`{name}` must be true or false, but is {value!r}.")
    return value


def _one_of(name: str, value: Any, limits: Mapping[str, Any]) -> str:
    if not isinstance(value, str) or value not in limits["names"]:
        raise UnknownNameError(name, str(value), limits["names"])
    return value


def _word_features(name: str, value: Any, limits: Mapping[str, Any]) -> WordFeatures:
    if isinstance(value, WordFeatures):
        return value
    if not isinstance(value, Mapping):
        raise ArgumentError(f"`{name}` must be a WordFeatures or an object of its fields, but is {value!r:.60}.")
    # What is left out is as the recipe's own features have it, which aren't the plain ones.
    return WordFeatures.from_json({**limits["default"].to_json(), **value})


def _shares(name: str, value: Any, limits: Mapping[str, Any]) -> Mapping[str, float]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) and key for key in value):
        raise ArgumentError(f"`{name}` must be an object, from names to numbers, but is {value!r}.")
    checked = {key: _real_number(f"{name}[{key!r}]", item, {"low": 0.0}) for key, item in value.items()}
    # A view that can't be written to: the recipe is frozen through and through.
    return MappingProxyType(checked)


CHECKS = {
    "whole": _whole_number,
    "real": _real_number,
    "real or none": _real_or_none,
    "truth": _truth,
    "one of": _one_of,
    "features": _word_features,
    "shares": _shares,
}
