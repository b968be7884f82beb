"""Settings: frozen dataclasses with validated fields, read from JSON and written to it.

Each field is declared by one of the functions below. An invalid value raises an error that names the field when the
settings are created. A section is a field that holds settings of one of several kinds, whose name is in the JSON.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

from regard.errors import ArgumentError, UnknownNameError
from regard.inputs import WordFeatures

__all__ = [
    "Settings",
    "boolean",
    "features",
    "fraction",
    "integer",
    "integer_or_none",
    "named_weights",
    "none_or_one_of",
    "one_of",
    "real",
    "real_or_none",
    "section",
    "text",
]

Check = Callable[[str, Any], Any]

_MOST = 2**31 - 1


class Settings:
    """The base of frozen dataclasses whose fields are declared by the functions of this file."""

    kind: ClassVar[str]
    """The name of these settings in JSON, if they are a section."""

    def __init_subclass__(cls) -> None:
        # Set in the class itself, so that `dataclass` keeps it: the generated method can't hash a read-only view.
        cls.__hash__ = Settings.__hash__

    def __new__(cls, *_: Any, **given: Any) -> Self:
        # Checked before the dataclass does, whose error for a mistyped name suggests no other.
        known = [entry.name for entry in _fields(cls)]
        for name in given:
            if name not in known:
                raise _unknown_key(cls.__name__, name, known)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for entry in _fields(self):
            value = entry.metadata["check"](entry.name, getattr(self, entry.name))
            object.__setattr__(self, entry.name, value)

    def __hash__(self) -> int:
        return hash(json.dumps(self.to_json(), sort_keys=True))

    def __reduce__(self) -> tuple[Any, ...]:
        # A read-only view can't be copied or sent to another process, but its content can.
        return type(self).from_json, (self.to_json(),)

    def to_json(self) -> dict[str, Any]:
        """The settings as a JSON object."""
        return {entry.name: _plain(getattr(self, entry.name)) for entry in _fields(self)}

    def flat(self) -> dict[str, Any]:
        """`to_json`, and the fields of its sections under names with a dot.

        Example:
            >>> from regard.tasks import Recipe
            >>> Recipe().flat()["input.word_width"]
            48
        """
        held = self.to_json()
        sections = {entry.name: held[entry.name] for entry in _fields(self) if isinstance(entry.default, Settings)}
        return held | {f"{name}.{key}": value for name, section in sections.items() for key, value in section.items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any], *, name: str = "recipe") -> Self:
        """The settings of a JSON object; missing keys have their defaults.

        Args:
            values: a result of `to_json`, or a part of one.
            name: the name of the settings in an error.

        Raises:
            UnknownNameError: an unknown key; the error suggests the nearest one.
            ArgumentError: an invalid value.
        """
        if not isinstance(values, Mapping):
            raise ArgumentError(f"`{name}` must be a JSON object, but is {values!r:.60}.")
        known = [entry.name for entry in _fields(cls)]
        for key in values:
            if key not in known:
                raise _unknown_key(name, str(key), known)
        return cls(**values)


def integer(default: int, low: int, high: int | None = None) -> Any:
    """A whole number from `low` to `high`; None: to the largest that 32 bits hold."""
    limits = {"low": low, "high": high}

    def check(name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ArgumentError(f"`{name}` must be a whole number, but is {value!r:.60}.")
        _check_range(name, value, **limits)
        if high is None and value > _MOST:
            raise ArgumentError(f"`{name}` must be at most {_MOST:,}, but is {value!r:.60}.")
        return value

    return _field(default, check)


def integer_or_none(low: int) -> Any:
    """A whole number of `low` or more, or None, which is the default."""
    check = integer(low, low).metadata["check"]
    return _field(None, lambda name, value: None if value is None else check(name, value))


def real(default: float, low: float, high: float | None = None, *, above: bool = False, below: bool = False) -> Any:
    """A number from `low` to `high`; `above` and `below` leave the ends out."""

    def check(name: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ArgumentError(f"`{name}` must be a number, but is {value!r:.60}.")
        _check_range(name, value, low, high, above=above, below=below)
        return float(value)

    return _field(default, check)


def fraction(default: float) -> Any:
    """A number from 0 to below 1."""
    return real(default, 0.0, 1.0, below=True)


def real_or_none(low: float) -> Any:
    """A number above `low`, or None, which is the default."""
    check = real(0.0, low, above=True).metadata["check"]
    return _field(None, lambda name, value: None if value is None else check(name, value))


def boolean(default: bool) -> Any:
    """True or false."""

    def check(name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ArgumentError(f"`{name}` must be true or false, but is {value!r:.60}.")
        return value

    return _field(default, check)


def text(default: str = "") -> Any:
    """A text, such as a path."""

    def check(name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise ArgumentError(f"`{name}` must be a text, but is {value!r:.60}.")
        return value

    return _field(default, check)


def one_of(default: str, *names: str) -> Any:
    """One of these names."""

    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in names:
            raise UnknownNameError(name, str(value), names)
        return value

    return _field(default, check)


def none_or_one_of(known: Mapping[str, Any]) -> Any:
    """ "none", which is the default, or a name in a table, which users may add to."""

    def check(name: str, value: Any) -> str:
        return one_of("none", "none", *known).metadata["check"](name, value)

    return _field("none", check)


def named_weights() -> Any:
    """An object from names to numbers of 0 or more; empty by default."""
    number = real(0.0, 0.0).metadata["check"]

    def check(name: str, value: Any) -> Mapping[str, float]:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) and key for key in value):
            raise ArgumentError(f"`{name}` must be an object, from names to numbers, but is {value!r:.60}.")
        # A read-only view, so that the settings are frozen as a whole.
        return MappingProxyType({key: number(f"{name}[{key!r:.60}]", item) for key, item in value.items()})

    return dataclasses.field(default_factory=dict, metadata={"check": check})


def features(default: WordFeatures) -> Any:
    """A `WordFeatures`, or an object of its fields that differ from the default."""

    def check(name: str, value: Any) -> WordFeatures:
        if isinstance(value, WordFeatures):
            return value
        if not isinstance(value, Mapping):
            raise ArgumentError(f"`{name}` must be a WordFeatures or an object of its fields, but is {value!r:.60}.")
        return WordFeatures.from_json({**default.to_json(), **value})

    return _field(default, check)


def section(
    default: Settings, kinds: Mapping[str, Any], *, settings: Callable[[Any], type[Settings]] = lambda kind: kind
) -> Any:
    """Settings of one of several kinds, the name of a kind, or an object of the fields that differ from the default.

    Args:
        default: the settings where none are given.
        kinds: the kinds by name.
        settings: gives the class of a kind's settings; only those of the kind that is used are asked for.
    """

    def check(name: str, value: Any) -> Settings:
        known = kinds.get(getattr(value, "kind", "")) if isinstance(value, Settings) else None
        if known is not None and isinstance(value, settings(known)):
            return value
        if isinstance(value, str):
            if value not in kinds:
                raise UnknownNameError(name, value, kinds)
            value = {"kind": value}
        if not isinstance(value, Mapping):
            raise ArgumentError(
                f"`{name}` must be an object of settings, or one of {', '.join(kinds)}, but is {value!r:.60}."
            )
        given = dict(value)
        kind = given.pop("kind", default.kind)
        if not isinstance(kind, str) or kind not in kinds:
            raise UnknownNameError(f"{name}.kind", str(kind), kinds)
        usual = default.to_json() if kind == default.kind else {}
        usual.pop("kind", None)
        # The dot tells the name apart from the option --input of the command line.
        return settings(kinds[kind]).from_json({**usual, **given}, name=f"recipe.{name}")

    return _field(default, check)


def _field(default: Any, check: Check) -> Any:
    return dataclasses.field(default=default, metadata={"check": check})


def _fields(settings: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(settings)


def _plain(value: Any) -> Any:
    if isinstance(value, Settings):
        return {"kind": value.kind, **value.to_json()}
    if isinstance(value, WordFeatures):
        return value.to_json()
    return dict(value) if isinstance(value, Mapping) else value


def _check_range(
    name: str, value: float, low: float, high: float | None, *, above: bool = False, below: bool = False
) -> None:
    over = value > low if above else value >= low
    under = high is None or (value < high if below else value <= high)
    # Not `value < low`, so that NaN fails too. Numbers without an upper limit must still be finite.
    if not (over and under and value < float("inf")):
        first = f"above {low}" if above else f"at least {low}"
        second = "" if high is None else f" and below {high}" if below else f" and at most {high}"
        raise ArgumentError(f"`{name}` must be {first}{second}, but is {value!r:.60}.")


def _unknown_key(settings: str, name: str, known: list[str]) -> UnknownNameError:
    """An error that suggests the nearest name; a list of dozens of names would hide it."""
    error = UnknownNameError(settings, name, known)
    _, asks, near = str(error).partition(" Did you mean")
    hint = f".{asks}{near}" if near else f", only {', '.join(known)}."
    error.args = (f"`{settings}` has no {name!r:.60}{hint}",)
    return error
