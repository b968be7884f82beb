"""Predictions, changes and weights as text."""

import math

from regard.inspection.explain.outcomes import Outcome, Place
from regard.page.messages import say
from regard.page.numbers import percent, percent_change, probability
from regard.page.visible import visible

__all__ = ["change_text", "or_zero", "quoted", "said", "signed_percent", "signed_points", "size_text"]

# By how much a change may differ from that of the probabilities, which a page keeps in few digits.
_ROUNDING = 0.002


def said(prediction: Outcome | Place) -> str:
    """A prediction with its probability."""
    label, score = visible(prediction.label), prediction.score
    return label if score is None else f"{label} {probability(score)}"


def change_text(outcome: Outcome, kind: str, place: Place | None = None) -> str:
    """The change with its sign; that of a probability in percentage points.

    Args:
        outcome: what is predicted after the change.
        kind: what is predicted.
        place: what was predicted before it. If the label is the same, the change is that of the percentages which stand
            beside it; None: they don't.
    """
    if place is not None and kind == "labels" and place.label == outcome.label:
        before, after = place.score, outcome.score
        # In a record of somebody else's making, the change may be another one than theirs.
        if before is not None and after is not None and abs(after - before - outcome.change) < _ROUNDING:
            return percent_change(before, after, outcome.change)
    if math.isnan(outcome.change) or kind == "vectors":
        return size_text(outcome.change, kind)
    size = size_text(abs(outcome.change), kind)
    return size if outcome.change == 0 else f"{'-' if outcome.change < 0 else '+'}{size}"


def signed_percent(value: float) -> str:
    """A fraction that may be below 0, as a percentage."""
    return f"-{percent(-value)}" if value < 0 else percent(value)


def size_text(change: float, kind: str) -> str:
    """The size of a change: of a probability in percentage points, of a vector as a share of its length."""
    return f"{change:.4g}" if kind == "numbers" and math.isfinite(change) else percent(change)


def signed_points(value: float) -> str:
    """A difference of two weights with its sign."""
    return percent(value) if value == 0 or math.isnan(value) else f"{'-' if value < 0 else '+'}{percent(abs(value))}"


def quoted(text: str, language: str = "en") -> str:
    """A text of the input in quotation marks."""
    # Pieces of words begin with their space.
    return say("quoted", language, text=visible(text).strip())


def or_zero(value: float) -> float:
    """The value, or 0 if it isn't finite, so that items can be sorted by it."""
    return value if math.isfinite(value) else 0.0
