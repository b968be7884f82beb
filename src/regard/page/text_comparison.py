"""Two values of each item as text: two bars with their numbers beside each other, one line for each item."""

from rich.cells import cell_len
from rich.text import Text

from regard.page.blocks import ComparedItem, Comparison
from regard.page.numbers import percent
from regard.page.terminal import Terminal
from regard.page.text_bars import bar_of
from regard.page.visible import clip, visible
from regard.page.wrapping import fit, wrap

__all__ = ["comparison_lines"]

_LONGEST_BAR, _SHORTEST_BAR = 16, 4


def comparison_lines(block: Comparison, terminal: Terminal) -> list[Text]:
    """Draw the items with their two values; in a narrow terminal without bars."""
    gap = "  " if terminal.width >= 60 else " "
    written = [_written(row) for row in block.rows]
    notes = [clip(row.note, 24) for row in block.rows] if block.third else []
    label = min(_widest(block.noun, *(row.label for row in block.rows)), terminal.width // 4)
    numbers = [_widest(*column) for column in zip(*written, strict=True)] if written else [0, 0]
    note = min(_widest(block.third, *notes), 24) if notes else 0
    columns = 2 if block.measured else 1
    left = terminal.width - label - sum(numbers[:columns]) - (note + len(gap) if note else 0) - columns * (len(gap) + 1)
    bar = min(left // columns, _LONGEST_BAR)
    bar = bar if bar >= _SHORTEST_BAR else 0
    widths = [max(bar + 1 + number if bar else number, 0) for number in numbers[:columns]]
    widths = [max(width, len(name)) for width, name in zip(widths, (block.first, block.second), strict=False)]
    head = Text(fit(block.noun, label), "dim")
    for width, name in zip(widths, (block.first, block.second), strict=False):
        head.append(gap + fit(name, width))
    if note:
        head.append(gap + block.third)
    head.rstrip()
    lines = [*wrap(block.title, terminal.width, "bold"), head]
    for row, texts in zip(block.rows, written, strict=True):
        line = Text()
        line.append(fit(row.label, label), "bold")
        values = (row.first, 0.0 if row.second is None else row.second)
        for index in range(columns):
            drawn = bar_of(values[index], block.highs[index] or 1.0, bar, terminal.ascii) if bar else ""
            line.append(gap)
            line.append(fit(drawn, bar) + " " if bar else "", ("blue", "yellow")[index])
            number = f"{texts[index]:>{numbers[index]}}"
            line.append(fit(number, widths[index] - (bar + 1 if bar else 0)))
        if note:
            line.append(gap)
            line.append(clip(row.note, note), "cyan")
        line.rstrip()
        lines.append(line)
    if block.others:
        lines.append(Text(block.rest, "dim"))
    return lines


def _written(row: ComparedItem) -> tuple[str, str]:
    return percent(row.first), row.written


def _widest(*texts: str) -> int:
    return max(cell_len(visible(text)) for text in texts)
