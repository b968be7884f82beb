"""Attended beside mattered: a row an item, its weight in blue, what hiding it changes in orange, and the new answer."""

import math

from regard.inspection.figures.colours import EFFECT, EFFECT_INK, INK, LINE, QUIET, WEIGHT
from regard.inspection.figures.inputs.chips import shown_text
from regard.inspection.figures.sheet import SMALL, Sheet
from regard.inspection.figures.shown import Shown
from regard.inspection.figures.weighed import with_minus
from regard.inspection.views.facts import story_of
from regard.inspection.views.story import compared_items
from regard.page.blocks import ComparedItem
from regard.page.numbers import percent

__all__ = ["draw_compared", "why_not_compared"]

_ROW, _BAR, _SHORTEST_BAR, _THICK, _GAP = 15.0, 92.0, 10.0, 6.5, 8.0
_LONGEST_NAME, _LONGEST_NOTE = 92.0, 120.0


def why_not_compared(shown: Shown) -> str:
    """Why it can't be drawn; "" if it can."""
    if shown.outcomes.hidden:
        return ""
    return "what mattered wasn't measured, as `see` of a model and `regard see --effects` do"


def draw_compared(sheet: Sheet, shown: Shown) -> None:
    """Draw the items that were attended to most or mattered most, in the order of the input."""
    record, kind = shown.record, shown.outcomes.kind
    told = story_of(record, layer=shown.layer, head=shown.head, query=shown.number + 1)
    block = compared_items(record, told)
    third = block.third
    item_of = {name: item for item, name in enumerate(shown.names)}
    names = [sheet.clip(shown_text(row.label), min(_LONGEST_NAME, 0.22 * sheet.width)) for row in block.rows]
    firsts = [with_minus(row.first_written) or percent(row.first) for row in block.rows]
    seconds = [with_minus(row.written) for row in block.rows]
    name = max(sheet.size(each)[0] for each in [*names, block.noun]) + _GAP
    numbers = [max(sheet.size(each)[0] for each in texts) + 4 for texts in (firsts, seconds)]
    room = sheet.width - name - sum(numbers) - 2 * _GAP
    # The shortest bars leave what they can to the notes.
    longest = min(_LONGEST_NOTE, 0.28 * sheet.width, room - 2 * _SHORTEST_BAR)
    notes = [sheet.clip(row.note, longest) for row in block.rows] if third else []
    third = sheet.clip(third, longest) if third else ""
    note = _GAP + max(sheet.size(each, bold=True)[0] for each in [*notes, third]) if third else 0.0
    bar = min(_BAR, max(_SHORTEST_BAR, (room + _GAP - note) / 2))
    starts = name, name + bar + numbers[0] + _GAP
    last = starts[1] + bar + numbers[1] + _GAP
    high = block.highs[0] or 1.0
    full = block.highs[1] or 1.0
    y = 0.0
    if answer := shown.answer:
        sheet.text(0, y, sheet.clip(answer, sheet.width, bold=True), bold=True)
        y += _ROW + 2
    for x, title in zip((0.0, *starts, last), (block.noun, block.first, block.second, third), strict=True):
        sheet.text(x, y, title, SMALL, colour=QUIET)
    right = last + note - _GAP if third else starts[1] + bar + numbers[1]
    for number, row in enumerate(block.rows):
        y += _ROW
        sheet.line([(0, y - _ROW / 2), (right, y - _ROW / 2)], colour=LINE, width=0.5)
        sheet.text(0, y, names[number])
        for bars, start, zero, share, colour, text in (
            ("attended", starts[0], bar * block.zeros[0], row.first / high, WEIGHT, firsts[number]),
            ("mattered", starts[1], bar * block.zeros[1], _change(row) / full, EFFECT, seconds[number]),
        ):
            width = max(0.6, bar * abs(share)) if share else 0.0
            left = start + zero - (width if share < 0 else 0.0)
            if zero:
                sheet.line([(start + zero, y - _ROW / 2), (start + zero, y + _ROW / 2)], colour=LINE, width=0.5)
            if width:
                sheet.box(left, y - _THICK / 2, width, _THICK, fill=colour, gid=f"{bars}-{number + 1}")
            sheet.text(start + (bar if zero else width) + 4, y, text)
        if third:
            changed = kind == "labels" and told.hidden[item_of[row.label]].label != shown.place.label
            sheet.text(last, y, notes[number], colour=EFFECT_INK if changed else INK, bold=changed)
    y = sheet.paragraph(0, y + _ROW / 2 + 4, block.title, sheet.width, colour=QUIET)
    if block.rest:
        sheet.paragraph(0, y, block.rest, sheet.width, colour=QUIET)


def _change(row: ComparedItem) -> float:
    change = row.second
    return change if change is not None and math.isfinite(change) else 0.0
