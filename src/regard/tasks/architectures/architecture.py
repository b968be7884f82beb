"""The base classes of the architectures that a recipe can name, and of their parts: which fields of it they read."""

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from torch import nn

from regard.errors import ArgumentError
from regard.modules import Network

__all__ = ["Architecture", "Architectures", "EncoderDecoder", "ItemNetwork", "Part", "of_task"]


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


Fixed = Mapping[str, tuple[Any, str]]
"""Fields of a recipe that can't be changed: name -> (the only value, why)."""


@dataclass(frozen=True)
class Architecture(Part):
    """A network, described by the fields of a recipe that it depends on. Equal architectures build equal networks.

    Each architecture is a subclass with its own fields and a method `build`.
    """

    name: ClassVar[str]
    """Its name in recipes."""
    summary: ClassVar[str]
    """For the model card: what it consists of."""
    attends: ClassVar[bool] = True
    """Whether it has attention."""
    of_source: ClassVar[bool] = False
    """Whether the kind of source brings the network (`Source.network`)."""
    unattended: ClassVar[str] = ", without attention, for comparison"
    """For the model card: what to say if it has no attention, and the answer isn't drawn by attention either."""
    fixed: ClassVar[Fixed] = {}
    """The fields of a recipe that other architectures have and that must keep a neutral value for this one.

    Other values are refused, not ignored: a comparison of recipes that differ only in an ignored field would look
    like a result.
    """

    width: int
    layers: int
    dropout: float

    @property
    def position_limit(self) -> int | None:
        """The largest number of items in a source, if its attention learns numbers for each position; else None."""
        return None

    def check(self, recipe: Any) -> None:
        """Check that its fields fit each other and the rest of a recipe.

        Raises:
            ArgumentError: they don't.
        """


class ItemNetwork(Architecture):
    """A network that gives a vector for each item of a source."""

    module: ClassVar[Any]
    """The class of the network in `regard.modules`."""

    def arguments(self) -> dict[str, Any]:
        """The arguments of `module` that come from this architecture's own fields."""
        return {}

    def build(self, *, pair_bias: bool = False) -> Network:
        """The network, with its initial weights.

        Args:
            pair_bias: whether it will be called with a bias for each pair of items.
        """
        raise NotImplementedError(f"{type(self).__name__} must build a network")

    def _module(self, **further_arguments: Any) -> Network:
        return self.module(self.width, self.layers, dropout=self.dropout, **self.arguments(), **further_arguments)


class EncoderDecoder(Architecture):
    """An encoder of sources and a decoder of targets."""

    def build(self, embedding: nn.Module, target: Any) -> Any:
        """The network, with its initial weights.

        Args:
            embedding: the embedding of the sources.
            target: the target of the task.
        """
        raise NotImplementedError(f"{type(self).__name__} must build a network")


@dataclass(frozen=True)
class Architectures:
    """The architectures that a task can have, and the field of a recipe that names one of them.

    Args:
        field: the name of the field; a field of a section is written SECTION.FIELD.
        kinds: the architectures by name.
        aliases: short names on the command line.
        fixed: the fields of a recipe that must have the same value for all of them.
    """

    field: str
    kinds: Mapping[str, type[Architecture]]
    aliases: Mapping[str, str] = dataclasses.field(default_factory=dict)
    fixed: Fixed = dataclasses.field(default_factory=dict)

    @property
    def replaceable(self) -> tuple[str, ...]:
        """The names of those that can stand in each other's place: not one that a kind of source brings."""
        return tuple(name for name, kind in self.kinds.items() if not kind.of_source)

    def read(self, recipe: Any) -> Architecture:
        """The architecture that a recipe describes."""
        values = recipe.flat()
        return self.kinds[values[self.field]].read(values)

    def check(self, recipe: Any) -> None:
        """Check that a recipe asks for nothing that its architecture can't have.

        Raises:
            ArgumentError: it does.
        """
        values = recipe.flat()
        kind = self.kinds[values[self.field]]
        for owner, fixed in ((values["task.kind"], self.fixed), (kind.name, kind.fixed)):
            for name, (value, why) in fixed.items():
                if (recipe_value := values[name]) != value:
                    raise ArgumentError(
                        f"`{name}` must be {value!r} for {owner!r}, which {why}, but is {recipe_value!r}."
                    )
        kind.read(values).check(recipe)
        recipe.input.check(recipe)
