"""What stands below an input that is drawn: items that have no place in it, the answers, and the legend."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from regard.inspection.figures.colours import INK
from regard.inspection.figures.inputs.chips import answer_chips, draw_chips, place_chips
from regard.inspection.figures.legend import draw_legend
from regard.inspection.figures.sheet import LABEL, Sheet
from regard.inspection.figures.shown import Shown
from regard.inspection.figures.weighed import highest
from regard.inspection.views.uniform import equal_share
from regard.page.numbers import percent

__all__ = ["Below", "draw_below"]

_MOST_ANSWERS, _MOST_APART = 40, 8


class Below(NamedTuple):
    """What an input that is drawn leaves to say.

    Args:
        y: where its drawing ends.
        cover: as in `draw_legend`.
        apart: the items without a place, of which those with the largest weights are named.
    """

    y: float
    cover: float | None = None
    apart: Sequence[int] = ()


def draw_below(sheet: Sheet, shown: Shown, below: Below, title: str, weights: np.ndarray) -> None:
    """Draw what is left to say of the weights; `title` says whose they are."""
    y = below.y + 6
    if below.apart:
        named = sorted(below.apart, key=lambda item: -float(np.nan_to_num(weights[item])))[:_MOST_APART]
        text = ", ".join(f"{shown.record.items[item]} {percent(float(weights[item]))}" for item in sorted(named))
        sheet.text(0, y + 5, sheet.clip(f"besides: {text}", sheet.width), LABEL, colour=INK)
        y += 14
    answers = answer_chips(shown, _MOST_ANSWERS)
    if answers:
        # Many answers, as those to several questions, are small.
        size = 13.0 if len(answers) <= 12 else 9.5
        placed = place_chips(sheet, answers, size, top=y, apart=3.0, left=0.0)
        draw_chips(sheet, placed, size)
        y = placed[-1].y + placed[-1].height + 8
    elif shown.answer:
        sheet.text(0, y + 6, sheet.clip(shown.answer, sheet.width, 10.0, bold=True), 10.0, bold=True)
        y += 18
    equal, among = equal_share([weights.tolist()], shown.allowed), shown.allowed if shown.allowed < len(weights) else 0
    draw_legend(sheet, y + 2, title, highest(weights), cover=below.cover, equal=equal, among=among)
