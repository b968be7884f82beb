"""Packages whose public names are imported when they are first used, so that nothing waits for what it doesn't need."""

import functools
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from sys import modules
from types import ModuleType
from typing import Any

__all__ = ["Table", "export"]


class _LazyPackage(ModuleType):
    """A package that knows which module holds each of its public names. Source: PEP 562, for a class of modules."""

    _places: dict[str, str]

    def __getattr__(self, name: str) -> Any:
        if name not in self._places:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        # As `from PLACE import NAME` does, which finds a module of a package too.
        value = getattr(__import__(f"{self.__name__}.{self._places[name]}", fromlist=[name]), name)
        vars(self)[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # Python sets each module that it has imported in its package: not over a public name, such as that of `steps`.
        if not (isinstance(value, ModuleType) and value.__name__ == f"{self.__name__}.{name}" and name in self._places):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted(self.__all__)


def export(package: str, names: Mapping[str, str]) -> None:
    """Let a package have public names that are imported when they are first used.

    The package imports the same names under `if typing.TYPE_CHECKING`, for type checkers and readers, and lists them in
    `__all__`.

    Args:
        package: the package's `__name__`.
        names: public names with spaces between, by the module of the package that holds them:
            `{"reading.lines": "Line read"}`. A name may be that of another module of the package, which doesn't hide
            it.

    Example:
        >>> import regard.datasets
        >>> regard.datasets.SPLITS
        ('train', 'dev', 'test')
    """
    module = modules[package]
    vars(module)["_places"] = {name: place for place, held in names.items() for name in held.split()}
    module.__class__ = _LazyPackage


class Table(MutableMapping[str, Any]):
    """Public names of a package by other names, such as those of a recipe; each is imported when it is looked up.

    Users may add values of their own, as to a dict.

    Args:
        package: the package's `__name__`.
        names: the key of each -> its public name.

    Example:
        >>> table = Table("regard.datasets", {"parts": "SPLITS"})
        >>> table["own"] = 7
        >>> "parts" in table, table["parts"], table["own"]
        (True, ('train', 'dev', 'test'), 7)
    """

    def __init__(self, package: str, names: Mapping[str, str]) -> None:
        self._found: dict[str, Callable[[], Any]] = {
            key: functools.partial(_public, package, name) for key, name in names.items()
        }

    def __getitem__(self, key: str) -> Any:
        return self._found[key]()

    def __setitem__(self, key: str, value: Any) -> None:
        self._found[key] = lambda: value

    def __delitem__(self, key: str) -> None:
        del self._found[key]

    def __contains__(self, key: object) -> bool:
        return key in self._found

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self, **other}

    def __repr__(self) -> str:
        return repr(dict(self))


def _public(package: str, name: str) -> Any:
    return getattr(modules[package], name)
