"""Reading CoNLL-U: a word in each line, ten columns, and an empty line after each sentence."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from regard.datasets.example import TaggedSentence
from regard.errors import DataError, UnknownNameError
from regard.extras import require
from regard.inputs.encodings import UTF8, open_text
from regard.inputs.lines import ErrorHandler, existing_file, raise_error

__all__ = ["LABELS", "read_treebank"]

LABELS = {"upos": 3, "xpos": 4, "feats": 5, "deprel": 7}
"""The columns that can be the labels of words, with their indices from 0."""

_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_COUNT = "[1-9][0-9]{0,8}"  # Python refuses to parse integers of thousands of digits
_ID = re.compile(rf"({_COUNT})|({_COUNT})-({_COUNT})|(?:0|{_COUNT})\.{_COUNT}")
_LONGEST_LINE = 1 << 20  # bytes; the longest in all of UD is a few thousand


def read_treebank(
    path: str | Path,
    label: str = "upos",
    *,
    convert: Callable[[str], str] | None = None,
    encoding: str = UTF8,
    on_error: ErrorHandler | None = None,
) -> Iterator[TaggedSentence]:
    """The sentences of a CoNLL-U file, one by one.

    A word is a line whose ID is an integer. Multiword tokens (3-4), empty nodes (8.1) and comments are skipped. Windows
    line ends, a byte order mark, blank lines at the end and a last line without a line end are accepted.

    Args:
        path: the file.
        label: the column of the labels, one of `LABELS`.
        convert: a function that is applied to each word.
        encoding: the encoding of the file, as Python calls it.
        on_error: called for each broken line, whose sentence is then skipped. Without it, the first error is raised.

    Raises:
        DataError: a broken line; names the file and the line.
        MissingExtraError: the library `conllu` is not installed.

    Example:
        >>> import tempfile
        >>> line = "{}\\t{}\\t_\\t{}" + "\\t_" * 6 + "\\n"
        >>> with tempfile.NamedTemporaryFile("w", suffix=".conllu") as file:
        ...     _ = file.write(line.format(1, "I", "PRON") + line.format(2, "saw", "VERB"))
        ...     file.flush()
        ...     list(read_treebank(file.name))
        [TaggedSentence(words=('I', 'saw'), labels=('PRON', 'VERB'))]

    Source: universaldependencies.org/format.html
    """
    if label not in LABELS:
        raise UnknownNameError("label", label, LABELS)
    return _sentences(existing_file(path), label, convert or (lambda word: word), encoding, on_error or raise_error)


def _sentences(
    path: Path, label: str, convert: Callable[[str], str], encoding: str, on_error: ErrorHandler
) -> Iterator[TaggedSentence]:
    conllu = require("conllu", extra="data")
    # The other columns aren't parsed, which halves the time.
    parsers = {column: _unparsed for column in _COLUMNS if column != "id"}
    any_sentence, any_word, broken = False, False, False

    def report(error: DataError) -> None:
        nonlocal broken
        broken = True
        on_error(error)

    for block in _blocks(path, label, encoding, report):
        words: list[str] = []
        labels: list[str] = []
        for token in conllu.parse("\n".join(block), fields=_COLUMNS, field_parsers=parsers)[0]:
            # The ids of multiword tokens and empty nodes are tuples.
            if isinstance(token["id"], int):
                words.append(convert(token["form"]))
                labels.append(token[label])
        if words:
            any_sentence = True
            any_word = any_word or any(word != "_" for word in words)
            yield TaggedSentence(tuple(words), tuple(labels))
    if broken:
        return
    if not any_sentence:
        on_error(DataError("it holds no sentence; a CoNLL-U file has one word a line.", path=path))
    elif not any_word:
        on_error(
            DataError(
                "every word is `_`: this treebank is published without its text. Its readme says how to add it.",
                path=path,
            )
        )


def _blocks(path: Path, label: str, encoding: str, on_error: ErrorHandler) -> Iterator[list[str]]:
    """The lines of each sentence without comments; sentences with a broken line are reported to `on_error` only."""
    block: list[str] = []
    previous: int | None = 0
    broken = False
    # The multiword token whose range ends last: the number of its line, and its ID.
    token: tuple[int, str, int] | None = None

    def ends_early() -> bool:
        """Whether the sentence ends before its last multiword token does, which is reported."""
        if token is None or previous is None or token[2] <= previous:
            return False
        reaches = f"the multiword token {token[1]} reaches past its sentence, whose last word is {previous}."
        on_error(DataError(reaches, path=path, line=token[0]))
        return True

    for number, line in _lines(path, encoding, on_error):
        if line is None:
            broken = True
        elif not line.strip():
            if block and not broken and not ends_early():
                yield block
            block, previous, broken, token = [], 0, False, None
        elif not line.startswith("#"):
            wrong = _wrong(line, previous, label)
            if wrong:
                broken = True
                on_error(DataError(f"{wrong}.", path=path, line=number))
            block.append(line)
            # Continue counting from this id, or from the next one, so that one mistake gives one error.
            identity = _ID.fullmatch(line.split("\t", 1)[0])
            if identity is None or identity[1]:
                previous = int(identity[1]) if identity else None
            elif identity[3] and (token is None or int(identity[3]) > token[2]):
                token = number, identity[0], int(identity[3])
        elif line.startswith("# global.columns =") and line.split("=", 1)[1].lower().split() != list(_COLUMNS):
            on_error(DataError("it is CoNLL-U Plus (other columns); only CoNLL-U is read.", path=path, line=number))
            return
    if block and not broken and not ends_early():
        yield block


def _lines(path: Path, encoding: str, on_error: ErrorHandler) -> Iterator[tuple[int, str | None]]:
    """The lines with their numbers, without line ends; None for a line that can't be decoded."""
    number = 0
    # Compressed files are refused, so that they aren't opened as such.
    with path.open("rb") if encoding == UTF8 else open_text(path, encoding) as file:
        # readline with a limit: a file of a gigabyte without line ends must not be read at once.
        while raw := file.readline(_LONGEST_LINE):
            number += 1
            if number == 1:
                if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
                    return on_error(DataError("it is UTF-16; it must be UTF-8. Save it as UTF-8.", path=path, line=1))
                if raw.startswith((b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ")):
                    return on_error(DataError("it is compressed. Unpack it first.", path=path, line=1))
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            if len(raw) == _LONGEST_LINE and not raw.endswith(b"\n"):
                return on_error(
                    DataError(
                        f"the line is longer than {_LONGEST_LINE:,} bytes. Is this CoNLL-U? It has one word a line.",
                        path=path,
                        line=number,
                    )
                )
            if b"\0" in raw:
                return on_error(DataError("it holds a zero byte: a binary file, not CoNLL-U.", path=path, line=number))
            try:
                yield number, raw.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                on_error(
                    DataError(
                        f"byte {error.start + 1} of the line (0x{raw[error.start]:02x}) is not UTF-8. "
                        "Save the file as UTF-8.",
                        path=path,
                        line=number,
                    )
                )
                yield number, None


def _wrong(line: str, previous: int | None, label: str) -> str | None:
    """What is wrong with a word's line, given the id of the previous word if it is known; None if nothing is."""
    columns = line.split("\t")
    if len(columns) != len(_COLUMNS):
        hint = ". Are they separated by spaces? They must be by tabs" if len(columns) == 1 and " " in line else ""
        return f"a line must have 10 columns separated by tabs, but has {len(columns)}{hint}"
    identity = _ID.fullmatch(columns[0])
    if not identity:
        return f"the ID must be a number, as 3, or 3-4 or 8.1, but is {_short(columns[0])}"
    if identity[1] and previous is not None and int(identity[1]) != previous + 1:
        return (
            f"words must be numbered 1, 2, 3, ... in each sentence: {previous + 1} is due, but the ID is {identity[1]}"
        )
    if identity[2] and not (previous or 0) < int(identity[2]) <= int(identity[3]):
        return f"the ID of a multiword token must be a range of words that follow, as 3-4, but is {columns[0]}"
    if not columns[1].strip():
        return "the FORM (column 2), the word itself, is empty"
    # The library treats two spaces as a tab; the format allows them in the last column only.
    if any("  " in column for column in columns[:-1]):
        return "a column has two spaces in a row, which CoNLL-U does not allow"
    if identity[1] and label != "feats" and columns[LABELS[label]].strip() in ("", "_"):
        others = " or ".join(repr(name) for name in LABELS if name not in (label, "feats"))
        return (
            f"the word {_short(columns[1])} has no {label.upper()} (column {LABELS[label] + 1}). "
            f"Another column can be the label: {others}"
        )
    return None


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")


def _unparsed(columns: list[str], index: int) -> str:
    return columns[index]
