"""The input itself with the weights of one row on it: words with arcs, or what else it is, as the page draws it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from regard.inspection.figures.inputs.below import Below, draw_below
from regard.inspection.figures.inputs.graph import draw_graph
from regard.inspection.figures.inputs.molecule import draw_molecule
from regard.inspection.figures.inputs.picture import draw_picture
from regard.inspection.figures.inputs.rows import draw_rows
from regard.inspection.figures.inputs.sound import draw_sound
from regard.inspection.figures.inputs.words import draw_words
from regard.inspection.figures.sheet import Sheet
from regard.inspection.figures.shown import Shown
from regard.inspection.record.drawn_inputs import DrawnGraph, DrawnMolecule, DrawnPicture, DrawnSound, DrawnTable

__all__ = ["draw_arcs", "why_no_arcs"]

# What is none of these is drawn as words.
_DRAWN: dict[type, Callable[[Sheet, Shown, Any, np.ndarray], Below]] = {
    DrawnPicture: draw_picture,
    DrawnSound: draw_sound,
    DrawnGraph: draw_graph,
    DrawnMolecule: draw_molecule,
    DrawnTable: draw_rows,
}


def why_no_arcs(shown: Shown) -> str:
    """Why it can't be drawn; "" if it can."""
    drawn = shown.record.input
    if isinstance(drawn, DrawnGraph) and not len(drawn.positions):
        return f"a graph of {len(shown.record.items):,} nodes has no layout, since its edges would cover each other"
    return ""


def draw_arcs(sheet: Sheet, shown: Shown) -> None:
    """Draw the input of the record."""
    title, weights = shown.row()
    drawn = shown.record.input
    draw = _DRAWN.get(type(drawn))
    if draw is None:
        draw_words(sheet, shown, title, weights)
    else:
        draw_below(sheet, shown, draw(sheet, shown, drawn, weights), title, weights)
