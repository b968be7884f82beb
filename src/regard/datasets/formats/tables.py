"""Reading a user's own tables: CSV, TSV and JSON Lines with named columns."""

import csv
import dataclasses
import json
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from regard.datasets.example import Example
from regard.datasets.formats.columns import HEADER, SOURCE_TYPES, ColumnNames, Columns, check_column_names, find_file
from regard.datasets.formats.header_errors import check_divided, explained
from regard.datasets.formats.headers import is_unlike_data, looks_like_names
from regard.datasets.formats.quotation_marks import warn_of_rows
from regard.datasets.formats.text_formats import detect_format
from regard.errors import ArgumentError, DataError, GuessedColumns
from regard.inputs.encodings import UTF8, encoding_of
from regard.inputs.lines import DECIMAL_COMMAS, ErrorHandler, existing_file, raise_error, read_decoded_lines, read_lines

__all__ = ["TABLES", "file_format", "file_suffix", "has_source_column", "read_sources", "read_table"]

TABLES = (".csv", ".tsv", ".jsonl")
"""The suffixes of tables, before .gz if it is compressed."""

_LINES = 200  # of a table, read to tell a header from data; a cell may hold several


def file_suffix(path: Path) -> str:
    """The suffix of a file in lower case; for a compressed table, the one before .gz.

    Example:
        >>> file_suffix(Path("train.CSV.gz")), file_suffix(Path("train.npy"))
        ('.csv', '.npy')
    """
    suffix, inner = path.suffix.lower(), Path(path.stem).suffix.lower()
    return inner if suffix == ".gz" and inner in TABLES else suffix


def file_format(path: Path, encoding: str | None = UTF8) -> str:
    """The format of a file, as a suffix: its own suffix; for an existing .txt or .conll file, that of its content.

    Args:
        path: the file.
        encoding: its encoding, as Python calls it; None: it is found by its content.

    Raises:
        DataError: a .txt or .conll file isn't text.

    Example:
        >>> file_format(Path("train.CSV.gz"))
        '.csv'
    """
    suffix = file_suffix(path)
    if suffix not in (".txt", ".conll") or not path.is_file():
        return suffix
    form = detect_format(path, encoding_of(path) if encoding is None else encoding)
    # Words in columns may look like a table.
    known = form is not None and (suffix == ".txt" or form.suffix in (".conllu", ".tagged"))
    return form.suffix if form is not None and known else suffix


def read_table(
    path: str | Path,
    columns: Columns | ColumnNames | None = None,
    *,
    encoding: str = UTF8,
    on_error: ErrorHandler = raise_error,
) -> Iterator[Example[Any, Any]]:
    """The rows of a table as examples, one by one.

    A .csv file has a header, commas and double quotes; a .tsv file has a header, tabs, and no quoting: a quotation mark
    is an ordinary character. Columns without a name are skipped. A .jsonl file has an object in each line. Blank lines
    are skipped. Only a target that is a text may be empty, and single ones of several labels, which are then None.
    Molecules must be valid for RDKit. A file that isn't there is looked for in the folders beside the table, and in the
    one above it, and its name may lack the suffix of sounds and pictures.

    Args:
        path: the file; its suffix is .csv, .tsv or .jsonl (and .gz), or .txt if its content has one of these formats
            (`detect_format`), in which case columns may also be separated by semicolons or bars.
        columns: the columns, or the names of columns as in `Columns.from_header`; by default those with standard names.
            If the first line doesn't name the columns, {"header": [...]} names them, in order.
        encoding: the encoding of the file, as Python calls it.
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
    kind = file_format(path, encoding)
    if kind not in TABLES:
        raise ArgumentError(f"`path` must end in {', '.join(TABLES)}, but is {path}.")
    form = detect_format(path, encoding) if file_suffix(path) == ".txt" else None
    table = _Table(path, kind, "," if form is None else form.delimiter, encoding)
    header, targets = None, {}
    if columns is not None and not isinstance(columns, Columns):
        check_column_names(columns)
        header = columns.get(HEADER)
        targets = {str(columns.get(name, name)): name == "number" for name in ("label", "number")}
        if header is not None and kind == ".jsonl":
            raise ArgumentError(f"`columns` must have no {HEADER!r} for JSON Lines, whose objects name their values.")
    line = 0
    for line, row in _objects(table, on_error) if kind == ".jsonl" else _rows(table, header, targets, on_error):
        if not isinstance(columns, Columns):
            try:
                columns = Columns.from_header(tuple(row), path, columns)
            except DataError as error:
                raise (_explained(error, row, table) if header is None else error) from error
            columns = dataclasses.replace(columns, decimal_commas=table.form["delimiter"] in DECIMAL_COMMAS)
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


def has_source_column(path: str | Path, *, encoding: str = UTF8) -> bool:
    """Whether the first line of a table names a source by its standard name: text, path or smiles."""
    table = _Table(existing_file(path), file_suffix(Path(path)), ",", encoding)
    try:
        rows = (row for _, row in (_objects if table.kind == ".jsonl" else _headed)(table, raise_error))
        return len({name.strip() for name in next(rows, ())} & {*SOURCE_TYPES}) == 1
    except DataError:
        return False


def read_sources(
    path: str | Path,
    columns: ColumnNames | None = None,
    *,
    encoding: str = UTF8,
    on_error: ErrorHandler = raise_error,
) -> Iterator[tuple[int, str]]:
    """The sources in a table, which needs no targets, each with its line; empty ones are skipped.

    Args:
        path: the file; its suffix is .csv, .tsv or .jsonl (and .gz).
        columns: the names of columns, as in `read_table`; those of targets may be left out.
        encoding: the encoding of the file, as Python calls it.
        on_error: called for each broken row, which is then skipped.

    Raises:
        ArgumentError: another kind of file.
        DataError: no column is the source, or a broken row; names the file and the line.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     _ = file.write('stars,review\\n4,"clean, and cheap"\\n')
        ...     file.flush()
        ...     list(read_sources(file.name, {"text": "review"}))
        [(2, 'clean, and cheap')]
    """
    path = existing_file(path)
    kind = file_suffix(path)
    if kind not in TABLES:
        raise ArgumentError(f"`path` must end in {', '.join(TABLES)} to have columns, but is {path}.")
    columns = columns or {}
    table = _Table(path, kind, ",", encoding)
    header, named = columns.get(HEADER), {name: str(column) for name, column in columns.items() if name in SOURCE_TYPES}
    targets = {str(columns.get(name, name)): name == "number" for name in ("label", "number")}
    rows = _objects(table, on_error) if kind == ".jsonl" else _rows(table, header, targets, on_error)
    for line, row in rows:
        if not named:
            named = {name: name for name in SOURCE_TYPES if name in row}
        source, column = next(iter(named.items()), ("", ""))
        if len(named) != 1 or column not in row:
            what = f"has no column {column!r:.60}, but" if named else "has the columns"
            raise DataError(
                f"it {what} {', '.join(row):.200}. Name the one with the sources: --column text=NAME or path=NAME or "
                "smiles=NAME.",
                path=path,
                line=1,
            )
        try:
            text = str(row[column]).strip()
            if text:
                yield line, str(find_file(text, path.parent)) if source == "path" else text
        except ValueError as error:
            on_error(DataError(f"{error}.", path=path, line=line))


class _Table(NamedTuple):
    """A table, and how it is written."""

    path: Path
    kind: str
    delimiter: str
    encoding: str

    @property
    def form(self) -> dict[str, Any]:
        """The arguments of `csv.reader`."""
        if self.kind == ".tsv":
            return {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
        return {"delimiter": self.delimiter}


def _rows(
    table: _Table, names: str | Sequence[str] | None, targets: Mapping[str, bool], on_error: ErrorHandler
) -> Iterator[tuple[int, dict[str, Any]]]:
    path = table.path
    wrong_lines: list[DataError] = []

    def lines() -> Iterator[str]:
        for _, text, wrong in read_decoded_lines(path, encoding=table.encoding):
            if wrong is not None:
                wrong_lines.append(wrong)
            yield f"{text}\n"

    reader = csv.reader(lines(), strict=True, **table.form)
    header: list[str] | None = None
    source = "the header" if names is None else "--columns names"
    line = 1
    told = False
    try:
        for row in reader:
            told = told or warn_of_rows(row, table.delimiter, path, line)
            if wrong_lines:
                # A header that isn't UTF-8 may lack the name of a column, so it can't be skipped.
                for wrong in wrong_lines:
                    (raise_error if header is None and names is None else on_error)(wrong)
                wrong_lines.clear()
            elif header is None and row and names is not None:
                header = _check_named(row, list(names), table, line)
                # The table may have a header all the same.
                other = _named(header, map(str.strip, row)) != _named(header, header)
                if other and _is_header(row, header, targets, table):
                    warnings.warn(
                        f"{path}: the first line ({', '.join(row):.60}) seems to name the columns, and isn't read. If "
                        "it is data, put another line before it.",
                        GuessedColumns,
                        stacklevel=2,
                    )
                elif other:
                    yield line, _named(header, row)
            elif header is None and row:
                header = [name.strip() for name in row]
                check_divided(row, table.kind, path)
                twice = sorted(name for name, count in Counter(header).items() if count > 1 and name)
                if twice:
                    wrong = DataError(f"two columns are called {twice[0]!r:.60}.", path=path, line=line)
                    raise _explained(wrong, dict.fromkeys(header), table)
            elif header and row and len(row) != len(header):
                problem = f"a row must have {len(header)} columns, as {source}, but has {len(row)}."
                on_error(DataError(problem, path=path, line=line))
            elif header and row:
                yield line, _named(header, row)
            line = reader.line_num + 1
    except csv.Error as error:
        for wrong in wrong_lines:
            on_error(wrong)
        if "new-line character" in str(error):
            wrong = "a carriage return alone doesn't end a line. Save the table with the line ends of Windows or Unix."
            raise DataError(wrong, path=path, line=line) from error
        # An unclosed quote extends to the end of the file, so the line where it was opened is reported.
        unclosed = "a quotation mark in the row that begins here is never closed. Close or remove it."
        wrong = unclosed if "end of data" in str(error) else f"the row that begins here isn't CSV ({error})."
        raise DataError(wrong, path=path, line=line) from error
    if header is None:
        empty = "it is empty." if names is not None else "it is empty; its first line must name the columns."
        raise DataError(empty, path=path)


def _is_header(row: list[str], names: list[str], targets: Mapping[str, bool], table: _Table) -> bool:
    """Whether the first row of a table whose columns are named is a header with other names.

    Args:
        row: the row.
        names: the names of the columns.
        targets: the names of columns with labels or numbers, and whether they are numbers.
        table: the table, which is read to its end only if the row looks like names.
    """
    places = [(names.index(name), numbers) for name, numbers in targets.items() if name in names]
    if not places or not looks_like_names(row, names):
        return False
    others: list[list[str]] = []
    lines = (f"{text}\n" for _, text, _ in read_decoded_lines(table.path, encoding=table.encoding))
    with suppress(csv.Error):
        others.extend(each for each in csv.reader(lines, strict=True, **table.form) if len(each) == len(names))
    cells = [[each[place] for each in others[1:]] for place in range(len(names))]
    if any(name and cell in column for name, cell, column in zip(names, row, cells, strict=True)):
        return False
    return all(is_unlike_data(row[place], cells[place], numbers=numbers) for place, numbers in places)


def _named(header: Sequence[str], row: Iterable[str]) -> dict[str, Any]:
    return {name: cell for name, cell in zip(header, row, strict=True) if name}


def _headed(table: _Table, on_error: ErrorHandler) -> Iterator[tuple[int, list[str]]]:
    """The first row, which is the header."""
    lines = (f"{text}\n" for _, text in read_lines(table.path, on_error, encoding=table.encoding))
    with suppress(csv.Error):
        yield from enumerate((row for row in csv.reader(lines, strict=True, **table.form) if row), start=1)


def _check_named(row: list[str], names: list[str], table: _Table, line: int) -> list[str]:
    """The names of all columns, after checking that they are as many as the columns of the first row, in its order."""
    if len(row) != len(names):
        check_divided(row, table.kind, table.path)
        raise DataError(
            f"--columns must name every column, but names {len(names)} of {len(row)}. Leave the name of a "
            "column empty that isn't read, as in text,,label.",
            path=table.path,
            line=line,
        )
    cells = [cell.strip() for cell in row]
    if any(name and name != cell for name, cell in zip(names, cells, strict=True)) and {*names} - {""} <= {*cells}:
        raise DataError(
            f"the first line names the columns itself ({', '.join(cells):.200}), in another order than --columns. "
            "Leave --columns out.",
            path=table.path,
            line=line,
        )
    return names


def _explained(error: DataError, row: Mapping[str, Any], table: _Table) -> DataError:
    if table.kind == ".jsonl":
        return error
    lines = islice(read_decoded_lines(table.path, encoding=table.encoding), _LINES)
    return explained(error, row, [text for _, text, _ in lines], table.form)


def _objects(table: _Table, on_error: ErrorHandler) -> Iterator[tuple[int, dict[str, Any]]]:
    path = table.path
    for line, text in read_lines(path, on_error, encoding=table.encoding):
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
