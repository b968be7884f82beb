"""Tables of profiles: a row for each person, a column for each attribute."""

import math
from collections.abc import Collection
from itertools import repeat
from pathlib import Path

import numpy as np

from regard.errors import DataError, UnknownNameError
from regard.inputs.lines import parse_number, read_table

__all__ = ["column_values", "read_profile_columns", "read_profiles"]


def read_profiles(
    path: str | Path, *, name: str | None = None, words: Collection[str] = ()
) -> dict[str, dict[str, str | float | None]]:
    """Read a table of profiles, separated by commas or tabs, with a header; the result is a profile for each name.

    A column holds numbers if all non-empty cells are numbers, and words if none is; an empty cell is a missing value.

    Args:
        path: the file.
        name: the column of the people's names; by default the first.
        words: the columns that hold words although they look like numbers, such as postcodes.

    Raises:
        DataError: a broken line, a duplicate or missing name, or a column of numbers and words.
        UnknownNameError: `name` or `words` isn't a column.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w") as file:
        ...     _ = file.write("name,sex,age\\nAnn,f,31\\nBob,m,\\n")
        ...     file.flush()
        ...     read_profiles(file.name)
        {'Ann': {'sex': 'f', 'age': 31.0}, 'Bob': {'sex': 'm', 'age': None}}
    """
    people, columns = read_profile_columns(path, name=name, words=words)
    values = zip(*map(column_values, columns.values()), strict=True) if columns else repeat((), len(people))
    return {person: dict(zip(columns, row, strict=True)) for person, row in zip(people, values, strict=True)}


def column_values(column: np.ndarray | list[str | None]) -> list[str | None] | list[float | None]:
    """The values of a column of `read_profile_columns`, None for missing ones.

    Example:
        >>> column_values(np.array([1.0, np.nan]))
        [1.0, None]
    """
    return (
        [None if value != value else value for value in column.tolist()] if isinstance(column, np.ndarray) else column
    )


def read_profile_columns(
    path: str | Path, *, name: str | None = None, words: Collection[str] = ()
) -> tuple[list[str], dict[str, np.ndarray | list[str | None]]]:
    """Read a table of profiles by columns: the names of the people, and the values of each other column.

    A column of numbers is a float64 array, in which NaN is missing; a column of words is a list, in which None is
    missing.

    Args:
        path, name, words: as in `read_profiles`.

    Raises:
        DataError, UnknownNameError: as in `read_profiles`.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w") as file:
        ...     _ = file.write("name,sex,age\\nAnn,f,31\\nBob,m,\\n")
        ...     file.flush()
        ...     read_profile_columns(file.name)
        (['Ann', 'Bob'], {'sex': ['f', 'm'], 'age': array([31., nan])})
    """
    columns, rows = read_table(path)
    for argument, given in [("name", [columns[0] if name is None else name]), ("words", words)]:
        for column in given:
            if column not in columns:
                raise UnknownNameError(argument, column, columns)
    name_index = 0 if name is None else columns.index(name)
    people: dict[str, None] = {}
    for line, row in rows:
        if not row[name_index]:
            empty = f"the column {columns[name_index]!r:.60} is empty; every person needs a name."
            raise DataError(empty, path=path, line=line)
        if row[name_index] in people:
            raise DataError(f"the name {row[name_index]!r:.60} occurs twice. Names must differ.", path=path, line=line)
        people[row[name_index]] = None
    cells = zip(*(row for _, row in rows), strict=True) if rows else repeat((), len(columns))
    attributes: dict[str, np.ndarray | list[str | None]] = {}
    for index, (column, texts) in enumerate(zip(columns, cells, strict=True)):
        if index == name_index:
            continue
        # Each unique text is parsed once: bags of words have two, and thousands of columns.
        read = {text: None if column in words else parse_number(text) for text in dict.fromkeys(texts)}
        is_number = any(number is not None for number in read.values())
        wrong = [text for text, number in read.items() if is_number and number is None and text]
        if wrong:
            line = next(line for line, row in rows if row[index] == wrong[0])
            raise DataError(
                f"the column {column!r:.60} has numbers, but here {wrong[0]!r:.60}. Leave the cell empty if the value "
                f"is missing; if the column holds words, pass words=[{column!r:.60}].",
                path=path,
                line=line,
            )
        if not is_number:
            attributes[column] = [text or None for text in texts]
            continue
        values = {text: math.nan if number is None else number for text, number in read.items()}
        attributes[column] = np.fromiter(map(values.__getitem__, texts), np.float64, len(texts))
    return [*people], attributes
