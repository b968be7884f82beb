"""Texts in boxes, side by side on lines: the items of an input, and the answers to it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.inspection.figures.colours import INK, PAPER, QUIET, WEIGHT_INK
from regard.inspection.figures.sheet import SMALL, Sheet
from regard.inspection.figures.shown import Shown
from regard.page.numbers import probability

__all__ = ["Chip", "answer_chips", "draw_chips", "place_chips", "shown_text", "size_of_chips", "window"]

SIZES = (17.0, 14.5, 12.5, 11.0, 9.5)
"""Sizes of letters: the first at which all texts fit on one line, or the last."""

_LONGEST = 60


@dataclass(frozen=True)
class Chip:
    """A text in its box.

    Args:
        number: the number of the item; -1 for none.
        text, note: the text, and the smaller one below it.
        selected: whether it is framed.
        fill: the colour of the box; None: none.
        x, y: its left upper corner.
        width, height: its size.
        line: on which line it stands, from 0.
    """

    number: int
    text: str
    note: str = ""
    selected: bool = False
    fill: str | None = None
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0
    line: int = 0

    @property
    def middle(self) -> float:
        """The middle of its width."""
        return self.x + self.width / 2


def shown_text(text: str) -> str:
    """The text in a chip: pieces of words begin with their space, and long texts are cut.

    Example:
        >>> shown_text(" saw"), len(shown_text("x" * 100))
        ('saw', 60)
    """
    text = text.strip() or text
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def window(count: int, centre: int, most: int) -> range:
    """The items that are drawn of many: so many, around one of them.

    Example:
        >>> window(5, 0, 64), window(1000, 990, 64)
        (range(0, 5), range(936, 1000))
    """
    if count <= most:
        return range(count)
    first = min(max(0, centre - most // 2), count - most)
    return range(first, first + most)


def size_of_chips(sheet: Sheet, rows: Sequence[Sequence[Chip]]) -> float:
    """The largest size of letters at which each of the rows fits on one line; else the smallest."""
    for size in SIZES:
        if all(
            sum(_width(sheet, chip, size) for chip in row) + _gap(size) * (len(row) - 1) <= sheet.width for row in rows
        ):
            return size
    return SIZES[-1]


def place_chips(
    sheet: Sheet, chips: Sequence[Chip], size: float, *, top: float, apart: float, left: float | None = None
) -> list[Chip]:
    """Put chips onto lines, from the top; lines are `apart`, and in the middle of the sheet or begin at `left`."""
    noted = any(chip.note for chip in chips)
    height = 1.45 * size + (9.5 if noted else 0.0)
    most, gap = sheet.width, _gap(size)
    lines: list[list[Chip]] = [[]]
    used = 0.0
    for chip in chips:
        width = min(_width(sheet, chip, size), most)
        if lines[-1] and used + gap + width > most:
            lines.append([])
            used = 0.0
        used += width + (gap if lines[-1] else 0.0)
        lines[-1].append(replace(chip, width=width, height=height, line=len(lines) - 1))
    placed = []
    for number, line in enumerate(lines):
        whole = sum(chip.width for chip in line) + gap * (len(line) - 1)
        x = (most - whole) / 2 if left is None else left
        for chip in line:
            placed.append(replace(chip, x=x, y=top + number * (height + apart)))
            x += chip.width + gap
    return placed


def draw_chips(sheet: Sheet, chips: Sequence[Chip], size: float) -> None:
    """Draw chips where they were placed."""
    for chip in chips:
        if chip.selected:
            sheet.box(chip.x, chip.y, chip.width, chip.height, fill=PAPER, edge=WEIGHT_INK, line=1.3, round=3.0)
        elif chip.fill is not None:
            sheet.box(chip.x, chip.y, chip.width, chip.height, fill=chip.fill, round=3.0)
        text = sheet.clip(shown_text(chip.text), chip.width - 0.3 * size, size, bold=chip.selected)
        sheet.text(chip.middle, chip.y + 0.75 * size, text, size, align="center", bold=chip.selected, colour=INK)
        if chip.note:
            note = sheet.clip(chip.note, chip.width - 2, SMALL)
            sheet.text(chip.middle, chip.y + 1.45 * size + 3.5, note, SMALL, align="center", colour=QUIET)


def answer_chips(shown: Shown, most: int) -> list[Chip]:
    """What the model says of the whole, or what it wrote, the chosen one framed; none where each item has its own."""
    record, outcomes, place = shown.record, shown.outcomes, shown.place
    if record.queries is not None:
        chosen = place.query or 0
        scores = {each.query: each.score for each in outcomes.places}
        return [
            Chip(item, record.queries[item], _score(scores.get(item)), item == place.query)
            for item in window(len(record.queries), chosen, most)
        ]
    if place.query is not None or not place.label:
        return []
    found = []
    for number in window(len(outcomes.places), shown.number, most):
        each = outcomes.places[number]
        name = "" if each.name == "the whole" else f"{shown_text(each.name)} "
        alone = len(outcomes.places) == 1
        found.append(Chip(-1, each.label, f"{name}{_score(each.score)}".strip(), number == shown.number and not alone))
    return found


def _score(score: float | None) -> str:
    return "" if score is None else probability(score)


def _gap(size: float) -> float:
    return 0.55 * size


def _width(sheet: Sheet, chip: Chip, size: float) -> float:
    # Wide enough for the bold letters of a chosen one: the same items are as wide whichever is chosen.
    text = sheet.size(shown_text(chip.text), size, bold=True)[0] + 0.7 * size
    return max(text, 0.0 if not chip.note else sheet.size(chip.note, SMALL)[0] + 6.0, 1.4 * size)
