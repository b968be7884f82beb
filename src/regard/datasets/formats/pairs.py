"""Reading pairs of texts, such as translations: from two aligned files, or from one file with tabs."""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from regard.datasets.example import Example
from regard.errors import DataError
from regard.inputs.lines import ErrorHandler, raise_error, read_lines

__all__ = ["read_aligned", "read_pairs"]


def read_pairs(path: str | Path, *, on_error: ErrorHandler = raise_error) -> Iterator[Example[str, str]]:
    """Read a file with two texts in each line, separated by a tab; further columns are ignored.

    Args:
        path: the file. Blank lines are skipped.
        on_error: called for each line without two texts, which is then skipped; by default it raises the error.

    Raises:
        DataError: a line without two texts.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        ...     _ = file.write("Hi.\\t嗨。\\tCC-BY 2.0\\n")
        ...     file.flush()
        ...     list(read_pairs(file.name))
        [Example(source='Hi.', target='嗨。', group=None)]
    """
    for number, line in read_lines(path, on_error):
        columns = line.split("\t")
        if len(columns) > 1 and columns[0].strip() and columns[1].strip():
            yield Example(columns[0], columns[1])
        elif line.strip():
            wrong = f"a line must have two texts with a tab between them, but is {line[:40]!r}."
            on_error(DataError(wrong, path=path, line=number))


def read_aligned(
    first: str | Path, second: str | Path, *, on_error: ErrorHandler = raise_error
) -> Iterator[Example[str, str]]:
    """Read the pairs of two aligned files, line by line.

    Args:
        first: the file of the sources; a .gz file is decompressed.
        second: the file of the targets.
        on_error: called for each pair with an empty side, which is then skipped; by default it raises the error.

    Raises:
        DataError: one file has more lines than the other, or a pair has an empty side.
    """
    # A line that isn't UTF-8 is always an error: if it were skipped, all lines after it would be misaligned.
    for one, other in zip_longest(read_lines(first), read_lines(second)):
        if one is None or other is None:
            longer, shorter = (second, first) if one is None else (first, second)
            number = (one or other or (0, ""))[0]
            raise DataError(f"it goes on where {shorter} has ended.", path=longer, line=number)
        source, target = one[1], other[1]
        if source.strip() and target.strip():
            yield Example(source, target)
        else:
            path = second if source.strip() else first
            on_error(DataError("the line is empty.", path=path, line=one[0]))
