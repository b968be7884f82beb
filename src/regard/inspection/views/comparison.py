"""What differs between two records: of two models, of two inputs, or of one model before and after training."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from regard.errors import ArgumentError
from regard.inspection.explain.alignment import Alignment, Pair, align
from regard.inspection.explain.head_differences import head_differences
from regard.inspection.explain.outcomes import Outcome, Outcomes, Place
from regard.inspection.record.default_place import default_place, most_different_place
from regard.inspection.record.numbered import names_of
from regard.inspection.record.record import LayerRecord, Record
from regard.inspection.record.without import is_of_one_model, without_heads
from regard.inspection.views.answered import answered
from regard.inspection.views.change_words import change_words
from regard.inspection.views.facts import LITTLE_CHANGE, Facts, is_noticed, own_item, place_name, story_of
from regard.inspection.views.outcome_text import change_text, quoted, rounded
from regard.inspection.views.removed_heads import layer_patterns
from regard.inspection.views.ties import MOST_NAMED, listed
from regard.page.messages import say
from regard.page.numbers import counted, percent, plural, probability
from regard.page.visible import visible

__all__ = [
    "HeadDifference",
    "ItemDifference",
    "RecordDifference",
    "comparison_of",
    "difference_sentence",
    "has_head",
    "joined",
    "layer_of",
]

Compared = tuple[str, str]
"""The texts of something in both records."""

# A difference of probabilities below this may not change a percentage.
_NOTICED = 0.01


class ItemDifference(NamedTuple):
    """An item in both records.

    Args:
        numbers: its number in each, from 0; None where it has no partner.
        names: its text in each, numbered if it occurs more than once, and the same if the texts are the same; "" where
            it has no partner.
        weights: its weight in each; None where it has none.
        hidden: the outcome in each if it is hidden; None where that wasn't measured.
        masked: whether the mask hides it in each.
    """

    numbers: Pair
    names: Compared
    weights: tuple[float | None, float | None]
    hidden: tuple[Outcome | None, Outcome | None]
    masked: tuple[bool, bool] = (False, False)

    @property
    def name(self) -> str:
        """Its name in a table."""
        return joined(self.names)

    @property
    def difference(self) -> float | None:
        """By how much its weight is larger in the second record; None if it isn't in both."""
        one, other = self.weights
        return None if one is None or other is None else other - one


class HeadDifference(NamedTuple):
    """A head of both records.

    Args:
        layer, head: its numbers, from 1.
        patterns: its measured pattern in each; "" if it has none.
        difference: the fraction of its weight that is on other items; see `head_differences`.
    """

    layer: int
    head: int
    patterns: Compared
    difference: float


class RecordDifference(NamedTuple):
    """The numbers of a comparison.

    Args:
        records: both records, with outcomes.
        alignment: which items and predictions correspond.
        places: the numbers of the compared predictions in `Outcomes.places`; None where there is no partner.
        stories: the story of each; None if the record has no partner of the prediction, or no such layer or head.
        items: the items that were attended to.
        heads: the heads that both have, by layer and number; without differences if they answer different questions.
        sentence: what differs most.
        has_partner: whether the compared predictions correspond; else each record shows what it shows alone.
        equal: what each item would have of equal weights, in each record; 0: that isn't known.
        left_out: what can't be compared, and why.
    """

    records: tuple[Record, Record]
    alignment: Alignment
    places: Pair
    stories: tuple[Facts | None, Facts | None]
    items: tuple[ItemDifference, ...]
    heads: tuple[HeadDifference, ...]
    sentence: str
    left_out: tuple[str, ...]
    has_partner: bool = True
    equal: tuple[float, float] = (0.0, 0.0)

    @property
    def is_of_one_model(self) -> bool:
        """Whether both records are of one model, by its name, so that a head of both is the same one."""
        return is_of_one_model(*self.records)


def comparison_of(
    first: Record,
    second: Record,
    *,
    layer: int | None = None,
    head: int | None = None,
    query: int | None = None,
) -> RecordDifference:
    """The numbers of a comparison.

    Args:
        first, second: the records.
        layer, head: whose weights, from 1, in both; None: the last layer of each, the average of its heads.
        query: the number of the prediction in the first record, from 1; None: the one that differs most, or if none
            does, the one that the record's own story is of.

    Raises:
        ArgumentError: a record has no attention; or the first has no such layer, head or prediction.
    """
    for name, record in (("first", first), ("second", second)):
        if not record.layers and record.pooling is None:
            raise ArgumentError(f"`{name}` must be a record with attention, but has none.")
    records = _with_outcomes(first), _with_outcomes(second)
    outcomes = _outcomes(records[0]), _outcomes(records[1])
    alignment = align(*records)
    one = most_different_place(records[0], outcomes, alignment.places) if query is None else query - 1
    own = story_of(records[0], layer=layer, head=head, query=one + 1)
    other = _partner(alignment.places, one)
    has_partner = other is not None
    if other is None and alignment.is_apart:
        # Each record shows what it shows alone.
        other = default_place(records[1], outcomes[1])
    its = None
    if other is not None and has_head(records[1], layer, head):
        its = story_of(records[1], layer=layer, head=head, query=other + 1)
    items = tuple(_items(records, alignment, own, its))
    equal = own.equal, 0.0 if its is None else its.equal
    return RecordDifference(
        records,
        alignment,
        (one, other),
        (own, its),
        items,
        tuple(_heads(records, alignment)),
        difference_sentence(records, (one, other), items, has_partner=has_partner, equal=equal),
        tuple(_left_out(*records, alignment)),
        has_partner,
        equal,
    )


def layer_of(record: Record, layer: int | None) -> LayerRecord | None:
    """The layer of a number from 1, or the last one; None if there is no such layer."""
    number = len(record.layers) if layer is None else layer
    return record.layers[number - 1] if 1 <= number <= len(record.layers) else None


def joined(names: Compared) -> str:
    """The texts of a pair as one name, such as "saw / film"."""
    return " / ".join(dict.fromkeys(filter(None, names)))


def _with_outcomes(record: Record) -> Record:
    return record if record.outcomes is not None else replace(record, outcomes=answered(record))


def _outcomes(record: Record) -> Outcomes:
    return answered(record) if record.outcomes is None else record.outcomes


def _partner(pairs: Sequence[Pair], number: int) -> int | None:
    return next((other for one, other in pairs if one == number), None)


def has_head(record: Record, layer: int | None, head: int | None) -> bool:
    """Whether a record has a layer and a head of these numbers, from 1; None: the last layer, the average."""
    if record.pooling is not None and layer is None and head is None:
        return True
    found = layer_of(record, layer)
    return found is not None and (head is None or head <= found.heads)


def _items(
    records: tuple[Record, Record], alignment: Alignment, own: Facts, its: Facts | None
) -> Iterator[ItemDifference]:
    names = names_of(records[0].items, records[1].items, alignment.items)
    for pair, texts in zip(alignment.items, names, strict=True):
        weights, hidden = [], []
        for number, told in zip(pair, (own, its), strict=True):
            if number is None or told is None:
                weights.append(None)
                hidden.append(None)
            else:
                weights.append(told.weights[number])
                hidden.append(told.hidden[number] if told.hidden else None)
        one, other = (
            number is not None and told is not None and told.is_masked(number)
            for number, told in zip(pair, (own, its), strict=True)
        )
        yield ItemDifference(pair, texts, (weights[0], weights[1]), (hidden[0], hidden[1]), (one, other))


def _heads(records: tuple[Record, Record], alignment: Alignment) -> Iterator[HeadDifference]:
    found = head_differences(*records, alignment)
    if alignment.is_apart:
        # Of heads that answer different questions no difference means anything.
        found = tuple(tuple(math.nan for _ in heads) for heads in found)
    for layer, (*_, differences) in enumerate(zip(*(each.layers for each in records), found, strict=False), 1):
        patterns = [layer_patterns(each, layer) for each in records]
        for head, (a, b, difference) in enumerate(zip(*patterns, differences, strict=False), start=1):
            yield HeadDifference(layer, head, (a, b), difference)


def difference_sentence(
    records: tuple[Record, Record],
    places: Pair,
    items: Sequence[ItemDifference],
    language: str = "en",
    *,
    has_partner: bool = True,
    equal: tuple[float, float] = (0.0, 0.0),
) -> str:
    """What differs most: the answers, a weight, and what hiding an item changes.

    Args:
        records: both, with outcomes.
        places: the numbers of the compared predictions; None where there is no partner.
        items: the items in both.
        language: "en" or "zh".
        has_partner: whether these predictions correspond; else only the answers are told.
        equal: as in `RecordDifference`.
    """
    one, other = places
    if one is None or other is None:
        return say("aloneChosen", language, side="A", other="B")
    outcomes = _outcomes(records[0]), _outcomes(records[1])
    found = outcomes[0].places[one], outcomes[1].places[other]
    if not has_partner:
        # Where no item has a partner either, that is told.
        shared = any(None not in item.numbers for item in items)
        return _answers_sentence(records, found, language) + (say("otherQuestions", language) if shared else "")
    both = [item for item in items if None not in item.weights]
    own = own_item(records[0], found[0])
    hidden = [item for item in both if None not in item.hidden and (own is None or item.numbers[0] != own)]
    told = _answers_sentence(records, found, language) + _weights_sentence(both, equal, language)
    if outcomes[0].kind != outcomes[1].kind:
        return told
    return told + _effects_sentence(hidden, outcomes, found, language)


def _answers_sentence(records: tuple[Record, Record], places: tuple[Place, Place], language: str) -> str:
    """What each predicts for a place."""
    outcomes = _outcomes(records[0]), _outcomes(records[1])
    names = [place_name(record, place) for record, place in zip(records, places, strict=True)]
    names = names if places[0].name.strip() != places[1].name.strip() else [names[0]]
    generated = all(each.form == "generated" for each in outcomes)
    about = ""
    if not generated and set(names) != {"the whole"}:
        name = " / ".join(quoted(each, language) for each in dict.fromkeys(names))
        about = say("aboutNext" if outcomes[0].form == "next" else "aboutItem", language, name=name)
    labels, scores = [], []
    for raw, each in zip(places, outcomes, strict=True):
        place = rounded(raw, each.error)
        label = visible(place.label) if each.form == "item" else quoted(place.label, language)
        labels.append(say("aVector", language) if each.kind == "vectors" else label)
        scores.append("" if each.kind == "vectors" or place.score is None else probability(place.score))
    if labels[0] == labels[1] and outcomes[0].kind == outcomes[1].kind:
        said = say("bothScores", language, one=scores[0], other=scores[1]) if all(scores) else say("noScores", language)
        message = "bothWrote" if generated else "bothGive" if about else "bothGiveWhole"
        return say(message, language, about=about, label=labels[0], scores=said)
    one, other = (f"{label} {score}".rstrip() for label, score in zip(labels, scores, strict=True))
    if "the whole" in names and len(set(names)) > 1:
        first, second = (
            say("wholeInput", language) if each == "the whole" else quoted(each, language) for each in names
        )
        return say("eachGivesOwn", language, one=one, other=other, first=first, second=second)
    if heads := "" if generated else without_heads(*records, language):
        message = "changedWithout" if about else "changedWithoutWhole"
        return say(message, language, about=about, heads=heads, one=one, other=other)
    return say("eachWrote" if generated else "eachGives", language, about=about, one=one, other=other)


def _weights_sentence(items: Sequence[ItemDifference], equal: tuple[float, float], language: str) -> str:
    """Which weight differs most, and what equal weights would be where that differs; "" if there is none to compare."""
    gaps = [(abs(item.difference or 0.0), item) for item in items if math.isfinite(item.difference or 0.0)]
    if not gaps:
        return ""
    gap, item = max(gaps, key=lambda each: each[0])
    if gap < _NOTICED:
        return say("sameWeights" if gap == 0 else "closeWeights", language)
    one, other = (percent(weight) for weight in item.weights)
    message, fair = "weightDiffersLittle" if gap < LITTLE_CHANGE else "weightDiffers", [*map(percent, equal)]
    told = say(message, language, item=_quoted_names(item, language), one=one, other=other)
    # Of fewer items each has more, without anything being attended to.
    return told + (say("equalInBoth", language, one=fair[0], other=fair[1]) if all(equal) and len({*fair}) > 1 else "")


def _effects_sentence(
    items: Sequence[ItemDifference], outcomes: tuple[Outcomes, Outcomes], places: tuple[Place, Place], language: str
) -> str:
    """Which item differs most in what hiding it changes; "" if none does, or if that wasn't measured."""
    kind, errors = outcomes[0].kind, (outcomes[0].error, outcomes[1].error)
    changes = [[outcome.change for outcome in item.hidden if outcome is not None] for item in items]
    gaps = [(abs(b - a), item) for (a, b), item in zip(changes, items, strict=True) if math.isfinite(b - a)]
    # Another answer in one of the two says more than points of the same one.
    changed = [(gap, item, _changed(item, places, kind)) for gap, item in gaps]
    alone = [(gap, item, *sides[0]) for gap, item, sides in changed if len(sides) == 1]
    if alone:
        _, item, side, outcome = max(alone, key=lambda each: each[0])
        change = change_words(places[side], outcome, kind, outcomes[side].form != "item", language)
        told = say("effectFlips", language, item=_quoted_names(item, language), side="AB"[side], change=change)
        names = [_quoted_names(item, language) for _, item, sides in changed if len(sides) == 2]
        some = 1 <= len(names) <= MOST_NAMED
        return told + (say("flipsBoth", language, items=listed(names, "lastAnd", language)) if some else "")
    gap, item = max(gaps, key=lambda each: each[0], default=(0.0, None))
    if item is None or gap == 0 or not is_noticed(gap, kind):
        return ""
    hidden = zip(item.hidden, places, errors, strict=True)
    changes_to = say("changesTo", language)
    one, other = (
        change_text(outcome, kind, place, language, error).replace(" -> ", changes_to)
        for outcome, place, error in hidden
        if outcome is not None
    )
    message = "effectDiffersLittle" if kind != "numbers" and gap < LITTLE_CHANGE else "effectDiffers"
    return say(message, language, item=_quoted_names(item, language), one=one, other=other)


def _changed(item: ItemDifference, places: tuple[Place, Place], kind: str) -> list[tuple[int, Outcome]]:
    """The sides of which hiding an item changes the label, and to what."""
    return [
        (side, outcome)
        for side, (outcome, place) in enumerate(zip(item.hidden, places, strict=True))
        if kind == "labels" and outcome is not None and outcome.label != place.label and outcome.change != 0
    ]


def _quoted_names(item: ItemDifference, language: str) -> str:
    return " / ".join(quoted(name, language) for name in dict.fromkeys(item.names))


def _left_out(first: Record, second: Record, alignment: Alignment) -> Iterator[str]:
    """What can't be compared, and why, in sentences."""
    records = first, second
    match alignment.obstacle:
        case "kinds":
            yield say("differentKinds", one=alignment.kinds[0], other=alignment.kinds[1])
        case "sizes":
            one, other = (counted(len(record.items), record.noun) for record in records)
            yield say("differentSizes", one=one, other=other)
        case "queries":
            yield say("differentQueries")
        case _:
            yield from _alone(alignment.items, (first.noun, second.noun))
            if alignment.queries is not alignment.items:
                yield from _alone(alignment.queries, ("piece", "piece"))
    if bool(first.layers) != bool(second.layers):
        yield say("noLayers", side="B" if first.layers else "A")
    elif len(first.layers) != len(second.layers):
        yield say("otherLayers", count=len(first.layers), other=len(second.layers))
    if first.outcomes is None or second.outcomes is None:
        return
    if first.outcomes.kind != second.outcomes.kind:
        yield say("otherKindsNamed", one=first.outcomes.kind, other=second.outcomes.kind)
    measured = bool(first.outcomes.hidden), bool(second.outcomes.hidden)
    if measured[0] != measured[1]:
        yield say("unmeasured", side="B" if measured[0] else "A")


def _alone(pairs: Sequence[Pair], nouns: tuple[str, str]) -> Iterator[str]:
    counts = [sum(pair[other] is None for pair in pairs) for other in (1, 0)]
    items = [
        say("aloneIn", count=count, noun=noun if count == 1 else plural(noun), side=side)
        for count, noun, side in zip(counts, nouns, "AB", strict=True)
        if count
    ]
    if items:
        yield say("alone", items=say("and").join(items), count=sum(counts))
