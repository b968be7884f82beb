"""The input itself with the weights of one row on it: words with arcs, or what else it is, as the page draws it."""

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


def why_no_arcs(shown: Shown) -> str:
    """Why it can't be drawn; "" if it can."""
    drawn = shown.record.input
    if isinstance(drawn, DrawnGraph) and not len(drawn.positions):
        return f"a graph of {len(shown.record.items):,} nodes has no layout, since its edges would cover each other"
    return ""


def draw_arcs(sheet: Sheet, shown: Shown) -> None:
    """Draw the input of the record."""
    title, weights = shown.row()
    match shown.record.input:
        case DrawnPicture() as drawn:
            draw_picture(sheet, shown, drawn, title, weights)
        case DrawnSound() as drawn:
            draw_sound(sheet, shown, drawn, title, weights)
        case DrawnGraph() as drawn:
            draw_graph(sheet, shown, drawn, title, weights)
        case DrawnMolecule() as drawn:
            draw_molecule(sheet, shown, drawn, title, weights)
        case DrawnTable() as drawn:
            draw_rows(sheet, shown, drawn, title, weights)
        case _:
            draw_words(sheet, shown, title, weights)
