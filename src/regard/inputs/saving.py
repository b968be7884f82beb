"""What was saved as JSON, checked before anything is made of it."""

from collections.abc import Collection
from dataclasses import fields
from typing import Any

from regard.errors import ArgumentError, UnknownNameError

__all__ = ["check_types", "checked_list", "checked_names"]


def checked_names(what: str, saved: Any, names: Collection[str]) -> dict[str, Any]:
    """The saved object itself, if it has these names and no others.

    Args:
        what: what was saved, for the error.
        saved: what JSON held.
        names: the names that it must have.

    Raises:
        UnknownNameError: a name that this version doesn't know.
        ArgumentError: a name is missing, or it is no object of names.

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
            raise UnknownNameError(what, name, names)
    missing = [name for name in names if name not in saved]
    if missing:
        raise ArgumentError(f"`{what}` must have {', '.join(names)}, but has no {missing[0]}. Save it again.")
    return saved


def checked_list(what: str, saved: Any, of: type) -> tuple[Any, ...]:
    """The saved list as a tuple, if it holds nothing but these.

    Raises:
        ArgumentError: it is no list, or holds something else.

    Example:
        >>> checked_list("means", [1.0, 2.0], float)
        (1.0, 2.0)
    """
    if not isinstance(saved, list) or not all(isinstance(value, of) for value in saved):
        raise ArgumentError(f"`{what}` must be a list of {of.__name__}, but is {saved!r:.60}. Save it again.")
    return tuple(saved)


def check_types(settings: Any) -> None:
    """Refuse a field of a dataclass of whole numbers, truths and names that is of another type than its default.

    Raises:
        ArgumentError: there is one.

    Example:
        >>> from regard.inputs.frames import SpeechFrames
        >>> SpeechFrames(filters=40.0)
        Traceback (most recent call last):
            ...
        regard.errors.ArgumentError: `filters` must be a whole number, but is 40.0.
    """
    for field in fields(settings):
        value = getattr(settings, field.name)
        # `type` and not isinstance: True is an int.
        if type(value) is not type(field.default):
            wanted = {int: "a whole number", bool: "true or false", str: "a name"}[type(field.default)]
            raise ArgumentError(f"`{field.name}` must be {wanted}, but is {value!r:.60}.")
