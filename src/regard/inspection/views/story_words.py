"""What is to be seen in a record, in words: the sentence of a story, and its outcomes and changes as text."""

import math

from regard.inspection.numbered import numbered
from regard.inspection.outcomes import Outcome, Outcomes, Place
from regard.inspection.record import Record
from regard.page.numbers import percent, percent_change, probability
from regard.page.visible import visible

__all__ = ["change_text", "or_zero", "quoted", "said", "sentence", "signed_percent", "size_text"]

# A change of the probability below this is called none: it may not change the percentage.
_NOTICED = 0.01
# By how much a change may differ from that of the probabilities, which a page keeps in few digits.
_ROUNDING = 0.002


def sentence(
    record: Record,
    outcomes: Outcomes,
    number: int,
    weights: tuple[float, ...],
    hidden: tuple[Outcome, ...],
    attribution: str = "",
) -> str:
    """What is to be seen: the prediction, the largest weight, and the item that changes the prediction most.

    Args:
        record, outcomes: the record, and its predictions.
        number: the number of the place, from 0.
        weights: for each item, its weight, or what the method of attribution gives for it.
        hidden: for each item, the outcome if it is hidden.
        attribution: the method; "" or "raw" for the weights as they are.
    """
    place, names = outcomes.places[number], numbered(record.items)
    own = place.query if record.queries is None and len(outcomes.places) == len(record.items) else None
    most = max(range(len(weights)), key=lambda item: abs(or_zero(weights[item])))
    attended = _attended("itself" if most == own else quoted(names[most]), weights[most], attribution)
    start = _opening(record, outcomes, place)
    others = [item for item in range(len(hidden)) if item != own]
    if not others:
        return f"{start} {attended}." + ("" if hidden else " What mattered wasn't measured.")
    found = max(others, key=lambda item: abs(or_zero(hidden[item].change)))
    if not _noticed(hidden[found], outcomes.kind):
        return f"{start} {attended}, but hiding any one {record.noun} changes next to nothing."
    change = _becomes(place, hidden[found], outcomes.kind)
    if found == most:
        return f"{start} {attended}, and hiding it changes the answer most: {change}."
    return f"{start} {attended}, but hiding {quoted(names[found])} changes the answer most: {change}."


def _attended(item: str, weight: float, attribution: str) -> str:
    """Which item has the largest weight, or contributed most."""
    if attribution in ("", "raw"):
        return f"It attended most to {item} ({percent(weight)})"
    method = f"{attribution} attention" if attribution.endswith("weighted") else attribution
    if weight < 0:
        return f"By {method}, what it took from {item} lowered the answer most ({signed_percent(weight)})"
    return f"By {method}, it took most from {item} ({percent(weight)})"


def _opening(record: Record, outcomes: Outcomes, place: Place) -> str:
    name = place.name
    if place.query is not None and len(outcomes.places) == len(record.query_items):
        name = numbered(record.query_items)[place.query]
    score = "" if place.score is None else f" ({probability(place.score)})"
    if outcomes.kind == "vectors":
        return "The output is a vector." if name == "the whole" else f"The output at {quoted(name)} is a vector."
    match outcomes.form:
        case "next":
            return f"After {quoted(name)} comes {quoted(place.label)}{score}."
        case "generated":
            return f"{quoted(name)} was written{score}."
        case _:
            subject = "The answer" if name == "the whole" else quoted(name)
            return f"{subject} is {visible(place.label)}{score}."


def _becomes(place: Place, outcome: Outcome, kind: str) -> str:
    if kind == "vectors":
        return f"the vector changes by {size_text(outcome.change, kind)} of its length"
    if kind == "numbers":
        return f"{visible(place.label)} becomes {visible(outcome.label)}"
    if outcome.label != place.label:
        return f"{_with_score(place.label, place.score)} becomes {_with_score(outcome.label, outcome.score)}"
    before, after = place.score or 0.0, outcome.score or 0.0
    verb = "falls" if after < before else "rises"
    return f"{visible(place.label)} {verb} from {probability(before)} to {probability(after)}"


def said(outcome: Outcome) -> str:
    """The prediction after a change, with its probability."""
    return _with_score(outcome.label, outcome.score)


def _with_score(label: str, score: float | None) -> str:
    return visible(label) if score is None else f"{visible(label)} {probability(score)}"


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


def _noticed(outcome: Outcome, kind: str) -> bool:
    return outcome.change != 0 if kind == "numbers" else not abs(outcome.change) < _NOTICED


def quoted(text: str) -> str:
    """A text of the input in quotation marks."""
    # Pieces of words begin with their space.
    return f'"{visible(text).strip()}"'


def or_zero(value: float) -> float:
    """The value, or 0 if it isn't finite, so that items can be sorted by it."""
    return value if math.isfinite(value) else 0.0
