"""Validation of saved JSON, before objects are built from it."""

from collections.abc import Collection
from dataclasses import fields
from typing import Any

from regard.errors import ArgumentError, UnknownNameError

__all__ = ["check_types", "checked_list", "checked_names"]


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
