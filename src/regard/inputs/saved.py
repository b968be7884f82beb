"""The base of frozen dataclasses that are saved as JSON objects, with a key for each field."""

from dataclasses import MISSING, Field, fields
from types import NoneType, UnionType
from typing import Any, ClassVar, Self, get_args, get_origin, get_type_hints

from regard.inputs.json_validation import checked_list, checked_names

__all__ = ["Saved"]


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
