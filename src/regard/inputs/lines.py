"""Reading text files line by line. Whatever can't be decoded is an error that names the line."""

import csv
import gzip
import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from regard.errors import DataError
from regard.inputs.encodings import UTF8, open_text
from regard.inputs.file_kinds import other_kind

__all__ = [
    "DECIMAL_COMMAS",
    "ErrorHandler",
    "existing_file",
    "parse_number",
    "raise_error",
    "read_decoded_lines",
    "read_lines",
    "read_table",
    "with_point",
]

ErrorHandler = Callable[[DataError], None]
"""A function that is called with each error; what is broken is then skipped, and reading continues."""

DECIMAL_COMMAS = ";"
"""The delimiter of tables whose numbers may have decimal commas, as spreadsheets of many countries write them.

Beside tabs a comma may as well mark thousands."""

_LONGEST_LINE = 1 << 26  # bytes; a file of gigabytes without line ends must not be read at once

# A cell may be as long as a line. The limit of the module is the process's, and 131,072 characters by default.
csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_LINE))


def raise_error(error: DataError) -> None:
    """An `ErrorHandler` that raises the first error."""
    raise error


def existing_file(path: str | Path) -> Path:
    """The path of a file, after checking that it exists.

    Raises:
        DataError: it doesn't exist, or is a folder, a pipe or a device.
    """
    path = Path(path)
    if not path.exists():
        raise DataError("there is no such file.", path=path)
    if not path.is_file():
        raise DataError(f"it is a {'folder' if path.is_dir() else 'pipe or a device'}, not a file.", path=path)
    return path


def read_lines(
    path: str | Path, on_error: ErrorHandler = raise_error, *, encoding: str = UTF8
) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers, without line ends; a .gz file is decompressed.

    A line ends with a line feed, with or without a carriage return before it. The other line separators of Unicode are
    part of the text.

    Args:
        path: the file.
        on_error: called for each line that can't be decoded, which is then skipped; by default it raises the error.
        encoding: its encoding, as Python calls it (`encodings.encoding_of` finds it).

    Raises:
        DataError: a file that doesn't exist, isn't text, or is truncated.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        ...     _ = file.write("I saw\\na saw\\n")
        ...     file.flush()
        ...     list(read_lines(file.name))
        [(1, 'I saw'), (2, 'a saw')]
    """
    for number, text, wrong in read_decoded_lines(path, encoding=encoding):
        if wrong is None:
            yield number, text
        else:
            on_error(wrong)


def read_decoded_lines(path: str | Path, *, encoding: str = UTF8) -> Iterator[tuple[int, str, DataError | None]]:
    """The lines as `read_lines` reads them, each with what is wrong with it; None: nothing.

    What can't be decoded is replaced, so that a row of a table ends where it ends, whatever its cells hold.

    Args:
        path: the file.
        encoding: its encoding, as Python calls it.

    Raises:
        DataError: as in `read_lines`.
    """
    path = existing_file(path)
    number = 0
    try:
        with open_text(path, encoding) as file:
            while raw := file.readline(_LONGEST_LINE):
                number += 1
                if number == 1:
                    if (kind := other_kind(raw, path)) is not None:
                        raise DataError(kind, path=path, line=1)
                    raw = raw.removeprefix(b"\xef\xbb\xbf")
                if len(raw) == _LONGEST_LINE and not raw.endswith(b"\n"):
                    raise DataError(f"the line is longer than {_LONGEST_LINE:,} bytes.", path=path, line=number)
                if b"\0" in raw:
                    raise DataError("it holds a zero byte: a binary file, not text.", path=path, line=number)
                line = raw.removesuffix(b"\n").removesuffix(b"\r")
                wrong = None
                try:
                    text = line.decode("utf-8")
                except UnicodeDecodeError as error:
                    text = line.decode("utf-8", "replace")
                    wrong = DataError(_undecoded(raw[error.start], error.start, encoding), path=path, line=number)
                yield number, text, wrong
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"it can't be unpacked any further than line {number} ({error}). Get it anew.", path=path
        ) from error


def read_table(path: str | Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The names of a table's columns, and its rows, each with the number of its first line.

    The first line names the columns; the separator is a tab if it has one, else a comma. A cell that contains a
    separator is in double quotes. Spaces around a cell are removed, and empty lines are skipped.

    Raises:
        DataError: no columns, a column without a name or with a duplicate name, a row with the wrong number of cells,
            or an unclosed quote.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w") as file:
        ...     _ = file.write('name,job\\nAnn,"cook, baker"\\n')
        ...     file.flush()
        ...     read_table(file.name)
        (['name', 'job'], [(2, ['Ann', 'cook, baker'])])
    """
    rows = _rows(path)
    first, names = next(rows, (None, []))
    if not names:
        raise DataError("it is empty; its first line must name the columns.", path=path)
    counts = Counter(names)
    for number, name in enumerate(names, start=1):
        if not name:
            raise DataError(f"column {number} has no name. Name it, or leave it out.", path=path, line=first)
        if counts[name] > 1:
            raise DataError(f"two columns have the name {name!r:.60}. Rename one.", path=path, line=first)
    table = []
    for line, row in rows:
        if len(row) != len(names):
            raise DataError(
                f"a line must have {len(names)} columns, as the first one has, but has {len(row)}.",
                path=path,
                line=line,
            )
        table.append((line, row))
    return names, table


def parse_number(text: str) -> float | None:
    """Parse a number; None if the text isn't a finite number.

    Example:
        >>> [parse_number(text) for text in ["1.5", "-2e3", "1_000", "nan", "1e999", "three"]]
        [1.5, -2000.0, None, None, None, None]
    """
    # Python's `float` also accepts 1_000 and the digits of every script.
    if "_" in text or not text.isascii():
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def with_point(cell: str) -> str:
    """A number with a decimal point instead of a comma; anything else as it is.

    Example:
        >>> [with_point(cell) for cell in ("3,30", "3.30", "1.285,84", "a, b")]
        ['3.30', '3.30', '1.285,84', 'a, b']
    """
    pointed = cell.strip().replace(",", ".", 1)
    return pointed if parse_number(pointed) is not None else cell


def _rows(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """The rows that aren't empty, each with the number of its first line."""
    lines = read_lines(path)
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        return
    skipped, line = first[0] - 1, first[1]
    separator = "\t" if "\t" in line else ","
    texts = (text + "\n" for _, text in [first, *lines])
    reader = csv.reader(texts, delimiter=separator, strict=True)
    while True:
        number = skipped + reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(f"the columns can't be told apart ({error}).", path=path, line=number) from error
        row = list(map(str.strip, row))
        if any(row):
            yield number, row


def _undecoded(byte: int, place: int, encoding: str) -> str:
    # What precedes the byte was recoded, so its place in the line is known in UTF-8 only.
    if encoding == UTF8:
        return f"byte {place + 1} of the line (0x{byte:02x}) is not UTF-8. Save the file as UTF-8."
    return f"the line holds the byte 0x{byte:02x}, which {encoding} doesn't have. Save the file as UTF-8."
