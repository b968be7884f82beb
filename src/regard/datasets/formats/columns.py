"""The columns of a table: which are the source and the target of its examples, and their types."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from regard.datasets.example import BinaryLabels, Example
from regard.datasets.formats.class_folders import PICTURES, SOUNDS
from regard.errors import ArgumentError, DataError, UnknownNameError, nearest
from regard.inputs.graph.molecule import scaffold
from regard.inputs.lines import parse_number, with_point

__all__ = [
    "COLUMN_ROLES",
    "HEADER",
    "SOURCE_TYPES",
    "TARGET_TYPES",
    "ColumnNames",
    "Columns",
    "check_column_names",
    "checked_label",
    "find_file",
]

ColumnNames = Mapping[str, str | Sequence[str]]
"""The names of columns that aren't called by their standard names: {"text": "review"}; "labels" takes several.

Of a table whose first line doesn't name them, "header" names all columns, in order: {"header": ["text", "label"]}.
"""

HEADER = "header"
"""The key of `ColumnNames` under which all columns of a table without a header are named."""

SOURCE_TYPES = ("text", "path", "smiles")
"""The types of sources in a table: a text, the path of a file (from the table's folder), a molecule."""

_OFTEN = {
    "source": ("sentence", "review", "content", "message", "question", "title", "headline", "file", "filename"),
    "target": ("class", "category", "sentiment", "intent", "topic", "rating", "stars", "answer", "y"),
}
"""What sources and targets are often called."""
_MOST_NAMED, _LONGEST_NAME = 12, 60

TARGET_TYPES = ("label", "number", "labels", "text", "sound")
"""The types of targets in a table: a label, a number, a 1 or 0 for each of several questions, a text, or the path of a
recording (relative to the table's folder)."""

_NO_LABEL = ("NaN", "nan")

_USUAL = {"label": "label", "number": "number", "target": "text", "sound": "sound"}
# "labels" is no standard name, because several questions need several columns.
_TARGETS = {**_USUAL, "labels": "labels"}

COLUMN_ROLES = {"source": SOURCE_TYPES, "target": tuple(_TARGETS)}
"""The standard names of columns that are the source, and of those that are the target."""


def check_column_names(columns: ColumnNames) -> None:
    """Check a mapping from standard names to columns.

    Raises:
        ArgumentError: it isn't a mapping, a standard name has no column or too many, a column is named twice, or there
            are two sources or targets.
        UnknownNameError: an unknown standard name.
    """
    if not isinstance(columns, Mapping):
        raise ArgumentError(f"`columns` must be a mapping as {{'text': 'review'}}, but is {columns!r:.60}.")
    known = [name for names in COLUMN_ROLES.values() for name in names]
    used: list[str] = []
    for standard, column in columns.items():
        if standard == HEADER:
            _check_header(column)
            continue
        if standard not in known:
            raise UnknownNameError("columns", standard, [*known, HEADER])
        names: list[Any] = list(column) if standard == "labels" and isinstance(column, list | tuple) else [column]
        if not names or not all(isinstance(name, str) and name for name in names):
            wanted = "names of columns" if standard == "labels" else "the name of a column"
            raise ArgumentError(f"`columns` must have {wanted} for {standard}, but has {column!r:.60}.")
        used += names
    if twice := [name for name in used if used.count(name) > 1]:
        raise ArgumentError(f"`columns` must name a column once, but names {twice[0]} twice.")
    for role, names in COLUMN_ROLES.items():
        if len(given := [name for name in names if name in columns]) > 1:
            raise ArgumentError(f"`columns` must have one name for a {role}, but has {' and '.join(given)}.")


def _check_header(names: Any) -> None:
    # A column without a name isn't read.
    named = [name for name in names if name] if isinstance(names, list | tuple) else []
    if not named or not all(isinstance(name, str) for name in named):
        raise ArgumentError(
            f"`columns` must name the columns in order under {HEADER!r}, as ['text', 'label'], but has {names!r:.60}."
        )
    if len(named) > len({*named}):
        twice = next(name for name in named if named.count(name) > 1)
        raise ArgumentError(f"`columns` must name a column once, but {HEADER!r} names {twice} twice.")


@dataclass(frozen=True)
class Columns:
    """The columns of a table that are the source and the target of its examples.

    Args:
        source: the name of the source's column.
        target: the name of the target's column; for "labels" the names of several columns.
        source_type: the type of the source, one of `SOURCE_TYPES`.
        target_type: the type of the target, one of `TARGET_TYPES`.
        group: the column of the group, whose examples must not be separated by a split; by default none, except that
            the group of a molecule is its scaffold.
        may_be_empty: whether a source that is a text may be empty.
        decimal_commas: whether numbers may have commas instead of points.

    Raises:
        ArgumentError: an unknown type, or several columns for one target.

    Example:
        >>> Columns("review", "stars", target_type="number").source_type
        'text'
    """

    source: str = "text"
    target: str | tuple[str, ...] = "label"
    source_type: str = "text"
    target_type: str = "label"
    group: str | None = None
    may_be_empty: bool = False
    decimal_commas: bool = False

    def __post_init__(self) -> None:
        if self.source_type not in SOURCE_TYPES:
            raise UnknownNameError("source_type", self.source_type, SOURCE_TYPES)
        if self.target_type not in TARGET_TYPES:
            raise UnknownNameError("target_type", self.target_type, TARGET_TYPES)
        if isinstance(self.target, str) == (self.target_type == "labels"):
            wanted = "a tuple of names" if self.target_type == "labels" else "one name"
            raise ArgumentError(
                f"`target` must be {wanted} for target_type={self.target_type!r}, but is {self.target!r:.60}."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns that are used."""
        targets = (self.target,) if isinstance(self.target, str) else self.target
        return (self.source, *targets, *([] if self.group is None else [self.group]))

    @classmethod
    def from_header(cls, header: Sequence[str], path: Path, names: ColumnNames | None = None) -> "Columns":
        """Find the columns with standard names: text, path or smiles; label, number, target or sound.

        Args:
            header: the columns of the table.
            path: the table, for messages.
            names: the names of columns that aren't called by their standard names: {"text": "review"}; "labels" takes
                several.

        Raises:
            UnknownNameError, ArgumentError: `names` is invalid; see `check_column_names`.
            DataError: there is no such column, there are several, or a column of `names` doesn't exist.

        Example:
            >>> Columns.from_header(("review", "label"), Path("reviews.csv"), {"text": "review"}).names
            ('review', 'label')
        """
        names = {} if names is None else names
        check_column_names(names)
        names = {name: column for name, column in names.items() if name != HEADER}
        header = [name for name in header if name]
        taken: dict[str, str] = {}
        for standard, given in names.items():
            taken |= dict.fromkeys([given] if isinstance(given, str) else given, standard)
        for column, standard in taken.items():
            if column not in header:
                raise DataError(_no_column(column, standard, header), path=path, line=1)
        free = [column for column in header if column not in taken]
        chosen: list[str] = []
        for role, usual in (("source", SOURCE_TYPES), ("target", tuple(_USUAL))):
            # The user's names take precedence over standard names in the header.
            usable = [name for name in COLUMN_ROLES[role] if name in names] or [name for name in usual if name in free]
            if len(usable) != 1:
                left = [column for column in free if column not in [names.get(name, name) for name in chosen]]
                guess = _likely(left, role)
                options = " or ".join(f"{name}={guess}" for name in COLUMN_ROLES[role])
                raise DataError(
                    f"one column must be called {', '.join(usual[:-1])} or {usual[-1]}, but {_which(usable, left)}. "
                    f"Say which is the {role}: --column {options}; from Python: columns={{{usual[0]!r}: {guess!r}}}.",
                    path=path,
                    line=1,
                )
            chosen += usable
        source_type, target = chosen
        source, wanted = names.get(source_type, source_type), names.get(target, target)
        if target == "labels" and isinstance(wanted, str):
            wanted = (wanted,)
        return cls(str(source), wanted if isinstance(wanted, str) else tuple(wanted), source_type, _TARGETS[target])

    def example(self, row: Mapping[str, Any], folder: Path) -> Example[Any, Any]:
        """Make the example of a row.

        Args:
            row: the value of each column, by name.
            folder: the table's folder, which paths are relative to.

        Raises:
            ValueError: the value of a column is invalid; the message says why.
        """
        for name in self.names:
            if name not in row:
                raise UnknownNameError("column", name, row)
        source: Any
        if self.source_type == "path":
            source = _file(row, self.source, folder)
        else:
            source = _text(row, self.source, may_be_empty=self.may_be_empty)
        target: Any
        if not isinstance(self.target, str):
            target = BinaryLabels((_yes_or_no(row, name, self.decimal_commas) for name in self.target), self.target)
        elif self.target_type == "number":
            target = _number(row, self.target, self.decimal_commas)
        elif self.target_type == "text":
            target = _text(row, self.target, may_be_empty=True)
        elif self.target_type == "sound":
            target = _file(row, self.target, folder)
        else:
            target = checked_label(_text(row, self.target), f"the column `{self.target}`")
        group = None if self.group is None else _text(row, self.group).strip()
        if self.source_type == "smiles":
            # Computed even if the group is given, so that an invalid molecule is reported with its line.
            computed = _scaffold(source)
            group = computed if group is None else group
        return Example(source, target, group)


def checked_label(cell: str, column: str) -> str:
    """The label in a cell, without spaces around it: " yes" and "yes" are one class.

    Args:
        cell: the cell.
        column: the column, for messages.

    Raises:
        ValueError: it is empty, or NaN, which pandas writes for what is missing.

    Example:
        >>> checked_label("NaN", "the column `label`")
        Traceback (most recent call last):
        ValueError: the column `label` is empty: NaN stands for none. Write another word if it is a label.
    """
    label = cell.strip()
    if not label:
        raise ValueError(f"{column} is empty")
    if label in _NO_LABEL:
        raise ValueError(f"{column} is empty: {label} stands for none. Write another word if it is a label.")
    return label


# Cached, because each split of a data set reads the whole table, and scaffolds are slow to compute.
@lru_cache(maxsize=1 << 16)
def _scaffold(smiles: str) -> str:
    return scaffold(smiles)


def _text(row: Mapping[str, Any], name: str, *, may_be_empty: bool = False) -> str:
    value = row[name]
    # Labels in JSON Lines may be 1 or true.
    text = value if isinstance(value, str) else json.dumps(value) if isinstance(value, bool | int) else None
    if text is None:
        raise ValueError(f"the column `{name}` must be a text, but is {value!r:.40}")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError(f"the column `{name}` must be a text, but has half a character, as {value!r:.40} has")
    if not (text.strip() or may_be_empty):
        raise ValueError(f"the column `{name}` is empty")
    return text


def _file(row: Mapping[str, Any], name: str, folder: Path) -> Path:
    return find_file(_text(row, name), folder)


def find_file(text: str, folder: Path) -> Path:
    """The file that a cell names, by its path from the table's folder.

    The files may lie in a folder beside the table, or the table in a folder beside the files, and the name may lack the
    suffix of a sound or picture.

    Raises:
        ValueError: there is no such file, or several.
    """
    path = folder / text
    if path.is_file():
        return path
    ends = [""] if path.suffix.lower() in (*SOUNDS, *PICTURES) else ["", *SOUNDS, *PICTURES]
    folders = [folder, *_folders_in(folder), folder / ".."]
    found = [near for place in folders for end in ends if (near := place / f"{text}{end}").is_file()]
    if len(found) > 1:
        raise ValueError(f"{text} may be {found[0]} or {found[1]}. Name the file by its path from {folder}")
    if not found:
        raise ValueError(f"there is no file {path}")
    return found[0]


def _folders_in(folder: Path) -> tuple[Path, ...]:
    return _listed(folder, folder.stat().st_mtime_ns) if folder.is_dir() else ()


# Cached, because it is asked for in each row; a folder that has changed is listed anew.
@lru_cache(maxsize=64)
def _listed(folder: Path, changed: int) -> tuple[Path, ...]:
    return tuple(sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")))


def _number(row: Mapping[str, Any], name: str, commas: bool) -> float:
    value = row[name]
    text = value if isinstance(value, str) else "" if isinstance(value, bool) else json.dumps(value)
    number = parse_number(with_point(text) if commas else text.strip())
    if number is None:
        marked = "," in text and parse_number(text.replace(",", "").replace(".", "")) is not None
        hint = ". Write decimals with a point, and thousands without a mark, as 1285.84" if marked else ""
        raise ValueError(f"the column `{name}` must be a number, but is {value!r:.40}{hint}")
    if abs(number) > torch.finfo(torch.float32).max:
        raise ValueError(f"the column `{name}` must be a number that float32 can hold, but is {value!r:.40}")
    return number


def _yes_or_no(row: Mapping[str, Any], name: str, commas: bool) -> int | None:
    value = row[name]
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    number = float(value) if isinstance(value, bool) else _number(row, name, commas)
    if number not in (0, 1):
        raise ValueError(f"the column `{name}` must be 0, 1 or empty, but is {value!r:.40}")
    return int(number)


def _which(usable: Sequence[str], free: Sequence[str]) -> str:
    """Which columns are called by standard names, of those that may still be the source or the target."""
    if usable:
        return f"{' and '.join(usable)} are there"
    if len(free) == 1:
        return f"the only one left is called {free[0]}"
    more = f" and {len(free) - _MOST_NAMED:,} more" if len(free) > _MOST_NAMED else ""
    return f"none of {', '.join(free[:_MOST_NAMED])}{more} is" if free else "no other one is there"


def _likely(free: Sequence[str], role: str) -> str:
    """The column that is probably meant, so that the next command can be copied; else NAME."""
    if len(free) == 1 and len(free[0]) <= _LONGEST_NAME:
        return free[0]
    return next((column for column in free if column.lower() in _OFTEN[role]), "NAME")


def _no_column(column: str, name: str, header: Sequence[str]) -> str:
    near = nearest(column, header)
    hint = f" Did you mean {near!r}?" if near else ""
    # As in --column text=review,label=stars.
    several = " For each column write --column anew." if "," in column else ""
    return (
        f"it has no column {column!r:.60} for {name}, but {', '.join(header)}.{hint}{several} Say which column stands "
        f"for {name}: --column {name}=NAME; from Python: columns={{{name!r}: 'NAME'}}."
    )
