"""Predictions, changes and weights as text."""

import math
import re
from typing import TypeVar

from regard.inspection.explain.outcomes import Outcome, Place
from regard.page.messages import say
from regard.page.numbers import decimals_of, in_decimals, in_points, percent, probability, rounded_text
from regard.page.visible import visible

__all__ = [
    "change_text",
    "is_shown_noise",
    "is_unchanged",
    "item_name",
    "likelier_than",
    "or_zero",
    "quoted",
    "rounded",
    "said",
    "signed_percent",
    "size_text",
    "without_text",
]

Prediction = TypeVar("Prediction", Outcome, Place)
# By how much a change may differ from that of the probabilities, which a page keeps in few digits.
_ROUNDING = 0.002
# A number without an exponent.
_WRITTEN = re.compile(r"-?\d+(?:\.(\d+))?")


def said(prediction: Outcome | Place) -> str:
    """A prediction with its probability."""
    label, score = visible(prediction.label), prediction.score
    return label if score is None else f"{label} {probability(score)}"


def rounded(prediction: Prediction, error: float | None) -> Prediction:
    """A prediction whose number is written with as many decimals as the error of the model has.

    Args:
        prediction: the prediction; a label isn't changed.
        error: as `Outcomes.error`; None: it isn't known, or there are no numbers.

    Example:
        >>> rounded(Place("the whole", None, "-5.226", None), 0.8145).label
        '-5.23'
    """
    decimals = None if error is None else decimals_of(error)
    return prediction if decimals is None else prediction._replace(label=rounded_text(prediction.label, decimals))


def change_text(
    outcome: Outcome, kind: str, place: Place | None = None, language: str = "en", error: float | None = None
) -> str:
    """The change: of a label's probability from what to what, of a number with its sign, of a vector its size.

    What is written alike before and after is unchanged, and a number changes by what its written ones differ by. A
    change that can't be told from noise says so.

    Args:
        outcome: what is predicted after the change.
        kind: what is predicted.
        place: what was predicted before it; None: a change of a probability is told in percentage points.
        language: "en" or "zh".
        error: the error of the model, of which numbers have the decimals; None: they have two significant digits.

    Example:
        >>> place = Place("saw", 0, "NOUN", 0.8)
        >>> verb = Outcome("VERB", 0.55, -0.76)
        >>> change_text(verb, "labels", place), change_text(verb, "labels")
        ('80% -> 4%', '-76 points')
        >>> change_text(Outcome("NOUN", 0.802, 0.002), "labels", place)
        'unchanged'
        >>> whole = Place("the whole", None, "-5.226", None)
        >>> outcomes = Outcome("-5.3", None, -0.0741), Outcome("-5.227", None, -0.0007), Outcome("-5.224", None, 0.002)
        >>> [change_text(outcome, "numbers", whole, error=0.81) for outcome in outcomes]
        ['-0.07', 'unchanged', '+0.01']
    """
    noise = say("asNoise", language) if is_shown_noise(outcome, kind, place, error) else ""
    return f"{_told(outcome, kind, place, language, error)}{noise}"


def is_shown_noise(outcome: Outcome, kind: str, place: Place | None = None, error: float | None = None) -> bool:
    """Whether a change is marked as noise, by `change_text` of the same: one that is written as none needs no mark."""
    return outcome.above_noise is False and not is_unchanged(outcome, kind, place, error)


def is_unchanged(outcome: Outcome, kind: str, place: Place | None = None, error: float | None = None) -> bool:
    """Whether a change is written as none, by `change_text` of the same."""
    return outcome.change == 0 or _told(outcome, kind, place, "en", error) == say("unchanged")


def _told(outcome: Outcome, kind: str, place: Place | None, language: str, error: float | None) -> str:
    change = outcome.change
    if place is not None and kind == "labels" and place.score is not None and math.isfinite(change):
        after = place.score + change
        # In a record of somebody else's making, the change may be another one than that of the probabilities.
        score = outcome.score if place.label == outcome.label else None
        if score is not None and abs(score - after) < _ROUNDING:
            after = score
        if -_ROUNDING < after < 1 + _ROUNDING:
            texts = probability(place.score), probability(after)
            if texts[0] != texts[1]:
                return " -> ".join(texts)
            # An answer that becomes another one isn't unchanged.
            if outcome.label == place.label:
                return say("unchanged", language)
    if math.isnan(change) or kind == "vectors":
        return size_text(change, kind)
    if kind == "numbers" and (written := _written_change(outcome, place, error)) is not None:
        digits = written.lstrip("-")
        return ("-" if written != digits else "+") + digits if float(digits) else say("unchanged", language)
    size = size_text(abs(change), kind, error)
    if kind == "numbers" and error and not float(size):
        return size if place is None else say("unchanged", language)
    if change == 0:
        return size
    sign = "-" if change < 0 else "+"
    return in_points(f"{sign}{percent(abs(change))}", language) if kind == "labels" else f"{sign}{size}"


def _written_change(outcome: Outcome, place: Place | None, error: float | None) -> str | None:
    """The change of a number as that of the two numbers that are written; None if these don't say it."""
    if place is None or error is None or decimals_of(error) is None:
        return None
    labels = rounded(place, error).label, rounded(outcome, error).label
    before, after = map(_WRITTEN.fullmatch, labels)
    if before is None or after is None:
        return None
    most = max(len(each[1] or "") for each in (before, after))
    text = in_decimals(float(after[0]) - float(before[0]), most)
    # In a record of somebody else's making, the change may be another one; a page keeps it in few digits.
    same = abs(float(text) - outcome.change) <= 1.5 * 10**-most + _ROUNDING * abs(outcome.change)
    return text if same else None


def signed_percent(value: float) -> str:
    """A fraction that may be below 0, as a percentage. Less than one has no sign, which nobody reads before "<"."""
    size = percent(abs(value))
    return f"-{size}" if value < 0 and not size.startswith("<") else size


def size_text(change: float, kind: str, error: float | None = None) -> str:
    """The size of a change: of a probability in percentage points, of a vector as a share of its length, of a number
    with the decimals of the model's error, or two significant digits where that isn't known.
    """
    if kind == "numbers" and math.isfinite(change):
        decimals = None if error is None else decimals_of(error)
        return f"{change:.2g}" if decimals is None else in_decimals(change, decimals)
    return in_points(percent(change)) if kind == "labels" else percent(change)


def without_text(outcome: Outcome, kind: str, place: Place) -> str:
    """What is predicted after a change: a label that stays the same without its probability, which the change tells.

    It is "" where a piece was written that isn't the likeliest: that it stays so is no prediction of it.
    """
    if kind != "labels" or outcome.label != place.label or place.score is None:
        return said(outcome)
    return "" if place.likelier else visible(outcome.label)


def likelier_than(place: Place, language: str = "en") -> str:
    """The end of a sentence about a piece of a text: which one was likelier, with its probability; "": none was.

    Example:
        >>> likelier_than(Place(".", 0, ".", 0.16, ("is", 0.56))), likelier_than(Place("man", 0, "man", 0.9))
        (', though "is" was likelier (56%)', '')
    """
    if place.likelier is None:
        return ""
    piece, chance = place.likelier
    label = quoted(piece, language)
    # Some vocabularies have a piece twice, with a space in front of it and without.
    if label == quoted(place.label, language):
        label = say("another", language, label=label)
    return say("likelier", language, label=label, sure=say("sure", language, share=probability(chance)))


def quoted(text: str, language: str = "en") -> str:
    """A text of the input in quotation marks."""
    # Pieces of words begin with their space.
    return say("quoted", language, text=visible(text).strip())


def item_name(name: str, on_grid: bool, language: str = "en") -> str:
    """An item as a sentence names it: a text in quotation marks, a patch of a picture by its row and column.

    Example:
        >>> item_name("3,2", True), item_name("3,2", True, "zh"), item_name("3,2", False)
        ('row 3, column 2', '第 3 行第 2 列', '"3,2"')
    """
    place = re.fullmatch(r"(\d+),(\d+)", name) if on_grid else None
    return say("patchAt", language, row=place[1], column=place[2]) if place else quoted(name, language)


def or_zero(value: float) -> float:
    """The value, or 0 if it isn't finite, so that items can be sorted by it."""
    return value if math.isfinite(value) else 0.0
