"""Rankings as text: one line per entry with a small bar, all in common columns."""

import math
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from regard.page.blocks import Bars, Ranking
from regard.page.numbers import percent
from regard.page.terminal import Terminal
from regard.page.visible import clip
from regard.page.wrapping import fit, wrap

__all__ = ["bar_from", "bar_lines"]

_EIGHTHS = "▏▎▍▌▋▊▉█"
_NUMBER = 6
_LONGEST_BAR = 24
_NOTHING = "nothing"


@dataclass(frozen=True)
class _Columns:
    """The widths of the columns, and the gap after each of the first three."""

    label: int
    note: int
    entry: int
    bar: int
    gap: str


def bar_lines(block: Bars, terminal: Terminal) -> list[Text]:
    """Draw rankings: the item, its entries with bars, weights and cumulative sums, and the rest."""
    columns = _columns(block, terminal)
    gap = columns.gap
    head = Text(fit(block.noun, columns.label) + gap, "dim")
    if columns.note:
        head.append(" " * columns.note + gap)
    head.append(fit(block.verb, columns.entry + len(gap) + columns.bar) + " ")
    head.append(f"{'weight':>{_NUMBER}} {'total':>{_NUMBER}}")
    lines = [*wrap(block.title, terminal.width, "bold"), head]
    for ranking in block.rankings:
        lines += _ranking(ranking, columns, block.high, terminal.ascii)
    if block.high > 1.0:
        lines.append(Text(f"A full bar is {percent(block.high)}.", "dim"))
    return lines


def _columns(block: Bars, terminal: Terminal) -> _Columns:
    def longest(texts: list[str], least: str, most: int) -> int:
        return min(max(cell_len(least), *(cell_len(clip(text, most)) for text in texts), 1), most)

    labels = [ranking.label for ranking in block.rankings] or [""]
    notes = [ranking.note for ranking in block.rankings] or [""]
    entries = [bar.label for ranking in block.rankings for bar in ranking.bars] or [""]
    entries += [_others(ranking) if ranking.bars or ranking.others else _NOTHING for ranking in block.rankings]
    most = min(terminal.width // 4, (terminal.width - 2 * _NUMBER - 6) // 2)
    label = longest(labels, block.noun, most)
    entry = longest(entries, "", most)
    # The label of an item is shown only if there is enough room.
    note = longest(notes, "", 12) if any(notes) and terminal.width >= 60 else 0
    gap = "  " if terminal.width >= 60 else " "
    texts = [label, note, entry] if note else [label, entry]
    left = terminal.width - sum(texts) - len(texts) * len(gap) - 2 * (_NUMBER + 1)
    return _Columns(label, note, entry, max(1, min(left, _LONGEST_BAR)), gap)


def _ranking(ranking: Ranking, columns: _Columns, high: float, ascii: bool) -> list[Text]:
    rows = [(bar.label, bar_of(bar.value, high, columns.bar, ascii), bar.value, bar.total, "") for bar in ranking.bars]
    if ranking.others:
        rows.append((_others(ranking), "", ranking.rest, ranking.total, "dim"))
    if not rows:
        rows.append((_NOTHING, "", 0.0, 0.0, "dim"))
    lines = []
    for number, (label, bar, value, total, style) in enumerate(rows):
        line = Text()
        line.append(fit(ranking.label if number == 0 else "", columns.label) + columns.gap, "bold")
        if columns.note:
            line.append(fit(ranking.note if number == 0 else "", columns.note) + columns.gap, "cyan")
        line.append(fit(label, columns.entry) + columns.gap, style)
        line.append(bar + " " * (columns.bar - len(bar)) + " ", "blue")
        line.append(f"{percent(value):>{_NUMBER}} ", style)
        line.append(f"{percent(total):>{_NUMBER}}", "dim")
        lines.append(line)
    return lines


def _others(ranking: Ranking) -> str:
    return f"{ranking.others} other{'s' if ranking.others > 1 else ''}" if ranking.others else ""


def bar_from(zero: int, value: float, high: float, width: int, ascii: bool) -> str:
    """A bar that begins after so many cells, and goes to the left if the value is below 0."""
    if value >= 0 or not zero:
        # Where it begins is rounded to a cell, so that it may reach beyond the last one.
        return " " * zero + bar_of(value, high, width, ascii)[: width - zero] if value > 0 else ""
    halves = min(2 * zero, max(1, round(2 * width * min(-value / high, 1.0)))) if math.isfinite(value) else 0
    cells = "#" * max(1, halves // 2) if ascii else "▐" * (halves % 2) + "█" * (halves // 2)
    return f"{cells:>{zero}}" if halves else ""


def bar_of(value: float, high: float, width: int, ascii: bool) -> str:
    """A bar of so many cells for the value `high`."""
    if not math.isfinite(value) or value <= 0.0:
        return ""
    # Every value above zero gets at least the smallest bar.
    eighths = max(1, round(8 * width * min(value / high, 1.0)))
    if ascii:
        return "#" * max(1, round(eighths / 8))
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8 - 1] if eighths % 8 else "")
