"""Text files line by line, each with the number that an error about it names."""

import csv
import math
from collections.abc import Iterator
from pathlib import Path

from regard.errors import DataError

__all__ = ["number_of", "read_lines", "read_table"]

_LONGEST_LINE = 1 << 26  # bytes; a file without line ends must not be read whole
_COMPRESSED = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ")


def read_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file with their numbers from 1, without line ends; only one is in memory at a time.

    A line ends at a newline alone (with or without a carriage return), not at the other characters that Python's
    `splitlines` ends lines at: words may hold those.

    Raises:
        DataError: no such file, not UTF-8, compressed, a zero byte, or a line of more than 64 MiB.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w") as file:
        ...     _ = file.write("cat\\ndog")
        ...     file.flush()
        ...     list(read_lines(file.name))
        [(1, 'cat'), (2, 'dog')]
    """
    path = Path(path)
    if not path.is_file():
        raise DataError("it is a folder, not a file." if path.exists() else "there is no such file.", path=path)
    with path.open("rb") as file:
        number = 0
        while raw := file.readline(_LONGEST_LINE):
            number += 1
            if number == 1:
                if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
                    raise DataError("it is UTF-16. Save it as UTF-8.", path=path, line=1)
                if raw.startswith(_COMPRESSED):
                    raise DataError("it is compressed. Unpack it first.", path=path, line=1)
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            if len(raw) == _LONGEST_LINE and not raw.endswith(b"\n"):
                raise DataError(f"the line is longer than {_LONGEST_LINE:,} bytes.", path=path, line=number)
            if b"\0" in raw:
                raise DataError("it holds a zero byte: this is no text file.", path=path, line=number)
            try:
                yield number, raw.decode("utf-8").removesuffix("\n").removesuffix("\r")
            except UnicodeDecodeError as error:
                raise DataError(
                    f"byte {error.start + 1} of the line (0x{raw[error.start]:02x}) is not UTF-8. "
                    "Save the file as UTF-8.",
                    path=path,
                    line=number,
                ) from error


def read_table(path: str | Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The names of a table's columns, and its rows, each with the number of the line where it begins.

    The first line names the columns; they are separated by tabs if it has one, else by commas. A cell with a separator
    in it stands in double quotes. Spaces around a cell don't count, and empty lines are skipped.

    Raises:
        DataError: no columns, one without a name or named twice, a row with more or fewer cells, a broken quote.

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
    for place, name in enumerate(names):
        if not name:
            raise DataError(f"column {place + 1} has no name. Name it, or leave it out.", path=path, line=first)
        if name in names[:place]:
            raise DataError(f"two columns have the name {name!r}. Rename one.", path=path, line=first)
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


def number_of(text: str) -> float | None:
    """The number that a text is, as files write them; None if it is none, or not a finite one.

    Example:
        >>> [number_of(text) for text in ["1.5", "-2e3", "1_000", "nan", "1e999", "three"]]
        [1.5, -2000.0, None, None, None, None]
    """
    # Python itself also reads 1_000 and the digits of every script.
    if "_" in text or not text.isascii():
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _rows(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """The rows that aren't empty, with the number of the line where each begins."""
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
        if any(cell.strip() for cell in row):
            yield number, [cell.strip() for cell in row]
