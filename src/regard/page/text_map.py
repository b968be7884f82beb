"""A heat map as text: cells with numbers if they fit, otherwise coloured half blocks or shades; below it its legend."""

import math
from dataclasses import dataclass

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from regard.page.blocks import HeatMap
from regard.page.colours import MASKED, NOT_A_NUMBER, SCALE, ZERO, colour_of, ink_on
from regard.page.messages import say
from regard.page.numbers import percent
from regard.page.pictures.downsampling import downsample, downsampling_note
from regard.page.terminal import Terminal
from regard.page.visible import clip
from regard.page.wrapping import fit, wrap

__all__ = ["map_lines"]

_CELL = 4  # "100" or ">99", and a gap
_LONGEST_LABEL = 16
_MOST_NAMED = 64
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)


@dataclass(frozen=True)
class _Grid:
    """A map that fits, the widths of its row numbers, labels and cells, and the factor by which it was downsampled."""

    heat_map: HeatMap
    digits: int
    label: int
    cell: int
    factor: int

    @property
    def indent(self) -> int:
        return self.digits + 1 + (self.label + 1 if self.label else 0)


def map_lines(block: HeatMap, terminal: Terminal) -> list[Text]:
    """Draw a heat map with its title above and its legend below."""
    lines = wrap(block.title, terminal.width, "bold")
    if not block.rows or not block.columns:
        return [*lines, Text("There is nothing to draw.", "dim")]
    grid = _grid(block, terminal)
    if grid.factor > 1:
        note = f"Too wide for {terminal.width} columns, so {downsampling_note(block, grid.factor)}"
        lines += wrap(note, terminal.width, "dim")
    numbers = grid.cell == _CELL
    if numbers:
        lines += _numbers(grid, terminal)
    else:
        lines += _half_blocks(grid, terminal) if terminal.colours else _shades(grid, terminal)
    return lines + legend_lines(grid.heat_map, terminal, numbers=numbers) + _axes(block, terminal)


def _grid(block: HeatMap, terminal: Terminal) -> _Grid:
    digits = len(str(len(block.rows)))
    label = min(max(cell_len(clip(text, _LONGEST_LABEL)) for text in block.rows), terminal.width // 3)
    if not block.verb:  # the rows of a picture have only numbers
        label = 0
    # Numbers without colours don't show where in a picture the weights are, so shades are used instead.
    with_numbers = bool(block.verb or terminal.colours)
    if with_numbers and digits + 1 + label + 1 + _CELL * len(block.columns) <= terminal.width:
        return _Grid(block, digits, label, _CELL, 1)
    if terminal.colours and label:  # a line of half blocks holds two rows, and so two labels
        label = min(2 * label + 3, terminal.width // 3)
    room = terminal.width - (digits + 1 + label + 1)
    factor = math.ceil(len(block.columns) / room)
    columns = math.ceil(len(block.columns) / factor)
    # A half block is square; a shade is a full character, which is twice as high as it is wide.
    cell = 2 if 2 * columns <= room and not terminal.colours else 1
    return _Grid(downsample(block, factor), digits, label, cell, factor)


def _numbers(grid: _Grid, terminal: Terminal) -> list[Text]:
    head = Text(" " * grid.indent, "dim")
    for number in range(1, len(grid.heat_map.columns) + 1):
        head.append(f"{number:>{grid.cell - 1}} ")
    head.rstrip()
    lines = [head]
    for index, row in enumerate(grid.heat_map.values):
        line = _label(grid, index, fit(grid.heat_map.rows[index], grid.label))
        for value in row:
            style = Style()
            if terminal.colours:
                colour = colour_of(value, grid.heat_map.high)
                style = Style(color=terminal.paint(ink_on(colour)), bgcolor=terminal.paint(colour))
            short = "--" if value is None else percent(value).removesuffix("%")
            line.append(f"{short:>{grid.cell - 1}} ", style)
        if not terminal.colours:
            line.rstrip()
        lines.append(line)
    return lines


def _half_blocks(grid: _Grid, terminal: Terminal) -> list[Text]:
    """The upper half of a character is one row and the lower half the next."""
    block = grid.heat_map
    lines = [_ruler(grid)]
    room = max((grid.label - 3) // 2, 0)
    for top in range(0, len(block.rows), 2):
        pair = " / ".join(clip(label, room) for label in block.rows[top : top + 2]) if grid.label else ""
        line = _label(grid, top, fit(pair, grid.label))
        upper = block.values[top]
        lower = block.values[top + 1] if top + 1 < len(block.rows) else None
        for column, value in enumerate(upper):
            above = terminal.paint(colour_of(value, block.high))
            below = terminal.paint(colour_of(lower[column], block.high)) if lower is not None else None
            line.append("▀" * grid.cell, Style(color=above, bgcolor=below))
        lines.append(line)
    return lines


def _shades(grid: _Grid, terminal: Terminal) -> list[Text]:
    block, shades = grid.heat_map, shades_of(terminal)
    lines = [_ruler(grid)]
    for index, row in enumerate(block.values):
        line = _label(grid, index, fit(block.rows[index], grid.label))
        line.append("".join(_shade(value, block.high, shades) * grid.cell for value in row))
        lines.append(line)
    return lines


def _shade(value: float | None, high: float, shades: str) -> str:
    if value is None:
        return "/"
    if math.isnan(value):
        return "?"
    if value == 0.0:
        return " "
    return shades[int(min(value / high, 1.0) * len(shades)) if value < high else -1]


def _label(grid: _Grid, index: int, label: str) -> Text:
    line = Text()
    line.append(f"{index * grid.factor + 1:>{grid.digits}} ", "dim")
    line.append(label + " " if grid.label else "")
    return line


def _ruler(grid: _Grid) -> Text:
    """A ruler with the numbers of as many columns as there is room for."""
    count = len(grid.heat_map.columns)
    wide = len(str(count * grid.factor)) + 1
    step = next((step for step in _STEPS if step * grid.cell >= wide), count)
    line = ""
    for column in range(0, count, step):
        number = str(column * grid.factor + 1)
        if column * grid.cell + len(number) <= count * grid.cell:
            line = line.ljust(column * grid.cell) + number
    return Text(" " * grid.indent + line, "dim")


def _axes(block: HeatMap, terminal: Terminal) -> list[Text]:
    if not block.verb:
        return wrap("Rows and columns are those of the picture.", terminal.width, "dim")
    axes = "numbered as the rows are"
    if block.rows != block.columns:
        named = [f"{number} {clip(label, _LONGEST_LABEL)}" for number, label in enumerate(block.columns, start=1)]
        axes = ", ".join(named) if len(named) <= _MOST_NAMED else f"from {named[0]} to {named[-1]}"
    return wrap(f"Each row {block.verb} the columns ({axes}).", terminal.width, "dim")


def shades_of(terminal: Terminal) -> str:
    """The characters for values above 0, from the faintest to the strongest."""
    return ".:+*#" if terminal.ascii else "·░▒▓█"


def legend_lines(block: HeatMap, terminal: Terminal, *, numbers: bool) -> list[Text]:
    """Draw the legend of a map.

    Args:
        block: the map as it is drawn, after downsampling.
        terminal: the terminal.
        numbers: whether the cells show numbers.
    """
    parts = [_scale(block, terminal, numbers)]
    if block.equal:
        parts.append(Text(say("equalWeights", share=percent(block.equal))))
    if block.note:
        parts.append(Text(block.note))
    values = [value for row in block.values for value in row]
    nan = any(value is not None and math.isnan(value) for value in values)
    for present, name, colour, shade, mark in (
        (0.0 in values, "exactly 0", ZERO, "blank", "0"),
        (None in values, "masked", MASKED, "/", "--"),
        (nan, "not a number", NOT_A_NUMBER, "?", "NaN"),
    ):
        if present and terminal.colours:
            parts.append(Text().append("  ", Style(bgcolor=terminal.paint(colour))).append(f" {name}"))
        elif present:
            parts.append(Text(f"{mark if numbers else shade} is {name}"))
    lines = [Text()]
    for part in parts:
        if lines[-1] and lines[-1].cell_len + 2 + part.cell_len > terminal.width:
            lines.append(Text())
        if lines[-1]:
            lines[-1].append("  ")
        lines[-1].append_text(part)
    return lines


def _scale(block: HeatMap, terminal: Terminal, numbers: bool) -> Text:
    high = percent(block.high)
    if terminal.colours:
        scale = Text("0% ")
        for colour in SCALE[::4]:
            scale.append(" ", Style(bgcolor=terminal.paint(colour)))
        return scale.append(f" {high}")
    if numbers:
        return Text("in percent")
    shades = shades_of(terminal)
    return Text(f"0% {shades} {high}, in steps of {percent(block.high / len(shades))}")
