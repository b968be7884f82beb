"""What a .txt file holds, which its name doesn't say: a table, JSON Lines or CoNLL-U, by its first lines."""

import csv
import json
import re
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from regard.inputs.lines import read_lines

__all__ = ["LOOKED_FOR", "TextForm", "form_of_text"]

LOOKED_FOR = (
    "an object of JSON on each line; the ten columns of CoNLL-U, divided by tabs; or a first line that names two or "
    "more columns, divided by tabs, commas, semicolons or bars, and rows with as many"
)
"""What `form_of_text` looks for, for messages."""

_LINES = 50
_DELIMITERS = "\t,;|"
_WORD = re.compile(r"[0-9]+(-[0-9]+|\.[0-9]+)?(\t[^\t]*){9}")


class TextForm(NamedTuple):
    """The form of a text file: how the names of such files end, and what divides the columns of a table."""

    suffix: str
    delimiter: str = ","


def form_of_text(path: str | Path) -> TextForm | None:
    """The form of a text file, by its first 50 lines that aren't blank; None if it has none of those looked for.

    A table is taken for one if most of these lines have as many columns as the first, so that a broken row is found
    later, where it is named.

    Raises:
        DataError: there is no such file, or it isn't text.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        ...     _ = file.write("text;label\\nclean, and cheap;good\\n")
        ...     file.flush()
        ...     form_of_text(file.name)
        TextForm(suffix='.csv', delimiter=';')
    """
    # A line that isn't UTF-8 is told when all are read.
    lines = [line for _, line in islice(((n, x) for n, x in read_lines(path, lambda _: None) if x.strip()), _LINES)]
    if not lines:
        return None
    if _is_object(lines[0]):
        return TextForm(".jsonl")
    words = [line for line in lines if not line.startswith("#")]
    if words and _WORD.fullmatch(words[0]):
        return TextForm(".conllu")
    for delimiter in _DELIMITERS:
        if _is_table(lines, delimiter):
            return TextForm(".tsv" if delimiter == "\t" else ".csv", delimiter)
    return None


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _is_table(lines: list[str], delimiter: str) -> bool:
    quoting = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    rows: list[list[str]] = []
    # An error where a cell goes on behind these lines.
    with suppress(csv.Error):
        rows.extend(csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, quoting=quoting, strict=True))
    if len(rows) < 2:
        return False
    header, *others = rows
    named = len(header) > 1 and all(name.strip() for name in header) and len({*header}) == len(header)
    return named and 2 * sum(len(row) == len(header) for row in others) > len(others)
