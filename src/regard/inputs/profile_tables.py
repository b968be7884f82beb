"""Tables of profiles: a line for each person, a column for each thing that is known."""

import math
from collections.abc import Collection
from itertools import repeat
from pathlib import Path

import numpy as np

from regard.errors import DataError, UnknownNameError
from regard.inputs.lines import number_of, read_table

__all__ = ["column_values", "read_profile_columns", "read_profiles"]


def read_profiles(
    path: str | Path, *, name: str | None = None, words: Collection[str] = ()
) -> dict[str, dict[str, str | float | None]]:
    """The profiles in a table, under the names of the people; separated by commas or tabs, columns named above.

    A column is numbers if every cell that isn't empty is one, and words if none is; an empty cell is not known.

    Args:
        path: the file.
        name: the column that names the people; by default the first.
        words: the columns that are words though they look like numbers, such as postcodes.

    Raises:
        DataError: a broken line, a person who stands twice or has no name, a column of numbers and words.
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
    """What a column of `read_profile_columns` holds, None where nothing is known.

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
    """The names of the people in a table, and for each other column what everybody has there.

    A column of numbers is an array (float64), NaN where a number is not known; a column of words is a list, None where
    a word is not known.

    Args:
        path, name, words: as `read_profiles` takes them.

    Raises:
        DataError, UnknownNameError: as `read_profiles` raises them.

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
    own = 0 if name is None else columns.index(name)
    people: dict[str, None] = {}
    for line, row in rows:
        if not row[own]:
            raise DataError(f"the column {columns[own]!r} is empty; every person needs a name.", path=path, line=line)
        if row[own] in people:
            raise DataError(f"{row[own]!r} stands twice. Names must differ.", path=path, line=line)
        people[row[own]] = None
    cells = zip(*(row for _, row in rows), strict=True) if rows else repeat((), len(columns))
    found: dict[str, np.ndarray | list[str | None]] = {}
    for place, (column, texts) in enumerate(zip(columns, cells, strict=True)):
        if place == own:
            continue
        # Each text that occurs is read once: bags of words have two, and thousands of columns.
        read = {text: None if column in words else number_of(text) for text in dict.fromkeys(texts)}
        is_number = any(number is not None for number in read.values())
        wrong = [text for text, number in read.items() if is_number and number is None and text]
        if wrong:
            line = next(line for line, row in rows if row[place] == wrong[0])
            raise DataError(
                f"the column {column!r} has numbers, but here {wrong[0]!r:.60}. Leave a cell empty that isn't "
                f"known; if the column is words, say words=[{column!r}].",
                path=path,
                line=line,
            )
        if not is_number:
            found[column] = [text or None for text in texts]
            continue
        values = {text: math.nan if number is None else number for text, number in read.items()}
        found[column] = np.fromiter(map(values.__getitem__, texts), np.float64, len(texts))
    return [*people], found
