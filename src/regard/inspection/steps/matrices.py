"""Query, key and value as matrices, of an example or of a user's file."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.errors import DataError
from regard.inputs.lines import existing_file, parse_number, read_lines

__all__ = ["Matrices", "read_matrices"]

# Nobody follows more numbers one by one, and a page of them would take minutes.
_MOST_BYTES = 1_000_000
_MOST_NUMBERS = 10_000
_FIELDS = ("query", "key", "value", "x", "items", "query_items")


@dataclass(frozen=True, eq=False)
class Matrices:
    """Query (query, feature), key (key, feature) and value (key, value), in float64, with the names of the rows."""

    query: Tensor
    key: Tensor
    value: Tensor
    items: tuple[str, ...]
    query_items: tuple[str, ...]

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """The three as `attend` takes them, (batch, head, length, feature)."""
        return self.query[None, None], self.key[None, None], self.value[None, None]

    @classmethod
    def of(
        cls,
        query: Sequence[Sequence[float]],
        key: Sequence[Sequence[float]],
        value: Sequence[Sequence[float]],
        items: Sequence[str] = (),
        query_items: Sequence[str] = (),
    ) -> "Matrices":
        """Matrices of lists; rows without a name are numbered."""
        alike = len(query) == len(key)
        items = tuple(items) or tuple(f"{'x' if alike else 'k'}{i}" for i in range(1, len(key) + 1))
        own = items if alike else tuple(f"q{i}" for i in range(1, len(query) + 1))
        tensors = (torch.tensor(rows, dtype=torch.float64) for rows in (query, key, value))
        return cls(*tensors, items=items, query_items=tuple(query_items) or own)


def read_matrices(path: str | Path) -> Matrices:
    """Read a user's matrices.

    A file whose name ends in .json holds {"query": [[...]], "key": [[...]], "value": [[...]]}, or {"x": [[...]]} where
    all three are the same, and may name the rows of key and value in "items", those of query in "query_items". Any
    other file is a table with one item on a line, separated by commas or tabs, whose first column may be its name, and
    whose first line may name the columns; then query, key and value are the same.

    Raises:
        DataError: the file can't be used; names the line or the field.
    """
    path = existing_file(path)
    size = path.stat().st_size
    if size > _MOST_BYTES:
        raise DataError(
            f"it must have {_MOST_BYTES:,} bytes at most, to be read number by number, but has {size:,}.", path=path
        )
    return _of_json(path) if path.suffix.lower() == ".json" else _of_table(path)


def _of_json(path: Path) -> Matrices:
    text = "\n".join(line for _, line in read_lines(path))
    try:
        saved = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise DataError(f"it must be JSON, but isn't: {getattr(error, 'msg', error)}.", path=path, line=line) from error
    if not isinstance(saved, dict):
        raise DataError(f'it must be an object such as {{"x": [[1, 0], [0, 1]]}}, but is {_short(saved)}.', path=path)
    for name in saved:
        if name not in _FIELDS:
            raise DataError(f"its fields must be of {', '.join(_FIELDS)}, but one is {name!r:.60}.", path=path)
    if ("x" in saved) == any(name in saved for name in ("query", "key", "value")):
        raise DataError('it must have either "x", or "query", "key" and "value".', path=path)
    names = ("x",) * 3 if "x" in saved else ("query", "key", "value")
    query, key, value = (_matrix(saved, name, path) for name in names)
    if len(value) != len(key):
        raise DataError(f"`value` must have {len(key)} rows as `key` has, but has {len(value)}.", path=path)
    items, query_items = (
        _names(saved, name, len(rows), path) for name, rows in (("items", key), ("query_items", query))
    )
    return Matrices.of(query, key, value, items, query_items)


def _matrix(saved: dict[str, Any], name: str, path: Path) -> list[list[float]]:
    rows = saved.get(name)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) and row for row in rows):
        given = "is missing" if name not in saved else f"is {_short(rows)}"
        raise DataError(f"`{name}` must be a list of rows such as [[1, 0], [0, 1]], but {given}.", path=path)
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise DataError(
                f"row {number} of `{name}` must have {len(rows[0])} numbers as row 1 has, but has {len(row)}.",
                path=path,
            )
        for entry in row:
            if type(entry) not in (int, float) or not math.isfinite(_float(entry)):
                raise DataError(f"row {number} of `{name}` must hold numbers, but holds {_short(entry)}.", path=path)
    _check_count(len(rows) * len(rows[0]), path)
    return rows


def _check_count(count: int, path: Path) -> None:
    if count > _MOST_NUMBERS:
        raise DataError(f"a matrix must have {_MOST_NUMBERS:,} numbers at most, but one has {count:,}.", path=path)


def _names(saved: dict[str, Any], name: str, count: int, path: Path) -> list[str]:
    names = saved.get(name, [])
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise DataError(f"`{name}` must be a list of names, but is {_short(names)}.", path=path)
    if names and len(names) != count:
        raise DataError(f"`{name}` must name {count} rows, but names {len(names)}.", path=path)
    return names


def _of_table(path: Path) -> Matrices:
    lines = [(number, line) for number, line in read_lines(path) if line.strip()]
    if not lines:
        raise DataError("it is empty; it must have one item on a line, such as saw,1,0.5.", path=path)
    separator = "\t" if "\t" in lines[0][1] else ","
    rows = [(number, [cell.strip().strip('"') for cell in line.split(separator)]) for number, line in lines]
    if len(rows) > 1 and all(parse_number(cell) is None for cell in rows[0][1]):
        rows = rows[1:]
    named = any(parse_number(cells[0]) is None for _, cells in rows)
    width = len(rows[0][1])
    _check_count(len(rows) * width, path)
    table = []
    for number, cells in rows:
        if len(cells) != width:
            raise DataError(
                f"a line must have {width} columns as line {rows[0][0]} has, but has {len(cells)}.",
                path=path,
                line=number,
            )
        if width == named:
            raise DataError(f"a line must hold numbers, but holds {cells[0]!r:.60} alone.", path=path, line=number)
        numbers = [parse_number(cell) for cell in cells[named:]]
        for column, (cell, entry) in enumerate(zip(cells[named:], numbers, strict=True), start=1 + named):
            if entry is None:
                raise DataError(f"column {column} must be a number, but is {cell!r:.60}.", path=path, line=number)
        table.append(numbers)
    return Matrices.of(table, table, table, [cells[0] for _, cells in rows] if named else ())


def _float(entry: int | float) -> float:
    try:
        return float(entry)
    except OverflowError:
        return math.inf


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:39]}…"
