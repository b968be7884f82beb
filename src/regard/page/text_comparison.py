"""Two values of each item as text: two bars with their numbers beside each other, one line for each item."""

from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from regard.page.blocks import ComparedItem, Comparison
from regard.page.numbers import percent
from regard.page.terminal import Terminal
from regard.page.text_bars import bar_from
from regard.page.visible import clip, visible
from regard.page.wrapping import fit, wrap

__all__ = ["comparison_lines"]

_LONGEST_BAR, _SHORTEST_BAR, _LONGEST_NOTE = 16, 4, 24
_STYLES = ("blue", "yellow")


@dataclass(frozen=True)
class _Columns:
    """The widths: of the label, the bars (0: none), the numbers, the columns of both, and the note (0: below)."""

    label: int
    bar: int
    numbers: list[int]
    values: list[int]
    note: int
    gap: str


def comparison_lines(block: Comparison, terminal: Terminal) -> list[Text]:
    """Draw the items with their two values; in a narrow terminal without bars, and with the notes below."""
    columns = _columns(block, terminal.width)
    head = Text(fit(block.noun, columns.label), "dim")
    for width, name in zip(columns.values, (block.first, block.second), strict=False):
        head.append(columns.gap + fit(name, width))
    if columns.note:
        head.append(columns.gap + block.third)
    head.rstrip()
    lines = [*wrap(block.title, terminal.width, "bold"), head]
    for row in block.rows:
        lines += _row(row, block, columns, terminal)
    if block.rest:
        lines += wrap(block.rest, terminal.width, "dim")
    return lines


def _columns(block: Comparison, width: int) -> _Columns:
    gap = "  " if width >= 60 else " "
    names = (block.first, block.second) if block.measured else (block.first,)
    written = [_written(row) for row in block.rows]
    numbers = [max([0, *(cell_len(texts[index]) for texts in written)]) for index in range(len(names))]
    values = [max(number, len(name)) for number, name in zip(numbers, names, strict=True)]
    label = min(max(cell_len(visible(text)) for text in (block.noun, *(row.label for row in block.rows))), width // 4)
    used = label + sum(values) + len(gap) * len(values)
    note = 0
    if block.third and block.rows:
        note = max(len(block.third), *(min(cell_len(visible(row.note)), _LONGEST_NOTE) for row in block.rows))
        # Where there is no room beside them, the notes stand below.
        note = note if used + len(gap) + note <= width else 0
    left = width - label - len(gap) * len(values) - sum(numbers) - (len(gap) + note if note else 0)
    bar = min(left // len(values) - 1, _LONGEST_BAR)
    bar = bar if bar >= _SHORTEST_BAR else 0
    if bar:
        values = [max(bar + 1 + number, value) for number, value in zip(numbers, values, strict=True)]
    return _Columns(label, bar, numbers, values, note, gap)


def _row(row: ComparedItem, block: Comparison, columns: _Columns, terminal: Terminal) -> list[Text]:
    line = Text(fit(row.label, columns.label), "bold")
    values, texts = (row.first, row.second or 0.0), _written(row)
    for index, width in enumerate(columns.values):
        line.append(columns.gap)
        if columns.bar:
            share, high = block.zeros[index], block.highs[index] or 1.0
            # Both ways have a cell or more.
            zero = min(max(round(columns.bar * share), int(share > 0)), columns.bar - int(share < 1))
            drawn = bar_from(zero, values[index], high, columns.bar, terminal.ascii)
            line.append(fit(drawn, columns.bar) + " ", _STYLES[index])
        number = f"{texts[index]:>{columns.numbers[index]}}"
        line.append(fit(number, width - (columns.bar + 1 if columns.bar else 0)), "not bold")
    if columns.note:
        line.append(columns.gap)
        line.append(clip(row.note, columns.note), "not bold cyan")
    line.rstrip()
    if columns.note or not (block.third and row.note):
        return [line]
    return [line, *(Text("  ") + each for each in wrap(row.note, terminal.width - 2, "cyan"))]


def _written(row: ComparedItem) -> tuple[str, str]:
    return row.first_written or percent(row.first), row.written
