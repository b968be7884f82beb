"""Quotation marks of CSV that are missing: between two stray ones, rows of the table become one cell."""

import csv
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from regard.errors import GuessedColumns

__all__ = ["lines_with_rows", "warn_of_rows"]

_FEWEST = 3  # rows; as many lines of a text in quotes may have the commas of a row by chance
_MOST_WORDS = 1


def lines_with_rows(row: Sequence[str], delimiter: str) -> int:
    """The number of lines that a cell goes on over if all lines within it could be rows; 0 if there is no such cell.

    Args:
        row: the cells of a row, as `csv.reader` returns them.
        delimiter: what divides the cells.

    Example:
        >>> lines_with_rows(["good,yes\\nbad,no\\nfine,yes\\npoor,no\\nawful", "no"], ",")
        5
        >>> lines_with_rows(["The room was clean.\\n\\nThe bed, too.\\nI slept well.\\nBut breakfast!", "yes"], ",")
        0
    """
    for cell in row if len(row) > 1 else ():
        lines = cell.split("\n")[1:-1]
        with suppress(csv.Error):
            within = [*csv.reader(lines, delimiter=delimiter)]
            if (
                len(lines) >= _FEWEST
                and {*map(len, within)} == {len(row)}
                and any(map(_are_short, zip(*within, strict=True)))
            ):
                return len(lines) + 2
    return 0


def _are_short(column: Sequence[str]) -> bool:
    """Whether the cells of a column may be labels or numbers, and no sentences."""
    return all(cell.strip() and len(cell.split()) <= _MOST_WORDS for cell in column)


def warn_of_rows(row: Sequence[str], delimiter: str, path: Path, line: int) -> bool:
    """Warn of a row with a cell that seems to hold other rows, and return whether there is such a cell."""
    height = lines_with_rows(row, delimiter)
    if height:
        warnings.warn(
            f"{path}, line {line}: one cell goes on over {height} lines, which could be rows. Is a quotation mark "
            "missing, or one too many?",
            GuessedColumns,
            stacklevel=2,
        )
    return height > 0
