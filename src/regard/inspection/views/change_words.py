"""What a change of a prediction is in a sentence: from what to what, or how long a difference."""

from regard.inspection.explain.outcomes import Outcome, Place
from regard.inspection.views.outcome_text import quoted, size_text
from regard.page.messages import say
from regard.page.numbers import probability
from regard.page.visible import visible

__all__ = ["change_words"]


def change_words(place: Place, outcome: Outcome, kind: str, words: bool, language: str) -> str:
    """A change as a part of a sentence.

    Args:
        place, outcome: what is predicted without the change, and with it.
        kind: what is predicted.
        words: whether labels are words of a text.
        language: "en" or "zh".

    Example:
        >>> change_words(Place("saw", 0, "NOUN", 0.8), Outcome("VERB", 0.55, -0.76), "labels", False, "en")
        'NOUN (80%) becomes VERB (55%)'
    """
    if kind == "vectors":
        return say("vectorChanges", language, size=size_text(outcome.change, kind))
    before, after = (_sure(each, words, language) for each in (place, outcome))
    if kind == "numbers" or outcome.label != place.label:
        return say("becomes", language, before=before, after=after)
    scores = place.score or 0.0, outcome.score or 0.0
    shares = {"from": probability(scores[0]), "to": probability(scores[1])}
    message = "falls" if scores[1] < scores[0] else "rises"
    return say(message, language, label=_label(place, words, language), before=before, after=after, **shares)


def _label(prediction: Place | Outcome, words: bool, language: str) -> str:
    """A label, in quotation marks if labels are words of a text, which would read as part of the sentence."""
    return quoted(prediction.label, language) if words else visible(prediction.label)


def _sure(prediction: Place | Outcome, words: bool, language: str) -> str:
    """A prediction with its probability in brackets: a label may be a number itself."""
    label, score = _label(prediction, words, language), prediction.score
    return label if score is None else label + say("sure", language, share=probability(score))
