"""What a change of a prediction is in a sentence: from what to what, or how long a difference; and what is noise."""

from collections.abc import Iterator, Sequence

from regard.inspection.explain.outcomes import Kind, Outcome, Place
from regard.inspection.views.outcome_text import change_text, is_shown_noise, quoted, size_text
from regard.page.messages import say
from regard.page.numbers import probability
from regard.page.visible import visible

__all__ = ["about_noise", "change_words"]


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


def about_noise(named: Sequence[tuple[str, Outcome]], place: Place, kind: Kind, error: float | None) -> Iterator[str]:
    """What "noise" means, if a change is called that; of two that read the same, one noise, the floors.

    Args:
        named: the name of each change, as a sentence has it, and the outcome.
        place, kind, error: as in `change_text`.

    Example:
        >>> outcomes = Outcome("NOUN", 0.6, -0.2, 0.25), Outcome("NOUN", 0.6, -0.2, 0.12)
        >>> told = [*about_noise([*zip(("1.1", "2.1"), outcomes)], Place("saw", 0, "NOUN", 0.8), "labels", None)]
        >>> told[1].partition(": ")[2]
        '25 points for 1.1, 12 points for 2.1.'
    """
    noise = [(name, outcome) for name, outcome in named if is_shown_noise(outcome, kind, place, error)]
    if not noise:
        return
    yield say("noiseMeans")

    def told(outcome: Outcome) -> tuple[str, str]:
        change = change_text(outcome._replace(noise_floor=None), kind, place, error=error)
        return change, size_text(outcome.noise_floor or 0.0, kind, error)

    above: dict[str, list[tuple[str, str]]] = {}
    for name, outcome in named:
        if outcome.above_noise:
            change, floor = told(outcome)
            above.setdefault(change, []).append((name, floor))
    for name, outcome in noise:
        change, floor = told(outcome)
        for second, other in above.get(change, ()):
            if other != floor:
                yield say("noiseFloors", name=name, one=floor, second=second, other=other)
                return


def _label(prediction: Place | Outcome, words: bool, language: str) -> str:
    """A label, in quotation marks if labels are words of a text, which would read as part of the sentence."""
    return quoted(prediction.label, language) if words else visible(prediction.label)


def _sure(prediction: Place | Outcome, words: bool, language: str) -> str:
    """A prediction with its probability in brackets: a label may be a number itself."""
    label, score = _label(prediction, words, language), prediction.score
    return label if score is None else label + say("sure", language, share=probability(score))
