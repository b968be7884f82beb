"""What is saved as a JSON object: frozen dataclasses with a key for each field, and checks of what is read."""

from collections.abc import Collection
from dataclasses import MISSING, Field, fields
from types import NoneType, UnionType
from typing import Any, ClassVar, Self, get_args, get_origin, get_type_hints

from regard.errors import ArgumentError, UnknownNameError

__all__ = ["Saved", "check_types", "checked_list", "checked_names"]


def checked_names(
    what: str, saved: Any, names: Collection[str], *, required: Collection[str] | None = None
) -> dict[str, Any]:
    """The saved JSON object, after checking that its keys are known and that none is missing.

    Args:
        what: the name of the saved value, for the error.
        saved: the JSON value.
        names: the known keys.
        required: the keys that must be there; by default all known keys.

    Raises:
        UnknownNameError: an unknown key.
        ArgumentError: a missing key, or a value that isn't an object.

    Example:
        >>> checked_names("atoms", {"feature": "rich"}, ["features"])
        Traceback (most recent call last):
            ...
        regard.errors.UnknownNameError: `atoms` must be one of features, but is 'feature'. Did you mean 'features'?
    """
    if not isinstance(saved, dict):
        raise ArgumentError(f"`{what}` must be what `to_json` gave, but is {saved!r:.60}.")
    for name in saved:
        if name not in names:
            raise UnknownNameError(what, str(name), names)
    missing = [name for name in (names if required is None else required) if name not in saved]
    if missing:
        raise ArgumentError(f"`{what}` must have {', '.join(names)}, but has no {missing[0]}. Save it again.")
    return saved


def checked_list(what: str, saved: Any, of: type) -> tuple[Any, ...]:
    """The saved list as a tuple, after checking the type of its elements.

    Raises:
        ArgumentError: it isn't a list, or has an element of another type.

    Example:
        >>> checked_list("means", [1.0, 2.0], float)
        (1.0, 2.0)
    """
    if not isinstance(saved, list) or not all(isinstance(value, of) for value in saved):
        raise ArgumentError(f"`{what}` must be a list of {of.__name__}, but is {saved!r:.60}. Save it again.")
    return tuple(saved)


def check_types(settings: Any) -> None:
    """Check that each field of a dataclass has the type of its default: an integer, a boolean or a string.

    Raises:
        ArgumentError: a field has another type.

    Example:
        >>> from regard.inputs.sound.speech_frames import SpeechFrames
        >>> SpeechFrames(filters=40.0)
        Traceback (most recent call last):
            ...
        regard.errors.ArgumentError: `filters` must be an integer, but is 40.0.
    """
    for field in fields(settings):
        value = getattr(settings, field.name)
        # `type` and not isinstance, for which True is an int.
        if type(value) is not type(field.default):
            wanted = {int: "an integer", bool: "true or false", str: "a string"}[type(field.default)]
            raise ArgumentError(f"`{field.name}` must be {wanted}, but is {value!r:.60}.")


class Saved:
    """A frozen dataclass that is saved as a JSON object of its fields.

    `from_json` checks the keys. The annotation of a field says what its value must be: a list of elements of one type,
    which becomes a tuple, or an object of another class with `from_json`. Other values are left to `__post_init__`.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Crop(Saved):
        ...     json_name = "crop"
        ...     size: tuple[int, int]
        >>> Crop((5, 10)).to_json(), Crop.from_json({"size": [5, 10]})
        ({'size': [5, 10]}, Crop(size=(5, 10)))
        >>> Crop.from_json({"sise": [5, 10]})
        Traceback (most recent call last):
            ...
        regard.errors.UnknownNameError: `crop` must be one of size, but is 'sise'. Did you mean 'size'?
    """

    json_name: ClassVar[str]
    """What errors call the JSON object."""
    json_defaults: ClassVar[bool] = False
    """Whether keys may be missing whose fields have defaults, as in models of earlier versions."""

    def to_json(self) -> dict[str, Any]:
        """The fields as a JSON object."""
        return {field.name: _plain(getattr(self, field.name)) for field in _fields(self)}

    @classmethod
    def from_json(cls, saved: Any) -> Self:
        """The object whose `to_json` returned this.

        Raises:
            UnknownNameError: an unknown key; names the nearest.
            ArgumentError: it isn't a JSON object, a key is missing, or a value is invalid.
        """
        keys = cls.json_keys()
        required = [name for name, needed in keys.items() if needed]
        values = checked_names(cls.json_name, saved, keys, required=required)
        annotations = get_type_hints(cls)
        return cls(**{name: _read(name, value, annotations[name]) for name, value in values.items()})

    @classmethod
    def json_keys(cls) -> dict[str, bool]:
        """The keys of the JSON object, and whether each must be there."""
        return {field.name: not cls.json_defaults or field.default is MISSING for field in _fields(cls)}


def _fields(saved: Any) -> tuple[Field[Any], ...]:
    return fields(saved)


def _plain(value: Any) -> Any:
    if hasattr(value, "to_json"):
        return value.to_json()
    return list(value) if isinstance(value, tuple) else value


def _read(name: str, value: Any, annotation: Any) -> Any:
    kinds = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    if value is None and NoneType in kinds:
        return None
    for kind in kinds:
        if hasattr(kind, "from_json"):
            return kind.from_json(value)
        if get_origin(kind) is tuple and not isinstance(value, tuple):
            return checked_list(name, value, of=get_args(kind)[0])
    return value
