"""Which columns of a table are learned from, and what stands in them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from regard.datasets.example import Answers, Example
from regard.errors import ArgumentError, DataError, UnknownNameError
from regard.inputs.lines import number_of
from regard.inputs.molecule import scaffold

__all__ = ["GIVES", "READS", "Columns"]

READS = ("text", "path", "smiles")
"""What the source of a table can be: a text, the path of a file (seen from the table's folder), a molecule."""

GIVES = ("label", "number", "labels", "text", "sound")
"""What the target of a table can be: a label, a number, a 1 or 0 for each of several questions, a text, or the path of
a recording (seen from the table's folder)."""

_USUAL = {"label": "label", "number": "number", "target": "text", "sound": "sound"}


@dataclass(frozen=True)
class Columns:
    """Which columns of a table are learned from.

    Args:
        source: the name of the source's column.
        target: that of the target's; for "labels" the names of several columns.
        reads: what the source is, one of `READS`.
        gives: what the target is, one of `GIVES`.
        group: the column that says what must stay on one side of a split; None for none, except that a molecule's
            group is then its scaffold.

    Raises:
        ArgumentError: a kind that isn't known, or several columns where there must be one.

    Example:
        >>> Columns("review", "stars", gives="number").reads
        'text'
    """

    source: str = "text"
    target: str | tuple[str, ...] = "label"
    reads: str = "text"
    gives: str = "label"
    group: str | None = None

    def __post_init__(self) -> None:
        if self.reads not in READS:
            raise UnknownNameError("reads", self.reads, READS)
        if self.gives not in GIVES:
            raise UnknownNameError("gives", self.gives, GIVES)
        if isinstance(self.target, str) == (self.gives == "labels"):
            wanted = "a tuple of names" if self.gives == "labels" else "one name"
            raise ArgumentError(f"`target` must be {wanted} for gives={self.gives!r}, but is {self.target!r}.")

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are used."""
        targets = (self.target,) if isinstance(self.target, str) else self.target
        return (self.source, *targets, *([] if self.group is None else [self.group]))

    @classmethod
    def usual(cls, header: Sequence[str], path: Path) -> "Columns":
        """What names that speak for themselves say: text, path or smiles; label, number, target or sound.

        Raises:
            DataError: none of them is there, or more than one.
        """
        sources = [name for name in READS if name in header]
        targets = [name for name in _USUAL if name in header]
        for what, found, wanted in (("source", sources, READS), ("target", targets, tuple(_USUAL))):
            if len(found) != 1:
                raise DataError(
                    f"one column must be called {' or '.join(wanted)}, but {len(found)} of {', '.join(header)} are. "
                    f"Give the {what}'s column such a name; from Python: read_table(path, Columns({what}=...)).",
                    path=path,
                    line=1,
                )
        return cls(sources[0], targets[0], sources[0], _USUAL[targets[0]])

    def example(self, row: Mapping[str, Any], folder: Path) -> Example[Any, Any]:
        """The example that a row holds.

        Args:
            row: for each column, its name and what stands in it.
            folder: that of the table, from which the paths in it are seen.

        Raises:
            ValueError: what stands in a column is no use; says why.
        """
        for name in self.names:
            if name not in row:
                raise UnknownNameError("column", name, row)
        source: Any
        if self.reads == "path":
            source = _file(row, self.source, folder)
        else:
            source = _text(row, self.source, may_be_empty=self.reads == "text")
        target: Any
        if not isinstance(self.target, str):
            target = Answers((_yes_or_no(row, name) for name in self.target), self.target)
        elif self.gives == "number":
            target = _number(row, self.target)
        elif self.gives == "text":
            target = _text(row, self.target, may_be_empty=True)
        elif self.gives == "sound":
            target = _file(row, self.target, folder)
        else:
            # " yes" would be another class than "yes".
            target = _text(row, self.target).strip()
        group = None if self.group is None else _text(row, self.group).strip()
        if self.reads == "smiles":
            # Also without the need for a group: what is no molecule is found here, where its line is known.
            found = _scaffold(source)
            group = found if group is None else group
        return Example(source, target, group)


# Each split of a data set reads the whole table, and chemistry is slow.
@lru_cache(maxsize=1 << 16)
def _scaffold(smiles: str) -> str:
    return scaffold(smiles)


def _text(row: Mapping[str, Any], name: str, *, may_be_empty: bool = False) -> str:
    value = row[name]
    # JSON Lines have labels like 1 and true, too.
    text = value if isinstance(value, str) else json.dumps(value) if isinstance(value, bool | int) else None
    if text is None:
        raise ValueError(f"the column `{name}` must be a text, but is {value!r:.40}")
    if not (text.strip() or may_be_empty):
        raise ValueError(f"the column `{name}` is empty")
    return text


def _file(row: Mapping[str, Any], name: str, folder: Path) -> Path:
    path = folder / _text(row, name)
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    return path


def _number(row: Mapping[str, Any], name: str) -> float:
    value = row[name]
    text = value if isinstance(value, str) else "" if isinstance(value, bool) else json.dumps(value)
    number = number_of(text.strip())
    if number is None:
        raise ValueError(f"the column `{name}` must be a number, but is {value!r:.40}")
    return number


def _yes_or_no(row: Mapping[str, Any], name: str) -> int | None:
    value = row[name]
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    number = float(value) if isinstance(value, bool) else _number(row, name)
    if number not in (0, 1):
        raise ValueError(f"the column `{name}` must be 0, 1 or empty, but is {value!r:.40}")
    return int(number)
