"""A page as text for a terminal, a pipe or a file."""

import io
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from regard.page.blocks import (
    Bars,
    Block,
    Chart,
    Code,
    Comparison,
    Heading,
    HeatMap,
    Items,
    Page,
    Pictures,
    Prose,
    Table,
)
from regard.page.charts.text_chart import chart_lines
from regard.page.pictures.text_pictures import pictures_lines
from regard.page.sentences import sentences
from regard.page.terminal import Terminal
from regard.page.text_bars import bar_lines
from regard.page.text_comparison import comparison_lines
from regard.page.text_map import map_lines
from regard.page.visible import clip, visible
from regard.page.wrapping import wrap

__all__ = ["as_text", "show"]


def show(page: Page, console: Console, *, plain: bool = False) -> None:
    """Write a page to a console.

    Args:
        page: the page.
        console: the console; its width, colours and encoding determine how blocks are drawn.
        plain: write complete sentences without drawings and colours, for a screen reader.

    Example:
        >>> import sys
        >>> show(Page("Two words", (Prose("hello world"),)), Console(file=sys.stdout, width=40, color_system=None))
        Two words
        <BLANKLINE>
        hello world
    """
    if plain:
        for sentence in sentences(page):
            console.print(Text(sentence), soft_wrap=True)
        return
    for line in _lines(page, Terminal.of(console)):
        # soft_wrap: the lines already fit, and rich must not wrap or crop them again.
        console.print(line, soft_wrap=True)


def as_text(page: Page, *, width: int = 80, colour: bool = False, plain: bool = False) -> str:
    """Render a page as a string.

    Args:
        page: the page.
        width: the maximum width of a line in cells.
        colour: include the escape sequences of a true-colour terminal.
        plain: write complete sentences without drawings and colours, for a screen reader.

    Raises:
        ArgumentError: `width` is less than 32.

    Example:
        >>> from regard.page import Item, Items, Page
        >>> print(as_text(Page("", (Items((Item("a", "DET"), Item("saw", "NOUN"))),))), end="")
        a    saw
        DET  NOUN
    """
    Terminal(width)
    written = io.StringIO()
    console = Console(
        file=written,
        width=width,
        force_terminal=colour,
        # In a notebook rich would show it there instead of writing it.
        force_jupyter=False,
        color_system="truecolor" if colour else None,
        no_color=False,
    )
    show(page, console, plain=plain)
    return written.getvalue()


def _lines(page: Page, terminal: Terminal) -> Iterator[Text]:
    started = False
    if page.title:
        yield from wrap(page.title, terminal.width, "bold")
        started = True
    for block in page.blocks:
        lines = _block(block, terminal)
        if lines and started:
            yield Text()
        yield from lines
        started = started or bool(lines)


def _block(block: Block, terminal: Terminal) -> list[Text]:
    match block:
        case Heading():
            return wrap(block.text, terminal.width, "bold")
        case Prose():
            return wrap(block.text, terminal.width)
        case Code():
            return [Text(visible(line) if line.strip() else "") for line in block.text.splitlines()]
        case Table():
            return _table(block, terminal)
        case Items():
            return _items(block, terminal)
        case Bars():
            return bar_lines(block, terminal)
        case Comparison():
            return comparison_lines(block, terminal)
        case HeatMap():
            return map_lines(block, terminal)
        case Chart():
            return chart_lines(block, terminal)
        case Pictures():
            return pictures_lines(block, terminal)


def _items(block: Items, terminal: Terminal) -> list[Text]:
    columns = [
        (
            clip(f"[{item.text}]" if item.marked else item.text, terminal.width),
            clip(item.label, terminal.width),
            clip(item.note, terminal.width),
        )
        for item in block.items
    ]
    rows = [row for row in range(3) if any(column[row] for column in columns)]
    lines: list[Text] = []
    group: list[tuple[str, str, str]] = []
    used = 0
    for column in columns:
        wide = max(map(cell_len, column))
        if group and used + wide > terminal.width:
            lines += [*_item_group(group, rows), Text()]
            group, used = [], 0
        group.append(column)
        used += wide + 2
    return lines + _item_group(group, rows)


def _item_group(group: list[tuple[str, str, str]], rows: list[int]) -> list[Text]:
    styles = ("bold", "cyan", "dim")
    lines = []
    for row in rows:
        line = Text()
        for column in group:
            line.append(column[row], styles[row])
            line.append(" " * (max(map(cell_len, column)) - cell_len(column[row]) + 2))
        line.rstrip()
        lines.append(line)
    return lines


def _table(block: Table, terminal: Terminal) -> list[Text]:
    cells = [block.columns, *block.rows]
    widths = [max(cell_len(visible(row[index])) for row in cells) for index in range(len(block.columns))]
    if sum(widths) + 2 * (len(widths) - 1) > terminal.width:
        return _stacked(block, terminal)
    lines = []
    for number, row in enumerate(cells):
        line = Text(style="dim" if number == 0 else "")
        for index, wide in enumerate(widths):
            text = visible(row[index])
            space = " " * (wide - cell_len(text))
            line.append(space + text if block.aligned(index) == "right" else text + space)
            line.append("  ")
        line.rstrip()
        lines.append(line)
    return lines


def _stacked(block: Table, terminal: Terminal) -> list[Text]:
    """A table that is too wide: one cell per line below the first cell of its row, so that nothing is cut."""
    lines: list[Text] = []
    for row in block.rows:
        if lines:
            lines.append(Text())
        lines += wrap(row[0], terminal.width, "bold")
        for name, cell in zip(block.columns[1:], row[1:], strict=True):
            if cell:
                lines += [Text("  ") + line for line in wrap(f"{name}: {cell}", terminal.width - 2)]
    return lines
