"""Vectors as the rows of a table, each with its weight."""

import numpy as np

from regard.inspection.figures.colours import LINE, QUIET, WEIGHT_INK, shade
from regard.inspection.figures.inputs.below import Below
from regard.inspection.figures.inputs.chips import window
from regard.inspection.figures.sheet import LABEL, SMALL, Sheet
from regard.inspection.figures.shown import Shown
from regard.inspection.figures.weighed import strengths
from regard.inspection.record.drawn_inputs import DrawnTable
from regard.page.numbers import counted, percent

__all__ = ["draw_rows"]

_ROW, _GAP, _MOST_ROWS = 12.5, 12.0, 32
_LONGEST_NAME = 70.0
_COVER = 0.42


def draw_rows(sheet: Sheet, shown: Shown, drawn: DrawnTable, weights: np.ndarray) -> Below:
    """Draw as many columns as fit, and of many rows those around the one that is predicted or weighs most."""
    names, own = shown.names, shown.own
    centre = int(np.argmax(np.nan_to_num(weights))) if own is None else own
    which = window(len(names), centre, _MOST_ROWS)
    strength = strengths(weights)
    first = [sheet.clip(names[item], _LONGEST_NAME) for item in which]
    columns = [
        (shown.record.noun, first, "left"),
        ("weight", [percent(float(weights[item])) for item in which], "right"),
    ]
    titles = drawn.columns or tuple(str(number) for number in range(1, drawn.values.shape[1] + 1))
    used = sum(_width(sheet, title, texts) + _GAP for title, texts, _ in columns)
    for number, name in enumerate(titles):
        texts = [f"{drawn.values[item, number]:.3g}" for item in which]
        name = sheet.clip(name, _LONGEST_NAME, SMALL)
        used += _width(sheet, name, texts) + _GAP
        if used > sheet.width + _GAP:
            break
        columns.append((name, texts, "right"))
    left, y = 0.0, 0.0
    right = sum(_width(sheet, title, texts) + _GAP for title, texts, _ in columns) - _GAP
    for number, item in enumerate(which):
        y = (number + 1) * _ROW
        sheet.line([(0, y - _ROW / 2), (right, y - _ROW / 2)], colour=LINE, width=0.5)
        start = _width(sheet, columns[0][0], first) + _GAP / 2
        wide = _width(sheet, columns[1][0], columns[1][1]) + _GAP
        sheet.box(start, y - _ROW / 2 + 0.5, wide, _ROW - 1, fill=shade(_COVER * float(strength[item])))
        if item == own:
            sheet.box(-2, y - _ROW / 2, right + 4, _ROW, edge=WEIGHT_INK, line=1.3)
    for name, texts, align in columns:
        width = _width(sheet, name, texts)
        x = left + (width if align == "right" else 0.0)
        sheet.text(x, 0, name, SMALL, colour=QUIET, align=align)
        for number, text in enumerate(texts):
            sheet.text(x, (number + 1) * _ROW, text, LABEL, align=align)
        left += width + _GAP
    y += _ROW / 2
    missing = drawn.values.shape[1] - (len(columns) - 2)
    notes = [counted(missing, "more column")] if missing else []
    if len(which) < len(names):
        notes.append(f"{counted(len(names) - len(which), 'more row')}")
    if notes:
        y = sheet.paragraph(0, y + 2, " and ".join(notes), sheet.width, colour=QUIET)
    return Below(y, cover=_COVER)


def _width(sheet: Sheet, name: str, texts: list[str]) -> float:
    return max([sheet.size(name, SMALL)[0], *(sheet.size(each)[0] for each in texts)])
