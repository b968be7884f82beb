"""Read sentences from a file or from standard input, one on each line, and check each."""

import os
import re
import sys
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

from regard.errors import ArgumentError, DataError, GuessedColumns, OutOfDistribution, RegardError

if TYPE_CHECKING:
    from regard.datasets import ColumnNames

__all__ = [
    "STANDARD_INPUT",
    "Line",
    "check_text",
    "in_script",
    "is_chinese",
    "read_file",
    "read_lines",
    "read_sources",
    "sources_of",
    "until_broken",
]

STANDARD_INPUT = "standard input"

_MOST_BYTES = 1_000_000

T = TypeVar("T")


class Line(NamedTuple):
    """A line that isn't empty, and its number from 1."""

    text: str
    number: int


def check_text(text: str) -> None:
    """Refuse a text on the command line that is empty, or isn't UTF-8.

    Raises:
        ArgumentError: the text is empty or not UTF-8.
    """
    if not text.strip():
        raise ArgumentError('`TEXT` must hold a word, but is empty. For example: regard tag "I saw a saw ."')
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ArgumentError("`TEXT` must be UTF-8, but holds bytes that aren't. Check the encoding of the terminal.")


def read_file(
    path: str, problem: Callable[[DataError], None] | None = None, encoding: str | None = None
) -> Generator[Line, None, None]:
    """Read the lines of a file, or of standard input for "-"; closing the generator closes the file.

    Args:
        path: the file, or "-".
        problem: as `read_lines` takes it.
        encoding: the encoding of the file, as Python calls it; by default it is found by its content.

    Raises:
        UnknownNameError: there is no such encoding.
        OSError: there is no such file, or it can't be read.
        ArgumentError: standard input is closed.
        DataError: as in `read_lines`.
    """
    if path == "-":
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None:
            raise ArgumentError("standard input is closed. Give a text, or a file with -f.")
        yield from read_lines(stream, STANDARD_INPUT, problem)
        return
    from regard.inputs.encodings import UTF8, check_encoding, encoding_of, open_text

    # A pipe can be read only once, so nothing is found by its content.
    found = encoding_of(path) if encoding is None and Path(path).is_file() else check_encoding(encoding or UTF8)
    with open_text(path, found) as stream:
        yield from read_lines(stream, path, problem)


def read_sources(
    path: str,
    columns: "ColumnNames | None",
    problem: Callable[[DataError], None] | None = None,
    encoding: str | None = None,
) -> Generator[Line, None, None]:
    """Read the sources in a table's column, or else those on the lines of a file, as `read_file`.

    Args:
        path: the file, or "-".
        columns: the names of columns, as `datasets.read_sources` takes them. Without them, a file is a table if its
            name is that of one, and its first line has a column called text, path or smiles.
        problem: as `read_lines` takes it.
        encoding: the encoding of the file, as Python calls it; by default it is found by its content.

    Raises:
        RegardError: as `read_file` and `datasets.read_sources`.
    """
    _check_lines(path)
    table = re.search(r"\.(csv|tsv|jsonl)(\.gz)?$", path, re.IGNORECASE) is not None
    if columns is None and not (table and os.path.isfile(path)):
        yield from read_file(path, problem, encoding)
        return
    # Here and not above: it brings torch, for which plain lines needn't wait.
    from regard import datasets
    from regard.inputs.encodings import check_encoding, encoding_of
    from regard.inputs.lines import existing_file, raise_error

    found = encoding_of(existing_file(path)) if encoding is None else check_encoding(encoding)
    if columns is None and not datasets.has_source_column(path, encoding=found):
        warnings.warn(
            f"{path}: each line is read as a source. If it is a table, name its column: --column text=NAME.",
            GuessedColumns,
            stacklevel=2,
        )
        yield from read_file(path, problem, encoding)
        return
    some = False

    def report(error: DataError) -> None:
        nonlocal some
        some = True
        (problem or raise_error)(error)

    for line, text in datasets.read_sources(path, columns, encoding=found, on_error=report):
        some = True
        yield Line(text, line)
    if not some:
        raise DataError("there is nothing to predict for: no row has a source.", path=path)


def _check_lines(path: str) -> None:
    """Refuse a file that by its name holds something else than a source, or the name of one, on each line.

    Raises:
        DataError: it does.
    """
    suffix = Path(path).suffix.lower()
    if suffix in ("", ".txt", ".csv", ".tsv", ".jsonl", ".gz") or not os.path.isfile(path):
        return
    if suffix in (".conllu", ".conll"):
        raise DataError(
            f"a {suffix} file has a word with its labels on each line, but -f reads a sentence on each. To compare "
            "with the labels, use regard evaluate MODEL --data FILE.",
            path=path,
        )
    # Here and not above: it brings torch, for which plain lines needn't wait.
    from regard.datasets import PICTURES, SOUNDS

    if suffix in (*SOUNDS, *PICTURES, ".ts", ".npy", ".npz"):
        raise DataError(
            "-f reads a source, or the name of its file, on each line, but this is a source itself. Leave -f out.",
            path=path,
        )


def read_lines(
    stream: BinaryIO, name: str, problem: Callable[[DataError], None] | None = None
) -> Generator[Line, None, None]:
    """Read lines of UTF-8, and skip empty ones.

    At most one line is in memory, and at most a megabyte of it.

    Args:
        stream: the open file.
        name: its name in errors.
        problem: called with the error of each broken line, which is then skipped; by default the error is raised.

    Raises:
        DataError: not text, not UTF-8, a line of more than a megabyte, or no line at all; names the line.

    Example:
        >>> import io
        >>> list(read_lines(io.BytesIO(b"I saw .\\r\\n\\nYou saw ."), "a.txt"))
        [Line(text='I saw .', number=1), Line(text='You saw .', number=3)]
    """
    number, found = 0, False
    while raw := stream.readline(_MOST_BYTES + 1):
        number += 1
        long = len(raw) > _MOST_BYTES
        try:
            text = _decode(raw, name, number).strip()
        except DataError as error:
            if problem is None:
                raise
            problem(error)
            # The rest of an overlong line isn't counted as a line.
            while long and raw and not raw.endswith(b"\n"):
                raw = stream.readline(_MOST_BYTES)
            found = True
            continue
        if text:
            found = True
            yield Line(text, number)
    if not found:
        why = "it is empty" if number == 0 else "every line in it is empty"
        raise DataError(f"there is nothing to predict for, {why}. Write one source on each line.", path=name)


def until_broken(items: Iterable[T], broken: list[Exception]) -> Iterator[T]:
    """Yield items up to the first error, so that the complete items of a batch still get predictions.

    Args:
        items: the items.
        broken: receives the error, which the caller raises after the predictions.

    Example:
        >>> import io
        >>> broken = []
        >>> [line.text for line in until_broken(read_lines(io.BytesIO(b"I saw .\\n\\xff"), "a.txt"), broken)]
        ['I saw .']
        >>> print(broken[0])
        a.txt, line 2: it isn't UTF-8: byte 1 of the line is 0xff. Convert it to UTF-8.
    """
    try:
        yield from items
    except (RegardError, OSError) as error:
        broken.append(error)


def in_script(lines: Iterable[Line], script: str | None) -> Iterator[Line]:
    """Convert the Chinese in lines to the script that `--script` names; None: no conversion.

    Raises:
        MissingExtraError: OpenCC is not installed.

    Example:
        >>> list(in_script([Line("他在讀書。", 1)], "simplified"))
        [Line(text='他在读书。', number=1)]
    """
    # Here and not above: it brings torch, for which --help and a mistyped option needn't wait.
    from regard.inputs import convert_script as converted

    for line in lines:
        yield line if script is None else line._replace(text=converted(line.text, script))


def sources_of(model: Any, text: str, origin: str = "") -> list[tuple[str, Any]]:
    """The sources in a line, which may be a text or the name of a file, each with its name for the output.

    Args:
        model: the model that reads them.
        text: the line.
        origin: the file that has the line; "" for the command line.

    Raises:
        RegardError: the model can't read it.
    """
    source = model.recipe.input
    if not origin and source.argument == "text" and len(text) < 256 and os.path.isfile(text):
        warnings.warn(
            f"{text} is a file, but its name is taken for a text. Use -f {text} for its lines.",
            OutOfDistribution,
            stacklevel=2,
        )
    return source.from_argument(model.encoder, text)


def is_chinese(text: str) -> bool:
    """Whether a text holds a Han character.

    Example:
        >>> is_chinese("我 saw"), is_chinese("saw")
        (True, False)
    """
    return any("\u3400" <= character <= "\u9fff" or "\U00020000" <= character <= "\U0003ffff" for character in text)


def _decode(raw: bytes, name: str, number: int) -> str:
    if number == 1:
        raw = raw.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in raw:
        hint = "it looks like UTF-16; save it as UTF-8" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "it isn't text"
        raise DataError(f"it holds a zero byte: {hint}.", path=name, line=number)
    try:
        # Before the check of the length: for bytes that aren't text, this error is more helpful.
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        if len(raw) <= _MOST_BYTES or error.start < len(raw) - 4:
            raise DataError(
                f"it isn't UTF-8: byte {error.start + 1} of the line is 0x{raw[error.start]:02x}. Convert it to UTF-8.",
                path=name,
                line=number,
            ) from error
        text = ""
    if len(raw) > _MOST_BYTES:
        raise DataError(
            f"the line has more than {_MOST_BYTES:,} bytes, too long for a sentence. Put one sentence on a line.",
            path=name,
            line=number,
        )
    return text
