"""Telling a header from data: whether the first line of a table names its columns."""

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

from regard.datasets.formats.class_folders import PICTURES, SOUNDS
from regard.datasets.formats.columns import COLUMN_ROLES
from regard.inputs.lines import parse_number

__all__ = ["is_medium", "is_unlike_data", "looks_like_names", "names_for_data"]

_LONGEST_NAME, _MOST_WORDS = 60, 4
_ENDS = (".", "!", "?", "\u3002", "\uff01", "\uff1f")


def names_for_data(rows: Sequence[Sequence[str]]) -> list[str] | None:
    """Names for the columns of a table whose first row is data; None if it names the columns itself.

    It is data if it has none of the standard names, and a number, a sentence, the name of a sound or picture, or a cell
    that the same column has again.

    Args:
        rows: the first rows of the table, at least two.

    Returns:
        the standard names for what seems to be the source and the target, and "" for other columns.

    Example:
        >>> names_for_data([["The room was very clean", "good"], ["It was dirty", "bad"], ["Lovely", "good"]])
        ['text', 'label']
        >>> names_for_data([["review", "stars"], ["It was dirty", "1"]]) is None
        True
    """
    first, *others = rows
    standard = {name for names in COLUMN_ROLES.values() for name in names}
    # Numbered columns are what pandas calls those without names.
    numbered = [str(place) for place in range(len(first))]
    if standard & {*first} or [name for name in first if name] in (numbered, numbered[:-1]):
        return None
    columns = [[row[place] for row in others if len(row) == len(first)] for place in range(len(first))]
    if not any(_is_value(cell, column) for cell, column in zip(first, columns, strict=True)):
        return None
    return _suggested([[cell, *column] for cell, column in zip(first, columns, strict=True)])


def looks_like_names(row: Sequence[str], names: Sequence[str]) -> bool:
    """Whether the named cells of a row could be the names of columns: short, different words without numbers.

    Example:
        >>> looks_like_names(["review", "stars"], ["text", "label"]), looks_like_names(["Bad.", "1"], ["text", "label"])
        (True, False)
    """
    cells = [cell.strip() for cell, name in zip(row, names, strict=True) if name]
    return len({*cells}) == len(cells) and not any(not cell or _is_value(cell, ()) for cell in cells)


def is_unlike_data(cell: str, others: Sequence[str], *, numbers: bool) -> bool:
    """Whether a cell that looks like a name is none of a column's labels or numbers.

    A word above numbers is no label, and neither is one that stands nowhere else while every other one stands twice.

    Args:
        cell: the cell.
        others: the other cells of the column.
        numbers: whether they are numbers.

    Example:
        >>> is_unlike_data("stars", ["good", "bad", "good", "bad"], numbers=False)
        True
        >>> is_unlike_data("fair", ["good", "bad", "good", "great"], numbers=False)
        False
    """
    if numbers or len(others) > 1:
        counted = bool(others) and all(parse_number(other.strip()) is not None for other in others)
        if counted or numbers:
            return counted
    counts = Counter(other.strip() for other in others)
    return cell.strip() not in counts and len(counts) > 1 and min(counts.values()) > 1


def is_medium(cell: str) -> bool:
    """Whether a cell is the name of a sound or a picture.

    Example:
        >>> is_medium("clips/1.MP3"), is_medium("a film .")
        (True, False)
    """
    return len(cell) < 4096 and PurePath(cell.strip()).suffix.lower() in (*SOUNDS, *PICTURES)


def _is_value(cell: str, column: Sequence[str]) -> bool:
    text = cell.strip()
    long = len(text) > _LONGEST_NAME or len(text.split()) > _MOST_WORDS or text.endswith(_ENDS)
    return bool(text) and (parse_number(text) is not None or long or is_medium(text) or cell in column)


def _suggested(columns: Sequence[Sequence[str]]) -> list[str]:
    names = [""] * len(columns)
    media = [place for place, cells in enumerate(columns) if is_medium(cells[0])]
    # The source is the name of a file, else the longest text; numbers are none, if there is another column.
    worded = [
        place
        for place, cells in enumerate(columns)
        if not all(parse_number(each.strip()) is not None for each in cells)
    ]
    texts = worded or range(len(columns))
    source = media[0] if media else max(texts, key=lambda place: sum(map(len, columns[place])))
    names[source] = "path" if media else "text"
    # The target is the column with the fewest different cells, and never a column that counts the rows.
    others = [place for place in range(len(columns)) if place != source]
    repeating = [place for place in others if len({*columns[place]}) < len(columns[place])]
    target = min(repeating or others, key=lambda place: len({*columns[place]}), default=None)
    if target is not None:
        numbers = all(parse_number(cell.strip()) is not None for cell in columns[target])
        names[target] = "label" if target in repeating else "number" if numbers else "target"
    return names
