"""What is told of a prediction of a record: what was attended to, what mattered, the heads; and the sentence of it.

Terminal, page, notebook and figures draw it. The page computes the same for whatever is chosen on it, by `facts.js`.
"""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from regard.errors import ArgumentError
from regard.inspection.cases.case import Case
from regard.inspection.explain.across_layers import ATTRIBUTIONS, Attribution
from regard.inspection.explain.attributed_items import attributed_items
from regard.inspection.explain.outcomes import Outcome, Outcomes, Place
from regard.inspection.explain.rank_agreement import rank_agreement
from regard.inspection.explain.summaries import pooled_weights, select_weights
from regard.inspection.record.default_place import default_place
from regard.inspection.record.numbered import numbered
from regard.inspection.record.record import LayerRecord, Record
from regard.inspection.views.allowed_keys import allowed_keys, masked_keys
from regard.inspection.views.change_words import change_words
from regard.inspection.views.outcome_text import (
    item_name,
    likelier_than,
    or_zero,
    quoted,
    rounded,
    signed_percent,
    size_text,
)
from regard.inspection.views.removed_heads import RemovedHead, removed_heads
from regard.inspection.views.ties import MOST_NAMED, listed, printed, tied
from regard.inspection.views.uniform import equal_share, is_uneven, uniform_over
from regard.page.messages import messages, say
from regard.page.numbers import percent, plural, probability
from regard.page.visible import visible

__all__ = [
    "LITTLE_CHANGE",
    "LONG_CHANGE",
    "Facts",
    "chosen_place",
    "is_noticed",
    "own_item",
    "place_name",
    "sentence",
    "story_of",
]

# A change of the probability, or a difference, below this is called none: it may not change the percentage.
_NOTICED = 0.01
# A change of a probability or a vector below this is called little.
LITTLE_CHANGE = 0.1
# Changes have bars as long as this or longer: small ones short ones, even if there is no other.
LONG_CHANGE = 0.5
# Weights that are written as these are next to nothing.
_NOTHING = ("0%", "<1%")


class Facts(NamedTuple):
    """What is told of one prediction of a record.

    Args:
        place: what is predicted.
        number: its number in `record.outcomes.places`, from 0.
        title: which layer and head the weights are of.
        weights: for each item, its weight, or what the method of attribution gives for it.
        hidden: for each item, the outcome if it is hidden; empty if that wasn't measured.
        removed: each head with the outcome without it; empty if not measured.
        agreement: the rank agreement of `weights` and the sizes of the changes by hiding; NaN if it has none.
        sentence: what is to be seen, in English.
        difference: the largest difference between outputs and those computed from the record; None: can't be compared.
        attribution: the method that `weights` are of, if one was asked for; None: they are the weights as they are.
        is_effective: whether `weights` are effective weights of a state-space layer, by absolute value, as shares.
        allowed: over how many items equal weights would be spread; see `allowed_keys`.
        masked: for each item, whether the mask hides it from the query; empty if the weights aren't those of one query.
        where: of which layer and head the weights are, as a message and its values, if the sentence says it.
        own: the item whose own prediction it is, from 0; None if it is none of those that are attended to.
    """

    place: Place
    number: int
    title: str
    weights: tuple[float, ...]
    hidden: tuple[Outcome, ...]
    removed: tuple[RemovedHead, ...] = ()
    agreement: float = math.nan
    sentence: str = ""
    difference: float | None = None
    attribution: Attribution | None = None
    own: int | None = None
    is_effective: bool = False
    allowed: int = 0
    masked: tuple[bool, ...] = ()
    where: tuple[str, Mapping[str, Any]] = ("whereIt", MappingProxyType({}))

    @property
    def attended(self) -> int:
        """The item with the largest weight."""
        return max(range(len(self.weights)), key=lambda item: abs(or_zero(self.weights[item])))

    @property
    def uniform(self) -> int:
        """Over how many items the weights are about equal, if they are weights; 0: over none."""
        return uniform_over(self.weights, self.allowed) if self.is_raw and not self.is_effective else 0

    @property
    def equal(self) -> float:
        """What each item would have of equal weights; 0 if these are none that sum to 1, or aren't the same items."""
        return equal_share([self.weights], self.allowed) if self.is_raw else 0.0

    def is_masked(self, item: int) -> bool:
        """Whether the mask hides an item, so that it has no weight."""
        return bool(self.masked) and self.masked[item] and self.weights[item] == 0

    @property
    def is_raw(self) -> bool:
        """Whether `weights` are the weights themselves."""
        return self.attribution is None or self.attribution.name == "raw"

    def rounded(self, error: float | None) -> "Facts":
        """The same with the numbers as they are written beside the error of the model."""
        hidden = tuple(rounded(each, error) for each in self.hidden)
        removed = tuple(each._replace(outcome=rounded(each.outcome, error)) for each in self.removed)
        return self._replace(place=rounded(self.place, error), hidden=hidden, removed=removed)

    @property
    def others(self) -> list[int]:
        """The items other than `own` with a known effect, without those where it is noise if that isn't so of all."""
        others = [each for each, found in enumerate(self.hidden) if each != self.own and math.isfinite(found.change)]
        # What can't be told from noise is no finding while something else can.
        return [item for item in others if self.hidden[item].above_noise is not False] or others

    @property
    def mattered(self) -> int | None:
        """The item, other than `own`, that changes the prediction most if it is hidden; None if none was measured."""
        return max(self.others, key=lambda item: abs(or_zero(self.hidden[item].change)), default=None)


def story_of(
    record: Record,
    *,
    layer: int | None = None,
    head: int | None = None,
    query: int | None = None,
    attribution: str | None = None,
    case: Case | None = None,
) -> Facts:
    """What is told of a record, as numbers.

    Args:
        record: a record that `see` made.
        layer, head: whose weights, from 1; None: the last layer, the average of its heads.
        query: the number of the place, from 1; None: as `default_place` chooses it, the one whose prediction changes
            most if an item is hidden.
        attribution: a name of `ATTRIBUTIONS`, the method that says how much each item contributes; None: the weights.
        case: what `see` was given; "gradient-weighted" runs its model again, and no other method needs it.

    Raises:
        ArgumentError: the record has no predictions or no weights, no such layer, head or place, or not what the method
            of attribution needs.
    """
    if record.outcomes is None:
        raise ArgumentError("`record` must have outcomes, as those of `see` have, but has none.")
    number = chosen_place(record, record.outcomes, query)
    place = record.outcomes.places[number]
    found = attributed_items(record, attribution or "raw", number, layer, head, case)
    weights = tuple(found.weights.double().tolist())
    shown = (pooled_weights if place.query is None else select_weights)(record, layer, head).layer
    hidden = tuple(row[number] for row in record.outcomes.hidden)
    agreement = math.nan
    if hidden and all(map(math.isfinite, (*weights, *(outcome.change for outcome in hidden)))):
        agreement = rank_agreement([*map(abs, weights)], [abs(outcome.change) for outcome in hidden])
    facts = Facts(
        place,
        number,
        found.title,
        weights,
        hidden,
        tuple(removed_heads(record, number)),
        agreement,
        difference=record.verify(),
        attribution=None if attribution is None else ATTRIBUTIONS[attribution],
        own=own_item(record, place),
        is_effective=shown.is_effective and attribution in (None, "raw"),
        allowed=allowed_keys(shown, place.query),
        masked=_masked(shown, place, head, attribution),
        where=_where(record, place, layer, head),
    )
    return facts._replace(sentence=sentence(record, facts))


def _masked(layer: LayerRecord, place: Place, head: int | None, attribution: str | None) -> tuple[bool, ...]:
    """Which items the mask hides; rollout may reach them on a way through other layers."""
    row = None if attribution == "rollout" else 0 if layer.shape[0] == 1 else place.query
    return () if row is None else masked_keys(layer, None if head is None else head - 1, row)


def _where(record: Record, place: Place, layer: int | None, head: int | None) -> tuple[str, Mapping[str, Any]]:
    """Of which layer and head weights are, and whether they are averages over the queries: a message and its values."""
    count = len(record.layers)
    if place.query is None and record.pooling is not None and layer is None and head is None:
        return "wherePoolingAfter" if count else "wherePooling", {"count": count}
    number = count if layer is None else layer
    # A layer with one head has no average.
    if head is not None and record.layers[number - 1].heads > 1:
        name = "Head"
    else:
        name = "" if count == 1 else "Last" if number == count else "Layer"
    message = f"onAverage{name}" if place.query is None else f"where{name or 'It'}"
    return message, {"layer": number, "head": head or 1}


def chosen_place(record: Record, outcomes: Outcomes, query: int | None) -> int:
    """The number of the place that is shown, from 0.

    Args:
        record: of what.
        outcomes: its predictions, or those that stand for them.
        query: the number of the place, from 1; None: as `default_place` chooses it.

    Raises:
        ArgumentError: there is no such place.
    """
    if query is None:
        return default_place(record, outcomes)
    count = len(outcomes.places)
    if not 1 <= query <= count:
        numbers, last = "1" if count == 1 else f"from 1 to {count}", outcomes.places[-1].name
        raise ArgumentError(f"`query` must be {numbers}, but is {query}. The last is {last!r}.")
    return query - 1


def own_item(record: Record, place: Place) -> int | None:
    """The item whose own prediction a place is, from 0; None if it is none of those that are attended to."""
    return place.query if record.queries is None and len(_outcomes(record).places) == len(record.items) else None


def place_name(record: Record, place: Place) -> str:
    """The name of what is predicted for, numbered if it is that of several items."""
    if place.query is not None and len(_outcomes(record).places) == len(record.query_items):
        return numbered(record.query_items)[place.query]
    return place.name


def is_noticed(change: float, kind: str) -> bool:
    """Whether a change is large enough for a sentence."""
    return change != 0 if kind == "numbers" else not abs(change) < _NOTICED


def sentence(record: Record, facts: Facts, language: str = "en") -> str:
    """What is to be seen: the prediction, the largest weight, and the item that changes the prediction most.

    Args:
        record, facts: the record, and what is told of it.
        language: "en" or "zh".
    """
    names, kind = _item_names(record, language), _outcomes(record).kind
    facts = facts.rounded(_outcomes(record).error)
    mattered = facts.mattered
    attended = _most_attended(facts)
    start = _opening(record, facts.place, language) + _attended(record, names, attended, facts, language)
    if mattered is None:
        return start + say("nothingHidden" if facts.hidden else "notMeasured", language)
    # Effects are those of the whole model, whichever head is chosen.
    joint = say("but" if attended else "andAlike", language)
    everywhere = say("everywhere", language) if facts.where[0] in ("whereHead", "onAverageHead") else ""
    if facts.hidden[mattered].above_noise is False:
        return start + say("noiseMattered", language, noun=_noun(record.noun, 1, language), joint=joint)
    if not _is_told(facts.place, facts.hidden[mattered], kind):
        # A small change may be that of the answer to another one.
        others = [item for item in facts.others if _is_told(facts.place, facts.hidden[item], kind)]
        if not others:
            noun = _noun(record.noun, 1, language)
            return start + say("littleMattered", language, noun=noun, joint=joint, everywhere=everywhere)
        mattered = max(others, key=lambda item: abs(or_zero(facts.hidden[item].change)))
    little = _little(_outcomes(record), facts.place, facts.hidden[mattered])
    words = _outcomes(record).form != "item"
    changes = {item: change_words(facts.place, facts.hidden[item], kind, words, language) for item in facts.others}
    most = [item for item, change in changes.items() if change == changes[mattered]]
    called = [say("it", language) if attended == [item] and not little else names[item] for item in most]
    item = listed(called, "lastOr", language)
    if len(most) > MOST_NAMED:
        item = say("anyTied", language, count=len(most), noun=_noun(record.noun, 2, language))
    if little:
        values = {"noun": _noun(record.noun, 1, language), "joint": joint, "everywhere": everywhere}
        return start + say(little, language, item=item, change=changes[mattered], **values)
    if set(most) & set(attended):
        return start + say("itMattered", language, it=item, change=changes[mattered], everywhere=everywhere)
    values = {"joint": joint, "change": changes[mattered], "everywhere": everywhere}
    return start + say("otherMattered", language, item=item, **values)


def _item_names(record: Record, language: str) -> list[str]:
    """The items as sentences name them."""
    return [item_name(name, _is_on_grid(record), language) for name in numbered(record.items)]


def _is_on_grid(record: Record) -> bool:
    """Whether items are patches of a picture."""
    return record.grid is not None or hasattr(record.input, "grid")


def _noun(noun: str, count: int, language: str) -> str:
    if language == "zh":
        return messages()["nouns"].get(noun, noun)
    return noun if count == 1 else plural(noun)


def _is_told(place: Place, outcome: Outcome, kind: str) -> bool:
    """Whether a change can be seen in the numbers as they are written, or is another answer."""
    if kind == "vectors":
        return is_noticed(outcome.change, kind)
    if outcome.label != place.label:
        return outcome.change != 0
    if kind == "numbers" or not is_noticed(outcome.change, kind):
        return False
    return None in (place.score, outcome.score) or printed(place.score or 0.0) != printed(outcome.score or 0.0)


def _little(outcomes: Outcomes, place: Place, outcome: Outcome) -> str:
    """The message which says that a change is small, even if it is the largest; "": it isn't."""
    size = abs(or_zero(outcome.change))
    if outcomes.kind == "numbers":
        return "matteredWithinError" if outcomes.error is not None and size < outcomes.error else ""
    return "matteredLittle" if outcome.label == place.label and size < LITTLE_CHANGE else ""


def _most_attended(facts: Facts) -> list[int]:
    """The items that have the largest weight, as it is written; none if all have about the same, or next to nothing."""
    shares = [*map(signed_percent, facts.weights)]
    is_nothing = facts.is_raw and not facts.is_effective and shares[facts.attended] in _NOTHING
    if facts.uniform or is_nothing:
        return []
    return tied(shares, facts.attended)


def _opening(record: Record, place: Place, language: str) -> str:
    name, label = place_name(record, place), quoted(place.label, language)
    called = item_name(name, _is_on_grid(record), language)
    sure = "" if place.score is None else say("sure", language, share=probability(place.score))
    if _outcomes(record).kind == "vectors":
        return say("outputWhole" if name == "the whole" else "outputAt", language, name=called)
    match _outcomes(record).form:
        case "next":
            return say("comesAfter", language, name=called, label=label, sure=sure)
        case "generated":
            return say("wasWritten", language, name=called, sure=sure, likelier=likelier_than(place, language))
        case _:
            subject = say("theAnswer", language) if name == "the whole" else called
            # A number for the whole has the name of what it is.
            if _outcomes(record).kind == "numbers" and place.query is None and name != "the whole":
                subject = visible(name)
            label, error = visible(place.label), _outcomes(record).error
            if error is not None:
                label = say("error", language, label=label, error=size_text(error, "numbers", error))
            return say("isLabel", language, name=subject, label=label, sure=sure)


def _attended(record: Record, names: Sequence[str], most: Sequence[int], facts: Facts, language: str) -> str:
    """Which items have the largest weight or contributed most, or that all have about the same."""
    weight, attribution = facts.weights[facts.attended], facts.attribution
    many = _noun(record.noun, 2, language)
    where = say(facts.where[0], language, **facts.where[1])
    count = facts.uniform
    values = {"where": where, "count": count, "all": len(names), "noun": many}
    some = "attendedAllowed" if count == facts.allowed else "attendedSome"
    name = some if count < len(names) else "attendedBoth" if count == 2 else "attended"
    if count:
        some = [weight for weight in facts.weights if weight]
        least, highest = percent(min(some)), percent(max(some))
        values["share"] = least if least == highest else say("fromTo", language, least=least, most=highest)
        return say(f"{name}{'Unevenly' if is_uneven(facts.weights) else 'Equally'}", language, **values)
    if not most:
        return say("attendedNone", language, where=where, noun=_noun(record.noun, 1, language))
    item = listed([say("itself", language) if each == facts.own else names[each] for each in most], "lastAnd", language)
    if len(most) > MOST_NAMED:
        item = say("tiedItems", language, count=len(most), all=len(names), noun=many)
    share = signed_percent(weight)
    # What nothing stands beside is no finding.
    if facts.is_raw and not facts.is_effective and 1 in (facts.allowed, len(names)) and share == "100%":
        return say("attendedAlone", language, where=where, item=item)
    share = share if len(most) == 1 else say("eachShare", language, share=share)
    if attribution is None or facts.is_raw:
        message = "effectiveMost" if facts.is_effective else "attendedMost"
        return say(message, language, where=where, item=item, share=share)
    method = f"{attribution.name} attention" if attribution.name.endswith("weighted") else attribution.name
    message = "loweredMost" if weight < 0 else "tookMost"
    return say(message, language, method=method, item=item, share=share)


def _outcomes(record: Record) -> Outcomes:
    if record.outcomes is None:
        raise ArgumentError("`record` must have outcomes, as those of `see` have, but has none.")
    return record.outcomes
