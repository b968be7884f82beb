"""The base of targets, which are saved under the key `answer` of a model."""

import sys
from typing import Any, ClassVar, Self

from regard.errors import ArgumentError, ModelError
from regard.inputs.saved import Saved

__all__ = ["SavedTarget", "check_positive", "check_temperature"]


class SavedTarget(Saved):
    """A target, saved as its kind and its fields. Subclasses are frozen dataclasses that check their fields."""

    kind: ClassVar[str]
    """The name of the target in JSON."""
    json_name: ClassVar[str] = "answer"
    json_defaults: ClassVar[bool] = True

    @property
    def description(self) -> str:
        """The target in a few words."""
        raise NotImplementedError(f"{type(self).__name__} must describe itself")

    def named(self, name: str) -> Self:
        """The target with a name of what it is, such as the column that held it, where it can have one and has none."""
        return self

    def to_json(self) -> dict[str, Any]:
        """The kind and the fields as a JSON object."""
        return {"kind": self.kind, **super().to_json()}

    @classmethod
    def from_json(cls, saved: Any) -> Self:
        """The target of the JSON object that `to_json` returned.

        Raises:
            ModelError: a target of another kind, an unknown or missing key, or an invalid value.
        """
        if not isinstance(saved, dict) or saved.get("kind") != cls.kind:
            raise ModelError(f"`answer` must be of kind {cls.kind!r}, but is {saved!r:.60}.")
        # As tuples: each target checks the entries itself.
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in saved.items()}
        del values["kind"]
        keys = cls.json_keys()
        missing = [name for name, needed in keys.items() if needed and name not in values]
        # For a misspelt key, the error below suggests the right one.
        if missing and values.keys() <= keys.keys():
            raise ModelError(f"`answer` must have all fields of kind {cls.kind!r}, but has no {missing[0]!r}.")
        try:
            return super().from_json(values)
        except ArgumentError as error:
            raise ModelError(f"`answer` must be a target of kind {cls.kind!r}, but can't be read: {error}") from error


def check_temperature(value: Any) -> None:
    """Check a temperature: dividing by much smaller ones gives no number, and by much larger ones nothing but chance.

    Raises:
        ArgumentError: it isn't from 0.001 to 1000; calibration gives 0.01 to 100.

    Example:
        >>> check_temperature(1e-320)
        Traceback (most recent call last):
            ...
        regard.errors.ArgumentError: `temperature` must be a number from 0.001 to 1000, but is 1e-320.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 1e-3 <= value <= 1e3:
        raise ArgumentError(f"`temperature` must be a number from 0.001 to 1000, but is {value!r:.60}.")


def check_positive(name: str, value: Any) -> None:
    """Check that a field is a finite number above 0.

    Raises:
        ArgumentError: it isn't.

    Example:
        >>> check_positive("temperature", 0.0)
        Traceback (most recent call last):
            ...
        regard.errors.ArgumentError: `temperature` must be a finite number above 0, but is 0.0.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value <= sys.float_info.max:
        raise ArgumentError(f"`{name}` must be a finite number above 0, but is {value!r:.60}.")
