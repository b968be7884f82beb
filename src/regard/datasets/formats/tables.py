"""Reading a user's own tables: CSV, TSV and JSON Lines with named columns."""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.datasets.example import Example
from regard.datasets.formats.columns import ColumnNames, Columns, check_column_names
from regard.datasets.formats.text_formats import detect_format
from regard.errors import ArgumentError, DataError
from regard.inputs.lines import ErrorHandler, existing_file, raise_error, read_decoded_lines, read_lines

__all__ = ["TABLES", "file_format", "file_suffix", "read_table"]

TABLES = (".csv", ".tsv", ".jsonl")
"""The suffixes of tables, before .gz if it is compressed."""


def file_suffix(path: Path) -> str:
    """The suffix of a file in lower case; for a compressed table, the one before .gz.

    Example:
        >>> file_suffix(Path("train.CSV.gz")), file_suffix(Path("train.npy"))
        ('.csv', '.npy')
    """
    suffix, inner = path.suffix.lower(), Path(path.stem).suffix.lower()
    return inner if suffix == ".gz" and inner in TABLES else suffix


def file_format(path: Path) -> str:
    """The format of a file, as a suffix: its own suffix; for an existing .txt file, that of the format of its content.

    Raises:
        DataError: a .txt file isn't text.

    Example:
        >>> file_format(Path("train.CSV.gz"))
        '.csv'
    """
    suffix = file_suffix(path)
    form = detect_format(path) if suffix == ".txt" and path.is_file() else None
    return suffix if form is None else form.suffix


def read_table(
    path: str | Path,
    columns: Columns | ColumnNames | None = None,
    *,
    on_error: ErrorHandler = raise_error,
) -> Iterator[Example[Any, Any]]:
    """The rows of a table as examples, one by one.

    A .csv file has a header, commas and double quotes; a .tsv file has a header, tabs, and no quoting: a quotation mark
    is an ordinary character. A .jsonl file has an object in each line. Blank lines are skipped. Only texts may be
    empty, and single ones of several labels, which are then None. Molecules must be valid for RDKit.

    Args:
        path: the file; its suffix is .csv, .tsv or .jsonl (and .gz), or .txt if its content has one of these formats
            (`detect_format`), in which case columns may also be separated by semicolons or bars.
        columns: the columns, or the names of columns as in `Columns.from_header`; by default those with standard names.
        on_error: called for each broken row, which is then skipped; by default it raises the error.

    Raises:
        ArgumentError: another kind of file.
        UnknownNameError, ArgumentError: invalid columns; see `check_column_names`.
        DataError: a column that doesn't exist, or a broken row; names the file and the line.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     _ = file.write('review,stars\\n"clean, and cheap",4\\n')
        ...     file.flush()
        ...     list(read_table(file.name, Columns("review", "stars", target_type="number")))
        [Example(source='clean, and cheap', target=4.0, group=None)]
    """
    path = existing_file(path)
    kind = file_format(path)
    if kind not in TABLES:
        raise ArgumentError(f"`path` must end in {', '.join(TABLES)}, but is {path}.")
    form = detect_format(path) if file_suffix(path) == ".txt" else None
    delimiter = "," if form is None else form.delimiter
    if columns is not None and not isinstance(columns, Columns):
        check_column_names(columns)
    line = 0
    for line, row in _objects(path, on_error) if kind == ".jsonl" else _rows(path, kind, delimiter, on_error):
        if not isinstance(columns, Columns):
            columns = Columns.from_header(tuple(row), path, columns)
        try:
            example = columns.example(row, path.parent)
        except ValueError as error:
            reason = str(error)
            wrong = DataError(reason if reason.endswith((".", "?")) else f"{reason}.", path=path, line=line)
            # A column that is missing in the header is missing in every row, so it is always raised.
            (raise_error if kind != ".jsonl" and not row.keys() >= set(columns.names) else on_error)(wrong)
            continue
        yield example
    if not line:
        on_error(DataError("it holds no examples.", path=path))


def _rows(path: Path, kind: str, delimiter: str, on_error: ErrorHandler) -> Iterator[tuple[int, dict[str, Any]]]:
    form: dict[str, Any] = (
        {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if kind == ".tsv" else {"delimiter": delimiter}
    )
    wrong_lines: list[DataError] = []

    def lines() -> Iterator[str]:
        for _, text, wrong in read_decoded_lines(path):
            if wrong is not None:
                wrong_lines.append(wrong)
            yield f"{text}\n"

    reader = csv.reader(lines(), strict=True, **form)
    header: list[str] | None = None
    line = 1
    try:
        for row in reader:
            if wrong_lines:
                # A header that isn't UTF-8 may lack the name of a column, so it can't be skipped.
                for wrong in wrong_lines:
                    (raise_error if header is None else on_error)(wrong)
                wrong_lines.clear()
            elif header is None and row:
                header = row
                _check_divided(row, kind, path)
                twice = sorted(name for name, count in Counter(row).items() if count > 1)
                if twice:
                    raise DataError(f"two columns are called {twice[0]!r:.60}.", path=path, line=line)
            elif header and row and len(row) != len(header):
                problem = f"a row must have {len(header)} columns, as the header, but has {len(row)}."
                on_error(DataError(problem, path=path, line=line))
            elif header and row:
                yield line, dict(zip(header, row, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        for wrong in wrong_lines:
            on_error(wrong)
        # An unclosed quote extends to the end of the file, so the line where it was opened is reported.
        raise DataError(f"the row that begins here isn't CSV ({error}).", path=path, line=line) from error
    if header is None:
        raise DataError("it is empty; its first line must name the columns.", path=path)


def _check_divided(header: list[str], kind: str, path: Path) -> None:
    """Check the separator: spreadsheets of many countries write semicolons, and then the header is one name."""
    wanted = "tabs" if kind == ".tsv" else "commas"
    for mark, called in {";": "semicolons", "\t": "tabs", ",": "commas", "|": "bars"}.items():
        if len(header) == 1 and mark in header[0] and called != wanted:
            fitting = {"tabs": ", or call it .tsv", "commas": ", or call it .csv"}.get(called, "")
            raise DataError(
                f"columns must be divided by {wanted} in a {kind} file, but seem to be by {called}. "
                f"Save the table with {wanted}{fitting}.",
                path=path,
                line=1,
            )


def _objects(path: Path, on_error: ErrorHandler) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, text in read_lines(path, on_error):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:
            on_error(DataError(f"it isn't JSON ({str(error)[:80]}).", path=path, line=line))
            continue
        if isinstance(row, dict):
            yield line, row
        else:
            on_error(DataError(f"a line must be a JSON object, but is {text:.40}.", path=path, line=line))
