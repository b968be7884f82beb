"""Reading tables of series: one in each row, as spreadsheets and the UCR archive have them, or one in several rows."""

import csv
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.datasets.example import Example
from regard.datasets.formats.columns import ColumnNames, checked_label
from regard.datasets.formats.series_layout import SeriesLayout, find_series, is_missing
from regard.datasets.formats.tables import file_format, file_suffix
from regard.datasets.formats.text_formats import detect_format
from regard.errors import DataError, GuessedColumns
from regard.inputs.encodings import UTF8
from regard.inputs.lines import (
    DECIMAL_COMMAS,
    ErrorHandler,
    parse_number,
    raise_error,
    read_decoded_lines,
    with_point,
)

__all__ = ["SeriesTable", "find_series_table"]

_LINES = 50  # of a table, by which its layout is found
_LARGEST = torch.finfo(torch.float32).max
_DELIMITERS = {".tsv": "\t", ".csv": ",;"}


@dataclass(frozen=True)
class SeriesTable:
    """A table of series.

    Args:
        path: the file.
        delimiter: what divides its cells.
        encoding: its encoding, as Python calls it.
        layout: where the series and the labels stand.
    """

    path: Path
    delimiter: str
    encoding: str
    layout: SeriesLayout

    def examples(self, on_error: ErrorHandler = raise_error) -> Iterator[Example[Tensor, Any]]:
        """The series (item, width) with their labels.

        Args:
            on_error: called for each broken row, which is then skipped.
        """
        for _, values, label in self._rows(on_error) if self.layout.series is None else self._joined(on_error):
            yield Example(torch.tensor(values, dtype=torch.float32, device="cpu"), label)

    def named(self) -> Iterator[tuple[str, Tensor]]:
        """The series (item, width) with their names, or the numbers of their lines."""
        for name, values, _ in self._rows(raise_error) if self.layout.series is None else self._joined(raise_error):
            yield name, torch.tensor(values, dtype=torch.float32, device="cpu")

    def tell(self) -> None:
        """Warn how the table is read, which was found by its content."""
        warnings.warn(f"{self.path}: {self.layout.describe()}", GuessedColumns, stacklevel=2)

    def unlabelled(self) -> DataError:
        """The error for a table in which no column is that of the labels."""
        return DataError(
            f"its rows seem to be series of {len(self.layout.numbers)} numbers, but which column has their labels "
            "can't be told. Call it `label` in the first line, or name it: --column label=NAME; from Python: "
            "columns={'label': 'NAME'}.",
            path=self.path,
        )

    def _lines(self, on_error: ErrorHandler) -> Iterator[tuple[int, list[str]]]:
        """The rows of data with their lines."""
        skip, width = bool(self.layout.names), None
        for line, row in _rows(self.path, self.delimiter, self.encoding, on_error):
            width = len(row) if width is None else width
            if skip:
                skip = False
            elif len(row) != width:
                wrong = f"a row must have {width} columns, as the first one, but has {len(row)}."
                on_error(DataError(wrong, path=self.path, line=line))
            else:
                yield line, row

    def _rows(self, on_error: ErrorHandler) -> Iterator[tuple[str, list[list[float]], Any]]:
        for line, row in self._lines(on_error):
            cells = [(place, row[place].strip()) for place in self.layout.numbers]
            # Short series are filled up behind their ends.
            while cells and is_missing(cells[-1][1]):
                cells.pop()
            try:
                if not cells:
                    raise ValueError("the row has no numbers")
                yield f"line {line}", [[self._number(cell, place)] for place, cell in cells], self._target(row)
            except ValueError as error:
                on_error(DataError(f"{str(error).removesuffix('.')}.", path=self.path, line=line))

    def _joined(self, on_error: ErrorHandler) -> Iterator[tuple[str, list[list[float]], Any]]:
        series: dict[str, list[list[float]]] = {}
        targets: dict[str, Any] = {}
        for line, row in self._lines(on_error):
            name = row[self.layout.series or 0].strip()
            try:
                vector = [self._number(row[place].strip(), place) for place in self.layout.numbers]
                target = self._target(row)
                if targets.setdefault(name, target) != target:
                    raise ValueError(
                        f"the series {name!r:.60} has the label {targets[name]!r:.60}, but here {target!r:.60}"
                    )
            except ValueError as error:
                on_error(DataError(f"{str(error).removesuffix('.')}.", path=self.path, line=line))
                continue
            series.setdefault(name, []).append(vector)
        for name, vectors in series.items():
            yield name, vectors, targets[name]

    def _number(self, cell: str, place: int) -> float:
        number = _parsed(cell, self.delimiter)
        if number is None or abs(number) > _LARGEST:
            hint = ". Missing values aren't supported: fill them" if is_missing(cell) else ""
            raise ValueError(
                f"{self.layout.name(place)} must be a number that float32 can hold, but is {cell!r:.40}{hint}"
            )
        return number

    def _target(self, row: list[str]) -> Any:
        if self.layout.label is None:
            return None
        cell = checked_label(row[self.layout.label], self.layout.name(self.layout.label))
        if self.layout.is_number:
            return self._number(cell, self.layout.label)
        # The UCR archive writes class 1 as 1 or as 1.0000000e+00.
        number = _parsed(cell, self.delimiter)
        return cell if number is None or number != round(number) else str(round(number))


def find_series_table(
    path: Path, columns: ColumnNames | None = None, *, encoding: str = UTF8, labelled: bool = True
) -> SeriesTable | None:
    """The table of series in a file; None if the file is something else.

    Args:
        path: the file.
        columns: the name of the label's column, as in `Columns.from_header`.
        encoding: the encoding of the file, as Python calls it.
        labelled: whether there must be a label; else every row is taken for a series that has numbers alone.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     _ = file.write("slow,1,2,3\\nfast,4,2,5\\nslow,1,2,\\n")
        ...     file.flush()
        ...     table = find_series_table(Path(file.name))
        ...     [(example.source.flatten().tolist(), example.target) for example in table.examples()]
        [([1.0, 2.0, 3.0], 'slow'), ([4.0, 2.0, 5.0], 'fast'), ([1.0, 2.0], 'slow')]
    """
    if (kind := file_format(path, encoding)) not in _DELIMITERS:
        return None
    form = detect_format(path, encoding) if file_suffix(path) == ".txt" else None
    for delimiter in _DELIMITERS[kind] if form is None else form.delimiter:
        rows: list[list[str]] = []
        # What is broken is reported when the rows are read; a cell in quotes may go on behind these lines.
        with suppress(csv.Error):
            rows.extend(row for _, row in islice(_rows(path, delimiter, encoding, lambda _: None), _LINES))
        if delimiter in DECIMAL_COMMAS:
            rows = [[with_point(cell) for cell in row] for row in rows]
        layout = find_series(rows, columns, labelled=labelled)
        if layout is not None:
            return SeriesTable(path, delimiter, encoding, layout)
    return None


def _rows(path: Path, delimiter: str, encoding: str, on_error: ErrorHandler) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line that isn't blank."""
    for line, text, wrong in read_decoded_lines(path, encoding=encoding):
        if wrong is not None:
            on_error(wrong)
        elif text.strip():
            # Columns of numbers may be aligned by several spaces.
            yield line, next(csv.reader([text.strip(" ")], delimiter=delimiter, skipinitialspace=delimiter == " "))


def _parsed(cell: str, delimiter: str) -> float | None:
    return parse_number(with_point(cell) if delimiter in DECIMAL_COMMAS else cell)
