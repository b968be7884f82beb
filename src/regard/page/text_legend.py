"""The legend of a heat map: its colours, shades and marks in numbers and words."""

import math

from rich.style import Style
from rich.text import Text

from regard.page.blocks import HeatMap
from regard.page.colours import MASKED, NOT_A_NUMBER, SCALE, ZERO
from regard.page.numbers import percent
from regard.page.terminal import Terminal

__all__ = ["legend_lines", "shades_of"]


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
