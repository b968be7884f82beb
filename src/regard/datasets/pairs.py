"""Pairs of texts, such as translations: in two files line by line, or in one file with a tab between."""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from regard.datasets.example import Example
from regard.errors import DataError
from regard.inputs.lines import ErrorHandler, raise_error, read_lines

__all__ = ["read_aligned", "read_pairs"]


def read_pairs(path: str | Path, *, on_error: ErrorHandler = raise_error) -> Iterator[Example[str, str]]:
    """The pairs of a file with two texts a line and a tab between them; what stands behind another tab is passed over.

    Args:
        path: the file. Blank lines are skipped.
        on_error: is told of each line without two texts, which is then left out; by default it is raise_error.

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
    """The pairs of two files: the lines of one number belong together.

    Args:
        first: the file of the sources; one that ends in .gz is unpacked on the way.
        second: that of the targets.
        on_error: is told of each pair with an empty side, which is then left out; by default it is raise_error.

    Raises:
        DataError: one file has more lines than the other, or a pair an empty side.
    """
    # Not UTF-8 is raise_error and never left out: the lines behind it would all belong to others.
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
