"""Fit text to a width: wrapped into lines, or cut and padded to an exact number of cells."""

import io

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from regard.page.visible import clip, visible

__all__ = ["fit", "wrap"]


def wrap(text: str, width: int, style: str = "") -> list[Text]:
    """Break text into lines between words; a word longer than a line is continued on the next, never cut.

    Example:
        >>> [line.plain for line in wrap("one two three", 8)]
        ['one two', 'three']
    """
    # rich requires a console for wrapping, but only reads its options.
    lines = Text(visible(text), style=style).wrap(Console(file=io.StringIO(), width=width), width)
    for line in lines:
        line.rstrip()
    return list(lines)


def fit(text: str, width: int) -> str:
    """Cut or pad text to exactly `width` cells.

    Example:
        >>> fit("来福", 5) + "|"
        '来福 |'
    """
    text = clip(text, width) if text else ""
    return text + " " * (width - cell_len(text))
