"""Tables of profiles: a line for each person, a column for each thing that is known."""

from collections.abc import Collection
from pathlib import Path

from regard.errors import DataError, UnknownNameError
from regard.inputs.lines import number_of, read_table

__all__ = ["read_profiles"]


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
    columns, rows = read_table(path)
    for argument, given in [("name", [columns[0] if name is None else name]), ("words", words)]:
        for column in given:
            if column not in columns:
                raise UnknownNameError(argument, column, columns)
    own = 0 if name is None else columns.index(name)
    profiles: dict[str, dict[str, str | float | None]] = {}
    for line, row in rows:
        if not row[own]:
            raise DataError(f"the column {columns[own]!r} is empty; every person needs a name.", path=path, line=line)
        if row[own] in profiles:
            raise DataError(f"{row[own]!r} stands twice. Names must differ.", path=path, line=line)
        profiles[row[own]] = {column: None for place, column in enumerate(columns) if place != own}
    for place, column in enumerate(columns):
        if place == own:
            continue
        read = [None if column in words else number_of(row[place]) for _, row in rows]
        is_number = any(number is not None for number in read)
        for (line, row), number in zip(rows, read, strict=True):
            if is_number and number is None and row[place]:
                raise DataError(
                    f"the column {column!r} has numbers, but here {row[place]!r:.60}. Leave a cell empty that isn't "
                    f"known; if the column is words, say words=[{column!r}].",
                    path=path,
                    line=line,
                )
            profiles[row[own]][column] = number if is_number else row[place] or None
    return profiles
