"""Reading time series from the .ts files of sktime and aeon."""

from collections.abc import Iterator
from pathlib import Path

import torch

from regard.errors import DataError, UnknownNameError
from regard.inputs.lines import parse_number, read_lines
from regard.inputs.vector_sequences import VectorSequences

__all__ = ["read_time_series"]

_KEYS = (
    "problemname",
    "timestamps",
    "missing",
    "univariate",
    "dimension",
    "dimensions",
    "equallength",
    "serieslength",
    "classlabel",
    "targetlabel",
    "data",
)
_LARGEST = torch.finfo(torch.float32).max


def read_time_series(path: str | Path) -> VectorSequences:
    """Read the series of a .ts file: an item for each point in time, a column for each dimension.

    A line is a series: its dimensions are separated by ":", the values of a dimension by ",", and its label follows the
    last ":". The series are checked against the header (dimensions, equal lengths, class names). Missing values ("?")
    and time stamps are refused.

    Args:
        path: the file.

    Raises:
        DataError: a broken line, or one that contradicts the header; names the file and the line.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".ts") as file:
        ...     _ = file.write("@dimensions 2\\n@classLabel true yes no\\n@data\\n1,2,3:4,5,6:yes\\n7:8:no\\n")
        ...     file.flush()
        ...     read = read_time_series(file.name)
        >>> read.labels, [series.tolist() for series in read.sequences]
        (('yes', 'no'), [[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]], [[7.0, 8.0]]])

    Source: the format as the UEA & UCR archive uses it, timeseriesclassification.com.
    """
    lines = ((number, line.strip()) for number, line in read_lines(path))
    header = _Header(path, ((number, line) for number, line in lines if line and not line.startswith("#")))
    series, labels = [], []
    for number, line in header.lines:
        values, label = header.series(number, line)
        series.append(torch.tensor(values, device="cpu").T.contiguous())
        labels.append(label)
    if not series:
        raise DataError("it holds no series behind @data.", path=path)
    names = tuple(str(number) for number in range(len(series)))
    return VectorSequences(tuple(series), names, tuple(labels) if header.labelled else None)


class _Header:
    """The header of a file, and the lines after it, which are parsed accordingly."""

    def __init__(self, path: str | Path, lines: Iterator[tuple[int, str]]):
        self.path, self.lines = path, lines
        given: dict[str, list[str]] = {}
        number = 1
        for number, line in lines:
            key, *values = line.split()
            name = key.removeprefix("@").lower()
            if not key.startswith("@"):
                raise self._wrong(number, "data must stand behind a line @data")
            if name not in _KEYS:
                raise DataError(str(UnknownNameError("key", name, _KEYS)), path=path, line=number)
            if name in given:
                raise self._wrong(number, f"{key} stands twice")
            if name not in ("problemname", "data") and not values:
                raise self._wrong(number, f"{key} must have a value")
            given[name] = values
            if name in ("timestamps", "univariate", "equallength", "classlabel", "targetlabel"):
                self._flag(number, key, values)
            if name in ("dimension", "dimensions", "serieslength"):
                self._count(number, key, values)
            if name == "data":
                break
        if "data" not in given:
            raise self._wrong(number, "the file must have a line @data, with the series behind it")

        def flag(name: str) -> bool:
            return given.get(name, ["false"])[0].lower() == "true"

        if flag("timestamps"):
            raise self._wrong(number, "series with time stamps aren't read; save them without")
        self.classes = given["classlabel"][1:] if flag("classlabel") else []
        self.targets = flag("targetlabel")
        self.labelled = flag("classlabel") or self.targets
        if flag("classlabel") and self.targets:
            raise self._wrong(number, "a file has class labels or target labels, not both")
        if flag("classlabel") and not self.classes:
            raise self._wrong(number, "@classLabel true must name the classes")
        dimensions = given.get("dimensions") or given.get("dimension") or (["1"] if flag("univariate") else None)
        self.dimensions = int(dimensions[0]) if dimensions else None
        self.equal, self.length = flag("equallength"), None
        if self.equal and "serieslength" in given:
            self.length = int(given["serieslength"][0])

    def series(self, number: int, line: str) -> tuple[list[list[float]], str | float]:
        """The values of each dimension, and the label."""
        parts = [part.strip() for part in line.split(":")]
        label: str | float = parts.pop().strip() if self.labelled else ""
        if self.dimensions is None:
            self.dimensions = len(parts)
        if len(parts) != self.dimensions or not parts:
            raise self._wrong(
                number,
                f"a series must have {self.dimensions} dimensions{' and a label' if self.labelled else ''}, each set "
                f"off by a colon, but has {len(parts)} dimensions",
            )
        values = [[self._number(number, text.strip()) for text in part.split(",")] for part in parts]
        if self.equal and self.length is None:
            self.length = len(values[0])
        for dimension, row in enumerate(values):
            length = self.length or len(values[0])
            if len(row) != length:
                raise self._wrong(
                    number, f"dimension {dimension + 1} must have {length} values, as the others, but has {len(row)}"
                )
        if self.classes and label not in self.classes:
            raise self._wrong(number, f"the label must be one of {', '.join(self.classes)}, but is {label!r:.60}")
        return values, self._number(number, str(label)) if self.targets else label

    def _number(self, number: int, text: str) -> float:
        value = parse_number(text)
        if value is None or abs(value) > _LARGEST:
            hint = ". Missing values aren't supported: fill them" if text in ("?", "NaN", "nan") else ""
            raise self._wrong(number, f"a value must be a number that float32 can hold, but is {text!r:.60}{hint}")
        return value

    def _flag(self, number: int, key: str, values: list[str]) -> None:
        if values[0].lower() not in ("true", "false"):
            raise self._wrong(number, f"{key} must be true or false, but is {values[0]!r:.60}")

    def _count(self, number: int, key: str, values: list[str]) -> None:
        if not values[0].isdecimal() or not int(values[0][:9]) > 0 or len(values[0]) > 9:
            raise self._wrong(number, f"{key} must be an integer above 0, but is {values[0]!r:.60}")

    def _wrong(self, number: int, what: str) -> DataError:
        return DataError(f"{what}.", path=self.path, line=number)
