"""What is wrong with the first line of a table, and the next step."""

import csv
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from regard.datasets.formats.class_folders import PICTURES, SOUNDS
from regard.datasets.formats.columns import HEADER, find_file
from regard.datasets.formats.headers import is_medium, names_for_data
from regard.datasets.formats.tagged_text import is_columns
from regard.errors import DataError

__all__ = ["check_divided", "explained"]

_ROWS = 50  # by which a header is told from data


def explained(error: DataError, row: Mapping[str, Any], lines: Sequence[str], form: Mapping[str, Any]) -> DataError:
    """What is wrong with the names of the columns, or that the first line isn't names at all.

    Args:
        error: the error in the names.
        row: a row of the table, by the names.
        lines: the first lines of the table.
        form: how it is written, as arguments of `csv.reader`.
    """
    rows: list[list[str]] = []
    # A cell in quotes may go on behind these lines.
    with suppress(csv.Error):
        reader = csv.reader((f"{line}\n" for line in lines), strict=True, **form)
        rows.extend(islice((each for each in reader if each), _ROWS))
    if len(rows) > 1 and (names := names_for_data(rows)) is not None:
        if is_columns(lines):
            wrong = (
                "its lines look like words with labels, with empty lines between sentences. Call it .conll, and use "
                "regard train tagger."
            )
            return DataError(wrong, path=error.path, line=error.line)
        return DataError(
            f"it looks like data, but must name the columns. Name them by --columns {','.join(names)}; from Python: "
            f"columns={{{HEADER!r}: {names}}}.",
            path=error.path,
            line=error.line,
        )
    wrong, asked, _ = error.reason.partition(" Say which is the source:")
    folder = Path(str(error.path)).parent
    named = next((name for name, cell in row.items() if asked and _names_file(cell, folder)), None)
    if named is None:
        return error
    step = f"The column {named} names files: --column path={named}; from Python: columns={{'path': {named!r}}}."
    return DataError(f"{wrong} {step}", path=error.path, line=error.line)


def check_divided(header: Sequence[str], kind: str, path: Path) -> None:
    """Check the separator: spreadsheets of many countries write semicolons, and then the header is one name.

    Args:
        header: the cells of the first line.
        kind: the suffix of the table.
        path: the table, for messages.

    Raises:
        DataError: the columns seem to be divided by something else.
    """
    wanted = "tabs" if kind == ".tsv" else "commas"
    for mark, called in {";": "semicolons", "\t": "tabs", ",": "commas", "|": "bars"}.items():
        if len(header) == 1 and mark in header[0] and called != wanted:
            # A .txt file is read by its content.
            suffix = {"tabs": ".tsv", "commas": ".csv"}.get(called, ".txt")
            raise DataError(
                f"columns must be divided by {wanted} in a {kind} file, but seem to be by {called}. "
                f"Save the table with {wanted}, or call it {suffix}.",
                path=path,
                line=1,
            )


def _names_file(cell: Any, folder: Path) -> bool:
    if not isinstance(cell, str) or not cell.strip() or len(cell) > 1000 or "\0" in cell:
        return False
    try:
        return is_medium(cell) or find_file(cell, folder).suffix.lower() in (*SOUNDS, *PICTURES)
    except (ValueError, OSError):
        return False
