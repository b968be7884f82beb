"""Tables of a user's own: CSV, TSV and JSON Lines with named columns."""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.datasets.columns import ColumnNames, Columns, check_names
from regard.datasets.example import Example
from regard.datasets.text_files import form_of_text
from regard.errors import ArgumentError, DataError
from regard.inputs.lines import ErrorHandler, existing_file, raise_error, read_lines

__all__ = ["TABLES", "kind_of", "read_table", "suffix_of"]

TABLES = (".csv", ".tsv", ".jsonl")
"""How the name of a table ends, before .gz if it is packed."""


def suffix_of(path: Path) -> str:
    """How a file's name ends, in lower case; of a packed table, before .gz.

    Example:
        >>> suffix_of(Path("train.CSV.gz")), suffix_of(Path("train.npy"))
        ('.csv', '.npy')
    """
    suffix, inner = path.suffix.lower(), Path(path.stem).suffix.lower()
    return inner if suffix == ".gz" and inner in TABLES else suffix


def kind_of(path: Path) -> str:
    """How the names of files like this one end: that of a .txt that is there says nothing, so it is looked into.

    Raises:
        DataError: a .txt isn't text.

    Example:
        >>> kind_of(Path("train.CSV.gz"))
        '.csv'
    """
    suffix = suffix_of(path)
    form = form_of_text(path) if suffix == ".txt" and path.is_file() else None
    return suffix if form is None else form.suffix


def read_table(
    path: str | Path,
    columns: Columns | ColumnNames | None = None,
    *,
    on_error: ErrorHandler = raise_error,
) -> Iterator[Example[Any, Any]]:
    """The rows of a table as examples, one by one.

    A .csv has a header, commas and double quotes; a .tsv has a header, tabs, and no quotes: a quotation mark in it is a
    character. A .jsonl has an object a line. Blank lines are skipped. A text may be empty, nothing else may, except
    one of several labels: it is then None. A molecule must be one that RDKit reads.

    Args:
        path: the file; its name ends in .csv, .tsv or .jsonl (and .gz), or in .txt where its content is one of these
            (`form_of_text`); columns may then be divided by semicolons or bars, too.
        columns: which columns; by default those that `Columns.usual` finds, which also has what a mapping means.
        on_error: is told of each broken row, which is then left out; by default it is raise_error.

    Raises:
        ArgumentError: another kind of file.
        UnknownNameError, ArgumentError: columns that can't be used, as `check_names` says.
        DataError: a column that isn't there, or a broken row; names the file and the line.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     _ = file.write('review,stars\\n"clean, and cheap",4\\n')
        ...     file.flush()
        ...     list(read_table(file.name, Columns("review", "stars", gives="number")))
        [Example(source='clean, and cheap', target=4.0, group=None)]
    """
    path = existing_file(path)
    kind = kind_of(path)
    if kind not in TABLES:
        raise ArgumentError(f"`path` must end in {', '.join(TABLES)}, but is {path}.")
    form = form_of_text(path) if suffix_of(path) == ".txt" else None
    delimiter = "," if form is None else form.delimiter
    if columns is not None and not isinstance(columns, Columns):
        check_names(columns)
    line = 0
    for line, row in _objects(path, on_error) if kind == ".jsonl" else _rows(path, kind, delimiter, on_error):
        if not isinstance(columns, Columns):
            columns = Columns.usual(tuple(row), path, columns)
        try:
            example = columns.example(row, path.parent)
        except ValueError as error:
            said = str(error)
            wrong = DataError(said if said.endswith((".", "?")) else f"{said}.", path=path, line=line)
            # What the header of a table lacks, every row lacks.
            (raise_error if kind != ".jsonl" and not row.keys() >= set(columns.names) else on_error)(wrong)
            continue
        yield example
    if not line:
        on_error(DataError("it holds no examples.", path=path))


def _rows(path: Path, kind: str, delimiter: str, on_error: ErrorHandler) -> Iterator[tuple[int, dict[str, Any]]]:
    lines = (f"{text}\n" for _, text in read_lines(path))
    form: dict[str, Any] = (
        {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if kind == ".tsv" else {"delimiter": delimiter}
    )
    reader = csv.reader(lines, strict=True, **form)
    header: list[str] | None = None
    line = 1
    try:
        for row in reader:
            if header is None and row:
                header = row
                _check_divided(row, kind, path)
                twice = sorted(name for name, count in Counter(row).items() if count > 1)
                if twice:
                    raise DataError(f"two columns are called {twice[0]!r}.", path=path, line=line)
            elif header and row and len(row) != len(header):
                wrong = f"a row must have {len(header)} columns, as the header, but has {len(row)}."
                on_error(DataError(wrong, path=path, line=line))
            elif header and row:
                yield line, dict(zip(header, row, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        # A quote that is never closed swallows the rest of the file: where it was opened is what helps.
        raise DataError(f"the row that begins here isn't CSV ({error}).", path=path, line=line) from error
    if header is None:
        raise DataError("it is empty; its first line must name the columns.", path=path)


def _check_divided(header: list[str], kind: str, path: Path) -> None:
    """Spreadsheets of many countries write semicolons, and the whole line is then one name."""
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
