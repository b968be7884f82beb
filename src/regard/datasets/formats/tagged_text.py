"""Reading sentences whose words have labels from columns (CoNLL-2003 and the like), or from lines of word/TAG."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from regard.datasets.example import TaggedSentence
from regard.errors import DataError, UnknownNameError
from regard.inputs.encodings import UTF8
from regard.inputs.lines import ErrorHandler, raise_error, read_decoded_lines, read_lines

__all__ = ["TAG", "column_labels", "is_columns", "read_columns", "read_tagged", "tag_mark"]

TAG = "tag"
"""The name of the only label of a file of word/TAG."""

_DOCUMENT = "-DOCSTART-"
_COMMENT = re.compile(r"#\s*(\w[\w.:-]*\s*=|newdoc\b|newpar\b)")
_LINES, _MOST_COMMENTS = 50, 1000
_MARKS = "/_"


class _Layout(NamedTuple):
    """How the lines of a file are divided: by tabs or else by spaces, into how many columns, and which is the word."""

    tabs: bool
    columns: int
    word: int

    def split(self, line: str) -> list[str]:
        return line.split("\t") if self.tabs else line.split()


def column_labels(path: str | Path, *, encoding: str = UTF8) -> tuple[str, ...]:
    """The names of the columns that may be the labels of a file of columns: column2, column3, ..., counted from 1.

    Args:
        path: the file.
        encoding: its encoding, as Python calls it.

    Raises:
        DataError: the file doesn't exist, or isn't text.
    """
    return _names(_layout_of(path, encoding))


def read_columns(
    path: str | Path, label: str | None = None, *, encoding: str = UTF8, on_error: ErrorHandler = raise_error
) -> Iterator[TaggedSentence]:
    """The sentences of a file with a word and its labels on each line, and an empty line after each sentence.

    The columns are divided by tabs, or else by spaces. The word is the first column, or the second if the words are
    numbered. Comments and the lines -DOCSTART- of CoNLL-2003 are skipped.

    Args:
        path: the file.
        label: the column of the labels, such as "column2"; by default the last one.
        encoding: its encoding, as Python calls it.
        on_error: called for each broken line, whose sentence is then skipped; by default it raises the error.

    Raises:
        UnknownNameError: there is no such column.
        DataError: a broken line, or no sentence; names the file and the line.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".conll") as file:
        ...     _ = file.write("EU NNP B-NP B-ORG\\nrejects VBZ B-VP O\\n")
        ...     file.flush()
        ...     list(read_columns(file.name))
        [TaggedSentence(words=('EU', 'rejects'), labels=('B-ORG', 'O'))]

    Source: Tjong Kim Sang, De Meulder 2003, Introduction to the CoNLL-2003 Shared Task, section 2.2.
    """
    layout = _layout_of(path, encoding)
    known = _names(layout)
    if layout is None and (bare := _first_word(path, encoding)) is not None:
        number, word = bare
        step = "Write a label behind each word, divided by a tab or a space, and an empty line after each sentence."
        on_error(
            DataError(f"the word {word!r:.60} has no label: the file has one column. {step}", path=path, line=number)
        )
        return
    if label is not None and known and label not in known:
        raise UnknownNameError("label", label, known)
    # By their place in `known`; without a layout there is no line to read.
    chosen = -1 if layout is None else layout.word + 1 + known.index(label or known[-1])
    words: list[str] = []
    labels: list[str] = []
    broken = some = False
    # An empty line after the end completes the last sentence.
    for number, line, undecoded in _with_end(read_decoded_lines(path, encoding=encoding)):
        if undecoded is not None:
            broken = True
            on_error(undecoded)
            continue
        if not line.strip():
            if words and not broken and words != [_DOCUMENT]:
                some = True
                yield TaggedSentence(tuple(words), tuple(labels))
            some = some or broken
            words, labels, broken = [], [], False
            continue
        if layout is None or _is_comment(line, layout):
            continue
        cells = layout.split(line)
        wrong = _wrong(cells, layout, chosen)
        if wrong is not None:
            broken = True
            on_error(DataError(wrong, path=path, line=number))
            continue
        words.append(cells[layout.word].strip())
        labels.append(cells[chosen].strip())
    if not some:
        on_error(DataError("it holds no sentence; each line must have a word and its label, in columns.", path=path))


def read_tagged(
    path: str | Path, *, encoding: str = UTF8, on_error: ErrorHandler = raise_error
) -> Iterator[TaggedSentence]:
    """The sentences of a file with a sentence on each line, each word with its label: word/TAG or word_TAG.

    The last mark of a word is that before its label, so that a word may hold others: 1/2/NUM.

    Args:
        path: the file.
        encoding: its encoding, as Python calls it.
        on_error: called for each line with a word without a label, which is then skipped; by default it raises the
            error.

    Raises:
        DataError: such a line, or no sentence.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        ...     _ = file.write("I/PRON saw/VERB\\n")
        ...     file.flush()
        ...     list(read_tagged(file.name))
        [TaggedSentence(words=('I', 'saw'), labels=('PRON', 'VERB'))]
    """
    lines = islice((line for _, line in read_lines(path, _ignore, encoding=encoding) if line.strip()), _LINES)
    mark = tag_mark([*lines])
    some = False
    for number, line in read_lines(path, on_error, encoding=encoding):
        if not line.strip():
            continue
        some = True
        pairs = [word.rpartition(mark or _MARKS[0])[::2] for word in line.split()]
        bare = next((word for word, pair in zip(line.split(), pairs, strict=True) if not all(pair)), None)
        if bare is None:
            words, labels = zip(*pairs, strict=True)
            yield TaggedSentence(words, labels)
        else:
            wrong = f"each word must have its label, as saw{mark or _MARKS[0]}VERB, but {bare!r:.60} has none."
            on_error(DataError(wrong, path=path, line=number))
    if not some:
        on_error(DataError("it holds no sentence; each line must have words with labels: word/TAG.", path=path))


def tag_mark(lines: list[str]) -> str | None:
    """The mark between words and labels on the lines of a file of word/TAG; None if it is no such file.

    Example:
        >>> tag_mark(["I/PRON saw/VERB", "You/PRON saw/VERB"]), tag_mark(["I saw and/or heard"])
        ('/', None)
    """
    for mark in _MARKS:
        whole = [line for line in lines if all(_has_tag(word, mark) for word in line.split())]
        words = [word for line in whole for word in line.split()]
        tags = {word.rpartition(mark)[2] for word in words}
        # Labels repeat; what follows the underscores of names, or the slashes of dates, does not.
        if whole and 10 * len(whole) >= 9 * len(lines) and len(words) > len(whole) and len(tags) < len(words):
            return mark
    return None


def is_columns(lines: Sequence[str]) -> bool:
    """Whether lines are words in columns with labels that repeat, where empty lines divide the sentences.

    Args:
        lines: the first lines of a file, with the empty ones.
    """
    layout = _layout(lines)
    filled = [place for place, line in enumerate(lines) if line.strip()]
    # Without an empty line between the first and the last, the places of the others are consecutive.
    if layout is None or filled[-1] - filled[0] < len(filled):
        return False
    rows = [layout.split(lines[place]) for place in filled if not _is_comment(lines[place], layout)]
    last = {row[-1] for row in rows}
    # A text with spaces in it is a cell of a table, and no word.
    words = all(len(row) == layout.columns and " " not in row[layout.word] for row in rows)
    return words and 2 * len(last) <= len(rows)


def _has_tag(word: str, mark: str) -> bool:
    word, _, tag = word.rpartition(mark)
    return bool(word) and bool(tag) and not tag.isdigit()


def _layout_of(path: str | Path, encoding: str) -> _Layout | None:
    return _layout(line for _, line in islice(read_lines(path, _ignore, encoding=encoding), _MOST_COMMENTS))


def _first_word(path: str | Path, encoding: str) -> tuple[int, str] | None:
    """The first word of a file, and the number of its line."""
    lines = ((number, line.strip()) for number, line in read_lines(path, _ignore, encoding=encoding))
    return next(((number, line) for number, line in lines if line and not line.startswith("#")), None)


def _names(layout: _Layout | None) -> tuple[str, ...]:
    return () if layout is None else tuple(f"column{place + 1}" for place in range(layout.word + 1, layout.columns))


def _layout(lines: Iterable[str]) -> _Layout | None:
    """The layout by the first line that is neither empty nor begins with a hash; None if it has one column."""
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        tabs = "\t" in line
        cells = line.split("\t") if tabs else line.split()
        if len(cells) < 2:
            return None
        word = 1 if cells[0].strip() in ("0", "1") and len(cells) > 2 else 0
        return _Layout(tabs, len(cells), word)
    return None


def _is_comment(line: str, layout: _Layout) -> bool:
    # A word may be a hash.
    return line.startswith("#") and (bool(_COMMENT.match(line)) or len(layout.split(line)) != layout.columns)


def _wrong(cells: list[str], layout: _Layout, label: int) -> str | None:
    if len(cells) != layout.columns:
        by = "tabs" if layout.tabs else "spaces"
        return f"a line must have {layout.columns} columns divided by {by}, as the first, but has {len(cells)}."
    if not cells[layout.word].strip():
        return f"the word, column {layout.word + 1}, is empty."
    if not cells[label].strip():
        return f"the label, column {label + 1}, is empty."
    return None


def _with_end(lines: Iterator[tuple[int, str, DataError | None]]) -> Iterator[tuple[int, str, DataError | None]]:
    yield from lines
    yield 0, "", None


def _ignore(error: DataError) -> None:
    """Leave an error to whoever reads the file."""
