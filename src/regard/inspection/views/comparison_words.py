"""What differs between two records, in words. The first is called A, the second B."""

import math
from collections.abc import Iterator

from regard.inspection.alignment import Alignment
from regard.inspection.outcomes import Outcome, Outcomes, Place
from regard.inspection.record import Record
from regard.inspection.views.story_words import change_text, quoted
from regard.page.numbers import counted, percent, probability
from regard.page.visible import visible

__all__ = ["Compared", "answers_sentence", "effects_sentence", "left_out", "signed_points", "weights_sentence"]

# A difference below this may not change a percentage.
_NOTICED = 0.01

Compared = tuple[str, str]
"""The texts of something in both records."""


def answers_sentence(places: tuple[Place, Place], outcomes: tuple[Outcomes, Outcomes], names: Compared) -> str:
    """What each predicts for a place."""
    about = ""
    generated = all(each.form == "generated" for each in outcomes)
    if not generated and names != ("the whole", "the whole"):
        word = "After" if outcomes[0].form == "next" else "For"
        about = f"{word} {_both(names)}, "
    labels, scores = zip(*(_said(*each) for each in zip(places, outcomes, strict=True)), strict=True)
    if labels[0] == labels[1] and outcomes[0].kind == outcomes[1].kind:
        verb = "wrote" if generated else "give"
        parts = "" if not all(scores) else f": {scores[0]} in A, {scores[1]} in B"
        return f"{about}{'both' if about else 'Both'} {verb} {labels[0]}{parts}."
    verb = "wrote" if generated else "gives"
    texts = [f"{label} {score}".rstrip() for label, score in zip(labels, scores, strict=True)]
    return f"{about}A {verb} {texts[0]}, B {verb} {texts[1]}."


def weights_sentence(items: list[tuple[Compared, float, float]]) -> str:
    """Which weight differs most; "" if there is none to compare."""
    finite = [each for each in items if math.isfinite(each[1]) and math.isfinite(each[2])]
    if not finite:
        return ""
    names, one, other = max(finite, key=lambda each: abs(each[1] - each[2]))
    if one == other:
        return "The weights are the same."
    if abs(one - other) < _NOTICED:
        return "No weight differs by a percentage point."
    return f"The weight on {_both(names)} differs most: {percent(one)} in A, {percent(other)} in B."


def effects_sentence(items: list[tuple[Compared, Outcome, Outcome]], kind: str, places: tuple[Place, Place]) -> str:
    """Which item differs most in what hiding it changes; "" if none does, or if that wasn't measured."""
    finite = [each for each in items if math.isfinite(each[1].change) and math.isfinite(each[2].change)]
    if not finite:
        return ""
    names, one, other = max(finite, key=lambda each: abs(each[1].change - each[2].change))
    gap = abs(one.change - other.change)
    if gap == 0 or (kind != "numbers" and gap < _NOTICED):
        return ""
    texts = [change_text(each, kind, place) for each, place in zip((one, other), places, strict=True)]
    return f"The effect of hiding {_both(names)} differs most: {texts[0]} in A, {texts[1]} in B."


def left_out(first: Record, second: Record, alignment: Alignment) -> Iterator[str]:
    """What can't be compared, and why, in sentences."""
    nouns = first.noun, second.noun
    alone = "so no item of one has a partner in the other, and single weights aren't compared."
    match alignment.obstacle:
        case "kinds":
            yield f"A is a {alignment.kinds[0]} and B a {alignment.kinds[1]}, {alone}"
        case "sizes":
            texts = [counted(len(each.items), each.noun) for each in (first, second)]
            yield f"A has {texts[0]} and B {texts[1]}, {alone}"
        case "queries":
            yield f"In one record the items attend to each other, in the other what is written attends to them, {alone}"
        case _:
            for pairs, names in ((alignment.items, nouns), (alignment.queries, ("piece", "piece"))):
                counts = [sum(each[other] is None for each in pairs) for other in (1, 0)]
                found = [
                    f"{counted(count, noun)} of {side}"
                    for count, noun, side in zip(counts, names, "AB", strict=True)
                    if count
                ]
                if found:
                    verb = "has" if sum(counts) == 1 else "have"
                    yield f"{' and '.join(found)} {verb} no partner, so the difference leaves {_it(sum(counts))} out."
                if alignment.queries is alignment.items:
                    break
    layers = len(first.layers), len(second.layers)
    if layers[0] != layers[1]:
        yield f"A has {counted(layers[0], 'layer')} and B {layers[1]}. Layers and heads are compared by their numbers."
    if first.outcomes is None or second.outcomes is None:
        return
    kinds = first.outcomes.kind, second.outcomes.kind
    if kinds[0] != kinds[1]:
        yield f"A predicts {kinds[0]} and B {kinds[1]}, so their effects aren't compared."
    measured = [bool(each.outcomes and each.outcomes.hidden) for each in (first, second)]
    if measured[0] != measured[1]:
        yield f"What mattered wasn't measured in {'B' if measured[0] else 'A'}."


def signed_points(value: float) -> str:
    """A difference of two weights with its sign."""
    return percent(value) if value == 0 or math.isnan(value) else f"{'-' if value < 0 else '+'}{percent(abs(value))}"


def _it(count: int) -> str:
    return "it" if count == 1 else "them"


def _both(names: Compared) -> str:
    return quoted(names[0]) if names[0] == names[1] else f"{quoted(names[0])} / {quoted(names[1])}"


def _said(place: Place, outcomes: Outcomes) -> Compared:
    """A prediction and its probability; "" if it has none."""
    if outcomes.kind == "vectors":
        return "a vector", ""
    label = visible(place.label) if outcomes.form == "item" else quoted(place.label)
    return label, "" if place.score is None else probability(place.score)
