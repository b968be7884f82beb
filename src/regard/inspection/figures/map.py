"""The map: all items by all items, with their names next to the cells, and a legend."""

import math

import numpy as np

from regard.inspection.figures.colours import QUIET, WEIGHT, WEIGHT_INK, ink_on_blue, weight_colours
from regard.inspection.figures.drawn_cells import DrawnCells, cells_of, high_of
from regard.inspection.figures.inputs.chips import shown_text
from regard.inspection.figures.legend import draw_legend, hatching
from regard.inspection.figures.sheet import LABEL, SMALL, Sheet
from regard.inspection.figures.shown import Shown
from regard.inspection.record.numbered import numbered
from regard.inspection.views.uniform import equal_share
from regard.page.numbers import percent

__all__ = ["draw_map"]

MOST_CELLS = 256
"""The most cells on a side, as on the page."""

_LARGEST_CELL, _LEAST_NAMED, _LEAST_NUMBERED, _LEAST_HATCHED = 26.0, 7.0, 17.0, 4.0
_LONGEST_NAME = 86.0
# More cells than these on a side are one image.
_MOST_VECTOR = 64
# Between two numbers of a ruler.
_APART = (40.0, 18.0)
_DOT_OF, _LEAST_DOT = 16, 0.1


def draw_map(sheet: Sheet, shown: Shown) -> None:
    """Draw the weights of a layer and a head."""
    selection = shown.selection()
    (cells,) = cells_of(selection.layer, [selection.head], MOST_CELLS)
    rows, columns = cells.sums.shape
    names = [*map(shown_text, numbered(shown.record.query_items))] if shown.record.layers else ["the whole"]
    keys = [*map(shown_text, shown.names)]
    left = min(_LONGEST_NAME, max(sheet.size(each)[0] for each in (names if len(names) <= MOST_CELLS else ("0",))))
    left = max(left, 24.0)
    cell = min(_LARGEST_CELL, (sheet.width - left - 8) / columns)
    named = not cells.joined and cell >= _LEAST_NAMED
    if not named:
        left = sheet.size(f"{len(names):,}", SMALL)[0]
        cell = min(_LARGEST_CELL, (sheet.width - left - 12) / columns)
    # A row of a pooling, or a few words of a translation, are no lower than they can be seen.
    tall = cell if rows > 1 or cell >= 8 else 14.0
    high = high_of([cells])
    _draw_cells(sheet, cells, (cell, tall), high)
    if named:
        size = min(LABEL, 0.95 * cell)
        for row, name in enumerate(names):
            sheet.text(-5, (row + 0.5) * tall, sheet.clip(name, _LONGEST_NAME, size), size, align="right")
        turned = max(sheet.size(each, size)[0] for each in keys) > cell - 2
        for column, name in enumerate(keys):
            x = (column + 0.5) * cell
            if turned:
                # Upright letters take the least room.
                sheet.text(x, -4, sheet.clip(name, _LONGEST_NAME, size), size, angle=60 if cell >= 14 else 90)
            else:
                sheet.text(x, -7, name, size, align="center")
    else:
        _draw_rulers(sheet, len(keys), cells.wide, cell, down=False)
        if len(names) > 1:
            _draw_rulers(sheet, len(names), cells.tall, tall, down=True)
    if shown.asked and shown.place.query is not None and shown.record.layers:
        row = shown.place.query // cells.tall
        sheet.box(-0.8, row * tall - 0.8, columns * cell + 1.6, tall + 1.6, edge=WEIGHT_INK, line=1.4)
    y = rows * tall + 10
    y = draw_legend(
        sheet,
        y,
        selection.title,
        high,
        masked=bool(cells.masked.any()),
        equal=0.0 if cells.masked.any() else equal_share(cells.sums.tolist(), columns),
    )
    _draw_notes(sheet, cells, (cell, tall), y)


def _draw_cells(sheet: Sheet, cells: DrawnCells, cell: tuple[float, float], high: float) -> None:
    rows, columns = cells.sums.shape
    if max(rows, columns) > _MOST_VECTOR:
        sheet.image(0, 0, columns * cell[0], rows * cell[1], cells.pixels(high))
        return
    sheet.cells(0, 0, cell, cells.pixels(high), gid="map")
    hidden = [(x * cell[0], y * cell[1], *cell) for y, x in np.argwhere(cells.masked)]
    if min(cell) >= _LEAST_HATCHED:
        hatching(sheet, hidden)
    if min(cell) >= _LEAST_NUMBERED and not cells.joined:
        _draw_numbers(sheet, cells, cell, high)


def _draw_numbers(sheet: Sheet, cells: DrawnCells, cell: tuple[float, float], high: float) -> None:
    for (row, column), weight in np.ndenumerate(cells.sums):
        if cells.masked[row, column]:
            continue
        share = math.sqrt(min(1.0, max(0.0, weight / high))) if math.isfinite(weight) else 1.0
        text = percent(float(weight)).removesuffix("%")
        x, y = (column + 0.5) * cell[0], (row + 0.5) * cell[1]
        sheet.text(x, y, text, min(7.5, 0.36 * cell[0]), colour=ink_on_blue(share), align="center")


def _draw_rulers(sheet: Sheet, count: int, joined: int, cell: float, *, down: bool) -> None:
    """Numbers of items along an edge, counted from 1."""
    for item in ticks(count, count / joined * cell / _APART[down]):
        at = (item - 0.5) / joined * cell
        if down:
            sheet.line([(-4, at), (-1, at)], colour=QUIET, width=0.6)
            sheet.text(-6, at, f"{item:,}", SMALL, colour=QUIET, align="right")
        else:
            sheet.line([(at, -4), (at, -1)], colour=QUIET, width=0.6)
            sheet.text(at, -9, f"{item:,}", SMALL, colour=QUIET, align="center")


def ticks(count: int, most: float) -> list[int]:
    """Round numbers up to one, and 1: at most so many.

    Example:
        >>> ticks(100, 6), ticks(7, 10)
        ([1, 20, 40, 60, 80, 100], [1, 2, 3, 4, 5, 6, 7])
    """
    least = count / max(1.0, most)
    power = 10 ** math.floor(math.log10(max(1.0, least)))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= least)
    found = list(range(step, count + 1, step))
    return found if step == 1 else [1, *(each for each in found if each - 1 >= 0.6 * step)]


def _draw_notes(sheet: Sheet, cells: DrawnCells, cell: tuple[float, float], y: float) -> None:
    """What a cell joins, and dots where the colour of a cell hides a weight in it."""
    if not cells.joined:
        return
    note = f"A cell joins {cells.tall} × {cells.wide}: summed over keys, averaged over queries"
    if cells.taken < cells.tall:
        note += f", of which {cells.taken} were taken"
    y = sheet.paragraph(0, y, f"{note}.", sheet.width, colour=QUIET)
    dots = _dotted(cells)
    if not dots:
        return
    colours = weight_colours(np.array([cells.largest[each] for each in dots]), 1.0)
    for (row, column), colour in zip(dots, colours, strict=True):
        sheet.disc((column + 0.5) * cell[0], (row + 0.5) * cell[1], 1.6, fill=colour)
    highest = max(float(cells.largest[each]) for each in dots)
    sheet.disc(2, y + 5, 1.6, fill=WEIGHT)
    told = f"a single weight, of up to {percent(highest)}, that the colour of its cell hides"
    sheet.paragraph(8, y, told, sheet.width - 8, colour=QUIET)


def _dotted(cells: DrawnCells) -> list[tuple[int, int]]:
    """The cells with a single weight far above what their colour says, one for each part of the map."""
    best: dict[tuple[int, int], tuple[int, int]] = {}
    hides = (cells.largest >= _LEAST_DOT) & (cells.sums <= cells.largest / 4) & ~cells.masked
    for row, column in np.argwhere(hides).tolist():
        part = row // _DOT_OF, column // _DOT_OF
        if part not in best or cells.largest[row, column] > cells.largest[best[part]]:
            best[part] = row, column
    return list(best.values())
