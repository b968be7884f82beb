"""Finding the series in a table of numbers: one in each row, or in the rows with the same name."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from regard.datasets.formats.columns import HEADER, SOURCE_TYPES, ColumnNames
from regard.datasets.formats.headers import is_medium
from regard.inputs.lines import parse_number

__all__ = ["SeriesLayout", "find_series", "is_missing"]

_LABELS = ("label", "class", "target", "number", "category")
_SERIES = ("sequence", "series", "series_id")
_TIMES = ("time", "timestamp", "date", "step", "t", "index")
_UNREAD = ("", "id", "index", "name", "unnamed: 0")
_MISSING = ("", "nan", "na", "?")
# Fewer numbers than these aren't taken for a series; beside other words, such as titles, many must speak for it.
_FEWEST, _FEWEST_BESIDE = 3, 8
_LONGEST_LABEL, _MOST_WORDS = 60, 4


@dataclass(frozen=True)
class SeriesLayout:
    """Where the series and the labels of a table stand.

    Args:
        names: the names of the columns; () if the first row is data.
        numbers: the places of the columns with numbers: in one row the values of a series in their order, or, if
            `series` is given, the values at one time.
        label: the place of the column with the labels; None without labels.
        is_number: whether the targets are numbers.
        series: the place of the column that names the series of each row; None: each row is one.
        unread: the places of the columns that aren't read.
    """

    names: tuple[str, ...]
    numbers: tuple[int, ...]
    label: int | None
    is_number: bool = False
    series: int | None = None
    unread: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        """The size of a vector of a series."""
        return 1 if self.series is None else len(self.numbers)

    def name(self, place: int) -> str:
        """The name of a column, or its number from 1."""
        return f"column {place + 1}" if not self.names else f"the column {self.names[place]!r:.60}"

    def describe(self) -> str:
        """How the table is read, in sentences.

        Example:
            >>> SeriesLayout(("t0", "t1", "t2", "class"), (0, 1, 2), 3).describe()
            "Each row is read as a series of 3 numbers, with its label in the column 'class'."
        """
        target = "number" if self.is_number else "label"
        labelled = "" if self.label is None else f", with its {target} in {self.name(self.label)}"
        if self.series is None:
            said = f"Each row is read as a series of {len(self.numbers)} numbers{labelled}."
        else:
            of = f"a series of vectors of {len(self.numbers)}" if self.width > 1 else "a series"
            said = f"The rows with the same name in {self.name(self.series)} are read as {of}{labelled}."
        if self.unread:
            unread = " and ".join(map(self.name, self.unread))
            said += f" {unread[0].upper()}{unread[1:]} {'isn' if len(self.unread) == 1 else 'aren'}'t read."
        # Columns of a series are counted, in their names or because they have none.
        named = [self.names[place] for place in self.numbers] if self.names and self.series is None else []
        if named and not any(character.isdigit() for name in named for character in name):
            said += (
                " If the order of the columns means nothing, these are no series, and a model of features fits better."
            )
        return said


def find_series(
    rows: Sequence[Sequence[str]], columns: ColumnNames | None = None, *, labelled: bool = True
) -> SeriesLayout | None:
    """The layout of a table of series; None if it isn't one.

    Args:
        rows: the first rows of the table.
        columns: the names of the label's column, as in `Columns.from_header`.
        labelled: whether there must be a label; else there may be one, but no other words.

    Example:
        >>> find_series([["slow", "1", "2", "3"], ["fast", "1", "3", "1"], ["slow", "2", "2.5", "3"]]).label
        0
        >>> find_series([["review", "stars"], ["It was dirty", "1"]]) is None
        True
    """
    columns = columns or {}
    # A series to predict for may be the only one.
    first, *others = [*rows] * (2 if len(rows) == 1 and not labelled else 1) or [[]]
    lowered = [cell.strip().lower() for cell in first]
    others = [row for row in others if len(row) == len(first)]
    if not others or {HEADER, "labels", "sound", *SOURCE_TYPES} & {*columns} or {*SOURCE_TYPES} & {*lowered}:
        return None
    if "target" in columns or 2 * len(others) < len(rows) - 1:
        return None
    cells = [[row[place].strip() for row in others] for place in range(len(first))]
    full = [place for place, column in enumerate(cells) if any(column)]
    # A broken cell is reported when the rows are read.
    numbers = [place for place in full if 2 * sum(map(_is_number, cells[place])) > len(cells[place])]
    words = [place for place in full if place not in numbers]
    headed = _is_header(first, cells, numbers, words)
    names = tuple(name.strip() for name in first) if headed else ()
    if not headed:
        cells = [[first[place].strip(), *column] for place, column in enumerate(cells)]
        lowered = [""] * len(first)
    given = next((column for name, column in columns.items() if name in ("label", "number")), None)
    if given is not None and given not in names:
        return None
    chosen = [names.index(str(given))] if given is not None else [i for i in full if lowered[i] in _LABELS]
    # Beside words, y is more often the second of x, y and z.
    chosen = chosen or [place for place in full if lowered[place] == "y" and not words]
    # A patient's id may also stand beside each of several series.
    known = (*_SERIES, "id") if {*_TIMES} & {*lowered} else _SERIES
    series = next((place for place in full if lowered[place] in known and _repeats(cells[place])), None)
    label = chosen[0] if len(chosen) == 1 else _label(cells, [i for i in words if i != series], numbers)
    if label is None and labelled:
        return None
    unread = [place for place in words if place not in (label, series)]
    if series is not None:
        unread += [i for i in numbers if lowered[i] in _TIMES and i not in (label, series)]
    elif headed:
        unread += [place for place in numbers if lowered[place] in _UNREAD and place != label]
    numbers = [place for place in numbers if place not in (label, series, *unread)]
    if any(" " in cell or is_medium(cell) for i in unread if lowered[i] not in _TIMES for cell in cells[i]):
        return None
    fewest = 1 if series is not None else _FEWEST_BESIDE if {*unread} & {*words} else _FEWEST
    if len(numbers) < fewest or (label is None and {*unread} & {*words}):
        return None
    number = "number" in columns
    if given is None and label is not None:
        number = lowered[label] == "number" or (lowered[label] in ("target", "y") and _are_fractions(cells[label]))
    return SeriesLayout(names, tuple(numbers), label, number, series, tuple(sorted(unread)))


def is_missing(cell: str) -> bool:
    """Whether a cell holds no number, as behind the end of a short series."""
    return cell.strip().lower() in _MISSING


def _is_number(cell: str) -> bool:
    return is_missing(cell) or parse_number(cell) is not None


def _is_integer(cell: str) -> bool:
    number = parse_number(cell)
    return number is not None and math.isfinite(number) and number == round(number)


def _are_fractions(cells: Sequence[str]) -> bool:
    return all(parse_number(cell) is not None for cell in cells) and not all(map(_is_integer, cells))


def _is_header(
    first: Sequence[str], cells: Sequence[Sequence[str]], numbers: Sequence[int], words: Sequence[int]
) -> bool:
    """Whether the first row names the columns: a word above numbers, a usual name, or the numbers of the columns."""
    wordy = sum(not _is_number(first[place]) for place in numbers)
    if wordy:
        named = any(first[place].strip().lower() in _LABELS for place in numbers)
        counted = [first[place] for place in numbers if _is_number(first[place])]
        if named or 2 * wordy >= len(numbers) or (len(counted) >= _FEWEST and _count_up(counted)):
            return True
        # A broken number among others, beside a label that other rows have, too, is no name.
        label = _label(cells, words, numbers)
        return label is None or first[label].strip() not in cells[label]
    if any(first[place].strip().lower() in _LABELS for place in words):
        return True
    # The first column may have no name, as the index that pandas writes.
    counted = [first[place].strip() for place in numbers if first[place].strip()]
    if len(counted) < _FEWEST or any(first[place].strip() in cells[place] for place in words):
        return False
    return _count_up(counted)


def _count_up(names: Sequence[str]) -> bool:
    """Whether names are the numbers of the columns, from 0 or 1."""
    counted = [name.strip() for name in names]
    return counted in ([str(start + place) for place in range(len(counted))] for start in (0, 1))


def _repeats(cells: Sequence[str]) -> bool:
    return len({*cells}) < len(cells)


def _label(cells: Sequence[Sequence[str]], words: Sequence[int], numbers: Sequence[int]) -> int | None:
    """The place of the labels: the only words that repeat, else whole numbers in the first or the last column."""
    labels = [place for place in words if _repeats(cells[place]) and all(map(_is_short, cells[place]))]
    if words:
        return labels[0] if len(labels) == 1 else None
    whole = [
        place
        for place in {*numbers[:1], *numbers[-1:]}
        if all(map(_is_integer, cells[place])) and 2 * len({*map(parse_number, cells[place])}) <= len(cells[place])
    ]
    return whole[0] if len(whole) == 1 else None


def _is_short(cell: str) -> bool:
    return bool(cell) and len(cell) <= _LONGEST_LABEL and len(cell.split()) <= _MOST_WORDS
