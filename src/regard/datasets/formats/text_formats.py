"""Detecting the format of a .txt file by its first lines: a table, JSON Lines, CoNLL, or words with tags."""

import csv
import json
import re
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from regard.datasets.formats.columns import COLUMN_ROLES
from regard.datasets.formats.tagged_text import is_columns, tag_mark
from regard.inputs.encodings import UTF8
from regard.inputs.lines import parse_number, read_lines

__all__ = ["KNOWN_FORMATS", "TextFormat", "detect_format"]

KNOWN_FORMATS = (
    "an object of JSON on each line; the ten columns of CoNLL-U, divided by tabs; words with labels, as word/TAG or in "
    "columns with an empty line between sentences; or a first line that names two or more columns, divided by tabs, "
    "commas, semicolons or bars, and rows with as many"
)
"""The formats that `detect_format` recognises, for messages."""

_LINES = 50
_FEWEST = 3  # numbers on a line that are taken for a series
_DELIMITERS = "\t,;|"
_WORD = re.compile(r"[0-9]+(-[0-9]+|\.[0-9]+)?(\t[^\t]*){9}")


class TextFormat(NamedTuple):
    """The format of a text file: the suffix of such files, and the separator of a table's columns."""

    suffix: str
    delimiter: str = ","


def detect_format(path: str | Path, encoding: str = UTF8) -> TextFormat | None:
    """The format of a text file, by its first 50 lines that aren't blank; None if it isn't recognised.

    Lines of numbers are a table, too, whose columns may be divided by spaces (`series_tables`). Else a file is a table
    if most of these lines have as many columns as the first one, so that broken rows are reported when it is read.
    Words with tags (".tagged") and words in columns (".conll") have no header, and their labels repeat.

    Args:
        path: the file.
        encoding: its encoding, as Python calls it.

    Raises:
        DataError: the file doesn't exist, or isn't text.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        ...     _ = file.write("text;label\\nclean, and cheap;good\\n")
        ...     file.flush()
        ...     detect_format(file.name)
        TextFormat(suffix='.csv', delimiter=';')
    """
    # Lines that can't be decoded are reported when the file is read.
    every = [line for _, line in islice(read_lines(path, lambda _: None, encoding=encoding), 10 * _LINES)]
    filled = [place for place, line in enumerate(every) if line.strip()][:_LINES]
    if not filled:
        return None
    lines = [every[place] for place in filled]
    if _is_object(lines[0]):
        return TextFormat(".jsonl")
    words = [line for line in lines if not line.startswith("#")]
    if words and _WORD.fullmatch(words[0]):
        return TextFormat(".conllu")
    if mark := tag_mark(lines):
        return TextFormat(".tagged", mark)
    standard = {name for names in COLUMN_ROLES.values() for name in names}
    if is_columns(every[: filled[-1] + 1]) and not standard & {*re.split("[\t,;|]", lines[0])}:
        return TextFormat(".conll", "\t" if "\t" in lines[0] else " ")
    for delimiter in f"{_DELIMITERS} ":
        if _is_numbers(lines, delimiter):
            return TextFormat(".csv", delimiter)
    for delimiter in _DELIMITERS:
        if _is_table(lines, delimiter):
            return TextFormat(".tsv" if delimiter == "\t" else ".csv", delimiter)
    return None


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _is_numbers(lines: list[str], delimiter: str) -> bool:
    """Whether each line has as many numbers, and at most one word, which is its label: a series on each line."""
    rows = [line.split(None if delimiter == " " else delimiter) for line in lines]
    wordy = (sum(parse_number(cell.strip().replace(",", ".")) is None for cell in row) for row in rows)
    width = len(rows[0])
    return len(rows) > 1 and width > _FEWEST and all(len(row) == width for row in rows) and max(wordy) <= 1


def _is_table(lines: list[str], delimiter: str) -> bool:
    quoting = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    rows: list[list[str]] = []
    # A quoted cell may extend beyond these lines, which is an error here.
    with suppress(csv.Error):
        rows.extend(csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, quoting=quoting, strict=True))
    if len(rows) < 2:
        return False
    header, *others = rows
    # The first column may have no name, as the index that pandas writes, or the last, as behind a comma at the end.
    names = header[not header[0].strip() : len(header) - (not header[-1].strip())]
    named = len(names) > 1 and all(name.strip() for name in names) and len({*names}) == len(names)
    return named and 2 * sum(len(row) == len(header) for row in others) > len(others)
