"""Items as words, the chosen one framed, and arcs to what it attended to, with the weight on each."""

import math
from collections.abc import Sequence

import numpy as np

from regard.inspection.figures.colours import PAPER, QUIET, WEIGHT, shade
from regard.inspection.figures.inputs.chips import (
    SIZES,
    Chip,
    answer_chips,
    draw_chips,
    place_chips,
    size_of_chips,
    window,
)
from regard.inspection.figures.sheet import LABEL, SMALL, Sheet, bezier
from regard.inspection.figures.shown import Shown
from regard.inspection.figures.weighed import heaviest, width_of
from regard.page.marks import Box, Place
from regard.page.numbers import counted, percent, probability

__all__ = ["draw_words"]

# Of more items a window around the chosen one is drawn.
_MOST = 64
_MOST_ANSWERS = 48
_TALLEST, _BETWEEN = 88.0, 62.0
# Between two of several lines, and of a longest label.
_LINES_APART = 24.0
_LONGEST_LABEL = 24
_TRIES = (0.5, 0.4, 0.6, 0.32, 0.68, 0.25, 0.75)


def draw_words(sheet: Sheet, shown: Shown, title: str, weights: np.ndarray) -> None:
    """Draw the items on one line, or on several if they are many, and the answer below them if it is none of them."""
    record, own = shown.record, shown.own
    centre = int(np.argmax(np.nan_to_num(weights))) if own is None else own
    which = window(len(record.items), centre, _MOST)
    items = [_item(shown, item, float(weights[item])) for item in which]
    answers = answer_chips(shown, _MOST_ANSWERS)
    size = size_of_chips(sheet, [items, answers])
    lines = size == SIZES[-1] and len({chip.line for chip in place_chips(sheet, items, size, top=0, apart=0)}) > 1
    placed = place_chips(sheet, items, size, top=0.0, apart=_LINES_APART if lines else 0.0)
    bottom = placed[-1].y + placed[-1].height
    below = place_chips(sheet, answers, size, top=bottom + _BETWEEN, apart=4.0)
    chosen = [chip for chip in (below if own is None else placed) if chip.selected] or below[:1]
    start = chosen[0] if chosen else None
    numbers = [] if start is None else _draw_arcs(sheet, placed, start, weights, lines)
    draw_chips(sheet, placed, size)
    draw_chips(sheet, below, size)
    for text, (x, y) in numbers:
        sheet.text(x, y, text, LABEL, align="center", on=PAPER)
    y = (below[-1].y + below[-1].height if below else bottom) + 11
    for text in (*_outside(shown, which, weights), title):
        sheet.text(sheet.width / 2, y, sheet.clip(text, sheet.width, SMALL), SMALL, colour=QUIET, align="center")
        y += 9.5


def _item(shown: Shown, item: int, weight: float) -> Chip:
    record = shown.record
    label = record.labels[item] if record.labels and record.queries is None else ""
    note = label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"
    if note and record.scores:
        note += f" {probability(record.scores[item])}"
    share = 0.05 + 0.95 * math.sqrt(min(1.0, weight)) if weight > 0 else 0.0
    return Chip(item, record.items[item], note, item == shown.own, shade(0.42 * share))


def _outside(shown: Shown, which: range, weights: np.ndarray) -> list[str]:
    """What isn't drawn of many items, and what it was attended to."""
    count, noun, found = len(shown.record.items), shown.record.noun, []
    for part, word in ((range(which.start), "before"), (range(which.stop, count), "after")):
        if len(part):
            weight = float(np.nan_to_num(weights[part.start : part.stop]).sum())
            found.append(f"{counted(len(part), noun)} {word}, which got {percent(weight)} together")
    return found


def _draw_arcs(
    sheet: Sheet, placed: Sequence[Chip], start: Chip, weights: np.ndarray, lines: bool
) -> list[tuple[str, Place]]:
    """Draw the arcs; what is written on them, and where."""
    ends = {chip.number: chip for chip in placed}
    joined = [item for item in heaviest(weights) if item in ends]
    taken: list[Box] = []
    numbers = []
    for item in joined:
        end = ends[item]
        text = percent(float(weights[item]))
        if lines:
            numbers.append((text, _beside(start, end)))
            continue
        where = _free(_curve(start, end, lines), sheet.size(text)[0], taken, below=start.y > end.y)
        numbers.append((text, where))
    # The lightest first, so that the heaviest lie on top.
    for item in reversed(joined):
        weight, end = float(weights[item]), ends[item]
        width = min(2.5, width_of(weight)) if end is start else width_of(weight)
        sheet.curve(
            _curve(start, end, lines),
            colour=WEIGHT,
            width=width,
            alpha=0.45 + 0.4 * min(1.0, weight),
            gid=f"arc-{item + 1}",
        )
    return numbers


def _beside(start: Chip, end: Chip) -> Place:
    """Where the number of an arc stands where there are several lines: above it, or where it ends among others."""
    if end is start:
        return end.middle, end.y - 24.5
    if end.line == start.line and end.y == start.y:
        return (start.middle + end.middle) / 2, end.y - _low_arc(start, end) - 5.5
    return end.middle, end.y - 6.0


def _low_arc(start: Chip, end: Chip) -> float:
    """The height of an arc between two lines."""
    return min(_LINES_APART / 2, 7 + 0.03 * abs(start.middle - end.middle))


def _curve(start: Chip, end: Chip, lines: bool) -> list[Place]:
    """A curve above a line, from an item to itself, or from one line to another."""
    a, b = (start.middle, start.y), (end.middle, end.y)
    if start is end:
        return [(a[0] - 7, a[1]), (a[0] - 17, a[1] - 25), (a[0] + 17, a[1] - 25), (a[0] + 7, a[1])]
    if abs(a[1] - b[1]) < 1:
        apart = abs(a[0] - b[0])
        peak = a[1] - 1.33 * (_low_arc(start, end) if lines else min(_TALLEST, 11 + 0.3 * apart))
        return [a, (a[0], peak), (b[0], peak), b]
    if a[1] > b[1]:
        b = (b[0], b[1] + end.height)
    else:
        a = (a[0], a[1] + start.height)
    middle = (a[1] + b[1]) / 2
    return [a, (a[0], middle), (b[0], middle), b]


def _free(curve: list[Place], width: float, taken: list[Box], *, below: bool) -> Place:
    """Where on a curve there is room for its number."""
    # Arcs from below fan out of one point, so their numbers stand where they are apart.
    tries = (0.74, 0.68, 0.62, 0.8, 0.55, 0.86) if below else _TRIES
    spots = bezier(curve, np.array(tries))
    boxes = [Box(x - width / 2 - 1, y - 5, x + width / 2 + 1, y + 5) for x, y in spots]
    chosen = next((number for number, box in enumerate(boxes) if not any(map(box.meets, taken))), 0)
    taken.append(boxes[chosen])
    return spots[chosen]
