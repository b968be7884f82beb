"""A graph, drawn where its layout says: edges as wide as the weights along them, and the chosen node framed."""

import numpy as np

from regard.inspection.figures.colours import LINE, PAPER, WEIGHT, WEIGHT_INK, weight_colours
from regard.inspection.figures.inputs.below import Below
from regard.inspection.figures.sheet import LABEL, SMALL, Sheet
from regard.inspection.figures.shown import Shown
from regard.inspection.figures.weighed import heaviest, highest, width_of
from regard.inspection.record.drawn_inputs import DrawnGraph
from regard.page.numbers import percent

__all__ = ["draw_graph"]

_MARGIN = 20.0
# Square points for each node, from which on all of them are named.
_ROOM = 1500.0
_LONGEST_NAME = 60.0


def draw_graph(sheet: Sheet, shown: Shown, drawn: DrawnGraph, weights: np.ndarray) -> Below:
    """Draw the nodes and edges, the weights along the edges, and the largest weights above their nodes."""
    items, own = shown.record.items, shown.own
    width, height = sheet.width, max(130.0, min(250.0, 0.55 * sheet.width))
    spots = [
        (_MARGIN + x * (width - 2 * _MARGIN), _MARGIN + y * (height - 2 * _MARGIN)) for x, y in drawn.positions.tolist()
    ]
    radius = 6.0 if len(items) <= 40 else 4.5 if len(items) <= 100 else 3.0
    pairs = list(zip(*drawn.edges.tolist(), strict=True))
    lines = {(min(pair), max(pair)) for pair in pairs}
    sheet.lines(np.array([[spots[a], spots[b]] for a, b in sorted(lines)]).reshape(-1, 2, 2), colour=LINE, width=0.8)
    most = heaviest(weights)
    if own is not None:
        for item in most:
            # What a node attends to may be no neighbour of it.
            if item != own and (min(item, own), max(item, own)) not in lines:
                ends = [spots[item], spots[own]]
                sheet.line(ends, colour=WEIGHT, width=width_of(float(weights[item])), alpha=0.6, dashes=(0, (1, 3)))
        along = [(a, own, float(weights[a])) for a, b in pairs if b == own and a != own and weights[a] > 0]
        for a, b, weight in sorted(along, key=lambda each: each[2]):
            sheet.line([spots[a], spots[b]], colour=WEIGHT, width=width_of(weight), alpha=0.45 + 0.4 * min(1.0, weight))
    named = range(len(items)) if width * height / len(items) >= _ROOM else dict.fromkeys([*most, own])
    for item in named:
        if item is not None:
            x, y = spots[item]
            sheet.text(
                x, y + radius + 6, sheet.clip(items[item], _LONGEST_NAME, SMALL), SMALL, align="center", on=PAPER
            )
    colours = weight_colours(weights, highest(weights))
    for item, (x, y) in enumerate(spots):
        edge, line = (WEIGHT_INK, 1.8) if item == own else (LINE, 0.6)
        sheet.disc(x, y, radius, fill=colours[item], edge=edge, line=line, gid=f"item-{item + 1}")
    for item in shown.written(weights):
        x, y = spots[item]
        sheet.text(x, y - radius - 6, percent(float(weights[item])), LABEL, align="center", on=PAPER)
    return Below(height)
