"""The lines of a text file, strictly: whatever is no text is an error that names the line."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from regard.errors import DataError

__all__ = ["Problem", "existing", "raised", "read_lines"]

Problem = Callable[[DataError], None]
"""Is told of what is broken; what is broken is then left out, and reading goes on."""

_LONGEST_LINE = 1 << 26  # bytes; a file of gigabytes without a line end must not be read whole


def raised(error: DataError) -> None:
    """The strictest `Problem`: the first one is raised."""
    raise error


def existing(path: str | Path) -> Path:
    """The path of a file that is there.

    Raises:
        DataError: it isn't there, or is a folder.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError("there is no such file." if not path.exists() else "it is a folder, not a file.", path=path)
    return path


def read_lines(path: str | Path, problem: Problem = raised) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file with their numbers, without line ends; a name that ends in .gz is unpacked on the way.

    A line ends with a line feed, with or without a carriage return before it, and with nothing else: the other
    characters that Unicode calls line ends are part of a text.

    Args:
        path: the file.
        problem: is told of each line that isn't UTF-8, which is then left out; by default it is raised.

    Raises:
        DataError: a file that isn't there, isn't text, or breaks off.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        ...     _ = file.write("I saw\\na saw\\n")
        ...     file.flush()
        ...     list(read_lines(file.name))
        [(1, 'I saw'), (2, 'a saw')]
    """
    path = existing(path)
    packed = path.suffix == ".gz"
    number = 0
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            while raw := file.readline(_LONGEST_LINE):
                number += 1
                if number == 1:
                    _refuse_other_kinds(raw, path)
                    raw = raw.removeprefix(b"\xef\xbb\xbf")
                if len(raw) == _LONGEST_LINE and not raw.endswith(b"\n"):
                    raise DataError(f"the line is longer than {_LONGEST_LINE:,} bytes.", path=path, line=number)
                if b"\0" in raw:
                    raise DataError("it holds a zero byte: a binary file, not text.", path=path, line=number)
                try:
                    yield number, raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
                except UnicodeDecodeError as error:
                    wrong = f"byte {error.start + 1} of the line (0x{raw[error.start]:02x}) is not UTF-8."
                    problem(DataError(f"{wrong} Save the file as UTF-8.", path=path, line=number))
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"it can't be unpacked any further than line {number} ({error}). Get it anew.", path=path
        ) from error


def _refuse_other_kinds(beginning: bytes, path: Path) -> None:
    if beginning.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError("it is UTF-16; it must be UTF-8. Save it as UTF-8.", path=path, line=1)
    if beginning.startswith((b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ")):
        raise DataError("it is compressed. Unpack it first, or let a gzip's name end in .gz.", path=path, line=1)
