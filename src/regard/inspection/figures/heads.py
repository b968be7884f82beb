"""All heads, small, on one scale: each with its pattern, and with the answer that is left without it."""

from regard.inspection.explain.outcomes import Outcome
from regard.inspection.figures.colours import EFFECT, EFFECT_INK, INK, LINE, QUIET
from regard.inspection.figures.drawn_cells import cells_of, high_of
from regard.inspection.figures.legend import draw_legend
from regard.inspection.figures.sheet import SMALL, Sheet
from regard.inspection.figures.shown import Shown
from regard.inspection.figures.weighed import full_change, with_minus
from regard.inspection.views.outcome_text import change_text, or_zero, said, size_text
from regard.inspection.views.removed_heads import layer_patterns
from regard.inspection.views.story import long_change

__all__ = ["draw_heads"]

# The most cells on a side of a head.
_CELLS = 64
_LARGEST, _GAP = 76.0, 7.0
# With more cells than these, each head is an image.
_MOST_VECTOR = 4096
# Narrower heads have no words of their own.
_LEAST_WORDS = 40.0
_LINE = 9.0


def draw_heads(sheet: Sheet, shown: Shown) -> None:
    """Draw a row of heads for each layer, the last one on top as it came last."""
    layers = shown.layers()
    record, place, outcomes = shown.record, shown.place, shown.outcomes
    removed = [[head[shown.number] for head in layer] for layer in outcomes.removed[-len(layers) :]]
    most = max(layer.heads for layer in layers)
    pooling = not record.layers
    left = sheet.size("layer 10" if not pooling else "pooling", SMALL)[0] + 6
    gap = _GAP if most <= 12 else 2.0
    side = min(_LARGEST, (sheet.width - left - gap * (most - 1)) / most)
    words = side >= _LEAST_WORDS
    found = [cells_of(layer, list(range(layer.heads)), _CELLS) for layer in layers]
    vector = sum(head.sums.size for layer in found for head in layer) <= _MOST_VECTOR
    high = high_of([head for layer in found for head in layer])
    sizes = (abs(or_zero(each.change)) for row in removed for each in row)
    full = full_change(sizes, long_change(outcomes, outcomes.kind))
    y = 0.0
    for number in reversed(range(len(layers))):
        layer = layers[number]
        patterns = [""] * layer.heads if pooling else layer_patterns(record, number + 1)
        rows, columns = found[number][0].sums.shape
        tall = side * min(1.5, max(rows / columns, 10 / side))
        sheet.text(
            left - 6,
            y + tall / 2,
            layers[number].name if pooling else f"layer {number + 1}",
            SMALL,
            colour=QUIET,
            align="right",
        )
        for head in range(layer.heads):
            x = left + head * (side + gap)
            pixels = found[number][head].pixels(high)
            if vector:
                sheet.cells(x, y, (side / columns, tall / rows), pixels, gid=f"head-{number + 1}.{head + 1}")
            else:
                sheet.image(x, y, side, tall, pixels)
            sheet.box(x, y, side, tall, edge=LINE, line=0.6)
            outcome = removed[number][head] if removed else None
            if outcome is not None:
                sheet.box(x, y + tall + 1.6, side * min(1.0, abs(or_zero(outcome.change)) / full), 1.8, fill=EFFECT)
            if words:
                name = f"head {head + 1}" if pooling else f"{number + 1}.{head + 1}"
                below = _draw_name(sheet, x, y + tall + 9, side, name, patterns[head])
                if outcome is not None:
                    _draw_outcome(sheet, x, below, side, outcome, shown)
        y += tall + (_words_height(patterns, removed) if words else 5 if removed else 0) + gap
    if not words:
        for head in range(0, most, 1 if side > 12 else 4):
            at = left + head * (side + gap) + side / 2
            sheet.text(at, y - gap + 5, str(head + 1), min(SMALL, 0.6 * side + 2), colour=QUIET, align="center")
        y += 9
    y = draw_legend(sheet, y + 4, _title(words, pooling), high, left=left)
    if removed:
        kind = {"labels": "the probability", "numbers": "the number", "vectors": "the vector"}[outcomes.kind]
        of = f" of {place.label}" if outcomes.kind == "labels" and place.label else ""
        sheet.box(left, y + 7, 14, 1.8, fill=EFFECT)
        note = f"how {kind}{of} changes without the head, up to {size_text(full, outcomes.kind, outcomes.error)}"
        sheet.paragraph(left + 18, y + 3, note, sheet.width - left - 18, colour=QUIET)


def _title(words: bool, pooling: bool) -> str:
    if pooling:
        return "Pooling: the weight of each item"
    names = "2.1 is head 1 of layer 2" if words else "columns are heads, counted from 1"
    return f"Rows attend to columns; {names}"


def _words_height(patterns: list[str], removed: list[list[Outcome]]) -> float:
    return 5.0 + _LINE * (1 + any(patterns) + bool(removed))


def _draw_name(sheet: Sheet, x: float, y: float, width: float, name: str, pattern: str) -> float:
    """Write the name of a head and its pattern, below if it doesn't fit beside it; the result is the next line."""
    sheet.text(x, y, name, SMALL, bold=True)
    after = x + sheet.size(f"{name} ", SMALL, bold=True)[0]
    if pattern and sheet.size(pattern, SMALL)[0] <= width - (after - x):
        sheet.text(after, y, pattern, SMALL, colour=QUIET)
    elif pattern:
        y += _LINE
        sheet.text(x, y, sheet.clip(pattern, width, SMALL), SMALL, colour=QUIET)
    return y + _LINE


def _draw_outcome(sheet: Sheet, x: float, y: float, width: float, outcome: Outcome, shown: Shown) -> None:
    """Write the answer that is left, or how it changes."""
    kind, place = shown.outcomes.kind, shown.place
    change = change_text(outcome, kind, place, error=shown.outcomes.error)
    text = said(outcome) if kind == "labels" else with_minus(change)
    changed = kind == "labels" and outcome.label != shown.place.label
    sheet.text(x, y, sheet.clip(text, width, SMALL), SMALL, colour=EFFECT_INK if changed else INK)
