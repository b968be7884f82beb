"""The base of the values that describe a network: each is read from fields of a recipe, and written back to them."""

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any, Self

__all__ = ["Part", "of_task"]


class Part:
    """The base of frozen dataclasses whose fields are fields of a recipe of the same names, or parts again.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Cell(Part):
        ...     cell: str
        ...     bidirectional: bool = of_task()
        >>> Cell.read({"cell": "gru", "task.bidirectional": True, "width": 8})
        Cell(cell='gru', bidirectional=True)
        >>> Cell("gru", True).write()
        {'cell': 'gru', 'task.bidirectional': True}
    """

    @classmethod
    def ignored(cls, values: Mapping[str, Any]) -> Collection[str]:
        """The names of its fields that have no effect where its fields have these values; such a field is None."""
        return ()

    @classmethod
    def names(cls) -> set[str]:
        """The fields of a recipe that it may be read from."""
        found = set()
        for entry in _fields(cls):
            kind = _kind(entry)
            found |= {_name(entry)} if kind is None else kind.names()
        return found

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """The part that a recipe describes.

        Args:
            values: the fields of the recipe, those of its sections as "section.field", as `Settings.flat` gives them.
        """
        found: dict[str, Any] = {}
        for entry in _fields(cls):
            kind = _kind(entry)
            found[entry.name] = values[_name(entry)] if kind is None else kind.read(values)
        return cls(**found | dict.fromkeys(cls.ignored(found)))

    def write(self) -> dict[str, Any]:
        """The fields of a recipe that it was read from, without those that have no effect."""
        ignored = self.ignored(vars(self))
        found: dict[str, Any] = {}
        for entry in _fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, Part):
                found |= value.write()
            elif entry.name not in ignored:
                found[_name(entry)] = value
        return found


def of_task() -> Any:
    """A field that stands in the section `task` of a recipe."""
    return dataclasses.field(metadata={"section": "task."})


def _fields(part: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(part)


def _kind(entry: dataclasses.Field[Any]) -> type[Part] | None:
    """The kind of part that a field holds; None if it holds a value of the recipe's."""
    return entry.type if isinstance(entry.type, type) and issubclass(entry.type, Part) else None


def _name(entry: dataclasses.Field[Any]) -> str:
    return entry.metadata.get("section", "") + entry.name
