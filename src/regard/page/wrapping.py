"""Fitting text into a width: wrapped over lines, or cut and filled to exactly so many cells."""

import io

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from regard.page.visible import clip, visible

__all__ = ["fit", "wrap"]


def wrap(text: str, width: int, style: str = "") -> list[Text]:
    """Break text into lines between its words; a word longer than a line is folded, never cut.

    Example:
        >>> [line.plain for line in wrap("one two three", 8)]
        ['one two', 'three']
    """
    # rich asks for a console to wrap, though it reads only its options.
    lines = Text(visible(text), style=style).wrap(Console(file=io.StringIO(), width=width), width)
    for line in lines:
        line.rstrip()
    return list(lines)


def fit(text: str, width: int) -> str:
    """Cut or fill text to exactly `width` cells.

    Example:
        >>> fit("来福", 5) + "|"
        '来福 |'
    """
    text = clip(text, width) if text else ""
    return text + " " * (width - cell_len(text))
