"""`--skip-broken`: skip the broken lines of a file, count them, and write a list of them."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli.answering.reading import Line
from regard.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from regard.datasets import ColumnNames

__all__ = ["BrokenLines", "raise_with_option", "with_option"]

_NAMES = ("file", "line", "reason", "text")


class BrokenLines:
    """The list of skipped lines, as JSON Lines: the file, the line number, the reason and the line itself.

    Attributes:
        columns: the names of a table's columns, as in `regard.datasets.read`, which say whether it has a header.

    Args:
        path: the file to write.
        force: whether to overwrite a file that isn't such a list.
        encoding: the encoding of the files whose lines are skipped; None: it is found by their content.

    Raises:
        ArgumentError: the path is a folder, can't be written, or is another file.
    """

    def __init__(self, path: str, *, force: bool = False, encoding: str | None = None):
        self.path, self.force = Path(path), force
        self._encoding = encoding
        self.columns: ColumnNames | None = None
        self._found: dict[tuple[str, int | None, str], str | None] = {}
        self._read = 0
        self._check()

    def __len__(self) -> int:
        return len(self._found)

    def add(self, error: DataError, text: str | None = None) -> None:
        """Add a broken line. Lines of a file that is read twice count once.

        Args:
            error: the error, with the file and the line.
            text: the line; by default it is read from the file when the list is written.
        """
        self._found.setdefault((str(error.path), error.line, error.reason), text)

    def add_unread(self, error: DataError) -> None:
        """Add an unreadable line of a file whose other lines are counted by `passing`."""
        self._read += 1
        self.add(error)

    def passing(self, lines: Iterable[Line]) -> Iterator[Line]:
        """Count lines while passing them on."""
        for line in lines:
            self._read += 1
            yield line

    def write(self) -> None:
        """Write the list, which may be empty, and print the number of skipped lines of each file."""
        # Imported here because it imports torch, which --help doesn't need.
        from regard.datasets.formats.tables import file_format
        from regard.files import write_text
        from regard.page.numbers import counted

        self._check()
        texts = self._texts()
        rows = [
            dict(zip(_NAMES, (*place, texts.get(place[:2]) if text is None else text), strict=True))
            for place, text in self._found.items()
        ]
        write_text(self.path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
        # A line may have two errors.
        lines = Counter(file for file, line in {place[:2] for place in self._found} if line is not None)
        for file, count in sorted(lines.items()):
            total = self._read or self._count(Path(file))
            is_are, was_were = ("is", "was") if count == 1 else ("are", "were")
            whole = ""
            if not self._read and file_format(Path(file), self._encoding) in (".conllu", ".conll"):
                whole = f" with {'its' if count == 1 else 'their'} whole {'sentence' if count == 1 else 'sentences'}"
            typer.echo(
                f"{count:,} of {counted(total, 'line')} {is_are} broken and {was_were} skipped{whole}: {file}. "
                f"{self.path} lists them.",
                err=True,
            )
        if files := [file for file, line, _ in self._found if line is None]:
            said = "1 file can't be used and was" if len(files) == 1 else f"{len(files):,} files can't be used and were"
            typer.echo(f"{said} skipped, such as {files[0]}. {self.path} lists them.", err=True)

    def _texts(self) -> dict[tuple[str, int | None], str]:
        """The skipped lines, as far as they can be decoded."""
        wanted: dict[str, set[int]] = {}
        for (file, line, _), text in self._found.items():
            if line is not None and text is None and Path(file).is_file():
                wanted.setdefault(file, set()).add(line)
        return {
            (file, number): raw.decode("utf-8", "replace").rstrip("\r\n")
            for file, numbers in wanted.items()
            for number, raw in enumerate(self._lines(Path(file)), start=1)
            if number in numbers
        }

    def _lines(self, path: Path) -> Iterator[bytes]:
        from regard.inputs.encodings import check_encoding, encoding_of, open_text

        encoding = encoding_of(path) if self._encoding is None else check_encoding(self._encoding)
        with open_text(path, encoding) as file:
            yield from file

    def _count(self, path: Path) -> int:
        """The number of lines without blank lines, the header of a table, and the comments of CoNLL-U."""
        from regard.datasets.formats.tables import file_format

        kind = file_format(path, self._encoding)
        lines = self._lines(path)
        count = sum(bool(line.strip()) and not (kind == ".conllu" and line.startswith(b"#")) for line in lines)
        return count - (kind in (".csv", ".tsv") and self._has_header(path))

    def _has_header(self, path: Path) -> bool:
        """Whether the first line of a table names its columns, and so is no line of data."""
        from regard.datasets import HEADER, find_series_table
        from regard.inputs.encodings import encoding_of

        encoding = encoding_of(path) if self._encoding is None else self._encoding
        series = find_series_table(path, self.columns, encoding=encoding)
        return HEADER not in (self.columns or {}) if series is None else bool(series.layout.names)

    def _check(self) -> None:
        path = self.path
        above = next(folder for folder in path.absolute().parents if folder.exists())
        if not above.is_dir() or not os.access(above, os.W_OK):
            wrong = "can't be written to" if above.is_dir() else "is no folder"
            raise ArgumentError(f"`--skip-broken` must be a file to write, but of {path} {above} {wrong}.")
        if path.exists() and not path.is_file():
            what = "a folder" if path.is_dir() else "no regular file"
            raise ArgumentError(f"`--skip-broken` must be a file to write, but {path} is {what}.")
        if path.exists() and not (self.force or _is_list(path)):
            raise ArgumentError(
                f"`--skip-broken` must be a new file, or a list of broken lines that regard wrote, but {path} is "
                "neither. Give another name, or --force to write over it."
            )


def raise_with_option(error: DataError) -> None:
    """Raise the error with a hint at the option that skips broken lines."""
    raise with_option(error)


def with_option(error: DataError) -> DataError:
    """The error with a hint at the option that skips broken lines.

    Example:
        >>> print(with_option(DataError("the column `label` is empty.", path="a.csv", line=3)))
        a.csv, line 3: the column `label` is empty. To leave out what is broken: --skip-broken FILE.
    """
    return DataError(
        f"{error.reason} To leave out what is broken: --skip-broken FILE.", path=error.path, line=error.line
    )


def _is_list(path: Path) -> bool:
    """Whether the file is such a list, or empty, so that it can be overwritten without --force."""
    try:
        with path.open("rb") as file:
            first = file.readline(1 << 20)
        row = json.loads(first) if first.strip() else dict.fromkeys(_NAMES)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(row, dict) and tuple(row) == _NAMES
