"""Which columns of a table are learned from, and what stands in them."""

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from regard.datasets.example import Answers, Example
from regard.errors import ArgumentError, DataError, UnknownNameError
from regard.inputs.lines import parse_number
from regard.inputs.molecule import scaffold

__all__ = ["GIVES", "READS", "SIDES", "ColumnNames", "Columns", "check_names"]

ColumnNames = Mapping[str, str | Sequence[str]]
"""Which columns stand for names that speak for themselves, where they are called otherwise; "labels" for several."""

READS = ("text", "path", "smiles")
"""What the source of a table can be: a text, the path of a file (seen from the table's folder), a molecule."""

GIVES = ("label", "number", "labels", "text", "sound")
"""What the target of a table can be: a label, a number, a 1 or 0 for each of several questions, a text, or the path of
a recording (seen from the table's folder)."""

_USUAL = {"label": "label", "number": "number", "target": "text", "sound": "sound"}
# Several questions can't all be in the column `labels`.
_TARGETS = {**_USUAL, "labels": "labels"}

SIDES = {"source": READS, "target": tuple(_TARGETS)}
"""The names that a column of an example's source, and of its target, can stand for."""


def check_names(columns: ColumnNames) -> None:
    """Refuse what doesn't say which columns stand for which names.

    Raises:
        ArgumentError: it is no mapping, has no name or several where there must be one, or names a column twice, or two
            sources or targets.
        UnknownNameError: it has a name that stands for nothing.
    """
    if not isinstance(columns, Mapping):
        raise ArgumentError(f"`columns` must be a mapping as {{'text': 'review'}}, but is {columns!r:.60}.")
    known = [name for names in SIDES.values() for name in names]
    used: list[str] = []
    for usual, called in columns.items():
        if usual not in known:
            raise UnknownNameError("columns", usual, known)
        names: list[Any] = list(called) if usual == "labels" and isinstance(called, list | tuple) else [called]
        if not names or not all(isinstance(name, str) and name for name in names):
            wanted = "names of columns" if usual == "labels" else "the name of a column"
            raise ArgumentError(f"`columns` must have {wanted} for {usual}, but has {called!r:.60}.")
        used += names
    if twice := [name for name in used if used.count(name) > 1]:
        raise ArgumentError(f"`columns` must name a column once, but names {twice[0]} twice.")
    for side, names in SIDES.items():
        if len(given := [name for name in names if name in columns]) > 1:
            raise ArgumentError(f"`columns` must have one name for a {side}, but has {' and '.join(given)}.")


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
    def usual(cls, header: Sequence[str], path: Path, called: ColumnNames | None = None) -> "Columns":
        """What names that speak for themselves say: text, path or smiles; label, number, target or sound.

        Args:
            header: the columns that are there.
            path: the table, for messages.
            called: which columns stand for such names, where they are called otherwise: {"text": "review"}; "labels"
                stands for several.

        Raises:
            UnknownNameError, ArgumentError: `called` can't be used, as `check_names` says.
            DataError: none of them is there, or more than one, or a column of `called` isn't.

        Example:
            >>> Columns.usual(("review", "label"), Path("reviews.csv"), {"text": "review"}).names
            ('review', 'label')
        """
        called = {} if called is None else called
        check_names(called)
        taken: dict[str, str] = {}
        for name, each in called.items():
            taken |= dict.fromkeys([each] if isinstance(each, str) else each, name)
        for column, name in taken.items():
            if column not in header:
                raise DataError(_not_there(column, name, header), path=path, line=1)
        free = [column for column in header if column not in taken]
        found: list[str] = []
        for side, usual in (("source", READS), ("target", tuple(_USUAL))):
            # What the user says goes before what names say.
            names = [name for name in SIDES[side] if name in called] or [name for name in usual if name in free]
            if len(names) != 1:
                raise DataError(
                    f"one column must be called {' or '.join(usual)}, but {len(names)} of {', '.join(free) or 'none'} "
                    f"are. Say which is the {side}: --column {'=NAME or '.join(SIDES[side])}=NAME; from Python: "
                    f"columns={{{usual[0]!r}: 'NAME'}}.",
                    path=path,
                    line=1,
                )
            found += names
        reads, target = found
        source, wanted = called.get(reads, reads), called.get(target, target)
        if target == "labels" and isinstance(wanted, str):
            wanted = (wanted,)
        return cls(str(source), wanted if isinstance(wanted, str) else tuple(wanted), reads, _TARGETS[target])

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
    number = parse_number(text.strip())
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


def _not_there(column: str, name: str, header: Sequence[str]) -> str:
    near = difflib.get_close_matches(column, header, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    # text=review,label=stars
    several = " For each column write --column anew." if "," in column else ""
    return (
        f"it has no column {column!r} for {name}, but {', '.join(header)}.{hint}{several} Say which column stands for "
        f"{name}: --column {name}=NAME; from Python: columns={{{name!r}: 'NAME'}}."
    )
