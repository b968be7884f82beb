"""What a model says about an item, what it attended to there, and what mattered, in the order that teaches it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from regard.inspection.cases.case import Case
from regard.inspection.explain.across_layers import ATTRIBUTIONS
from regard.inspection.explain.outcomes import Kind, Outcomes, Place
from regard.inspection.record.numbered import numbered
from regard.inspection.record.record import Record
from regard.inspection.views.attributed import meaning_of
from regard.inspection.views.change_words import about_noise
from regard.inspection.views.facts import LONG_CHANGE, Facts, story_of
from regard.inspection.views.item_labels import items_around
from regard.inspection.views.outcome_text import (
    change_text,
    is_unchanged,
    item_name,
    or_zero,
    signed_percent,
    size_text,
    without_text,
)
from regard.page import Block, ComparedItem, Comparison, Heading, Page, Prose, Table
from regard.page.messages import say
from regard.page.numbers import counted, percent, probability
from regard.page.visible import visible

__all__ = [
    "MOST_ROWS",
    "compared_items",
    "effective_note",
    "largest_in_turn",
    "stories",
    "story",
    "story_page",
    "warnings_of",
]

MOST_ROWS = 12
"""Of more items or heads than that, those are shown that were attended to most or mattered most."""

# Of many items, those of which neither the weight nor the effect is as much as this have no row, but these many.
_NOTEWORTHY, _LEAST_ROWS = 0.01, 3
# Of more items than that equal weights are below 5 %, and a weight is told if it is so many times as large.
_FEW, _OF_EQUAL = 20, 1.5
# What measures effects; the page has the same in `compared.js`.
_COMMAND, _CALL = "regard see --effects", "see(..., effects=True)"


def story(
    record: Record,
    *,
    layer: int | None = None,
    head: int | None = None,
    query: int | None = None,
    top: int = MOST_ROWS,
    attribution: str | None = None,
    case: Case | None = None,
) -> Page:
    """Tell what a record shows: the items, one sentence, what was attended to beside what mattered, and the heads.

    Args:
        record: a record that `see` made.
        layer, head, query, attribution, case: as in `story_of`.
        top: the most items and heads that are listed.

    Raises:
        ArgumentError: as in `story_of`.

    Example:
        >>> import torch
        >>> from regard.inspection import LayerRecord, Outcome, Outcomes, Place
        >>> layer = LayerRecord.of_weights("layer 1", torch.tensor([[[0.75, 0.25], [0.25, 0.75]]]), "softmax")
        >>> places = (Place("a", 0, "DET", 0.75), Place("saw", 1, "NOUN", 0.75))
        >>> hidden = (
        ...     (Outcome("DET", 0.75, 0.0), Outcome("VERB", 0.625, -0.5)),
        ...     (Outcome("DET", 0.75, 0.0), Outcome("NOUN", 0.75, 0.0)),
        ... )
        >>> outcomes = Outcomes("labels", "item", places, hidden)
        >>> record = Record(("a", "saw"), ("DET", "NOUN"), (0.75, 0.75), (layer,), noun="word", outcomes=outcomes)
        >>> story_of(record).sentence  # doctest: +ELLIPSIS
        '"saw" is NOUN (75%). It attended most to itself (75%), but hiding "a" changes the answer most: NOUN (75%) ...'
    """
    told = story_of(record, layer=layer, head=head, query=query, attribution=attribution, case=case)
    return story_page(record, told, top)


def stories(
    records: Sequence[Record],
    titles: Sequence[str],
    layer: int | None = None,
    head: int | None = None,
    query: int | None = None,
) -> Page:
    """The stories of several records as one page, in which each has a heading; a record without outcomes has none."""
    blocks = []
    for record, title in zip(records, titles, strict=True):
        blocks += [Heading(title)] if len(records) > 1 else []
        if record.outcomes is not None:
            blocks += story(record, layer=layer, head=head, query=query).blocks
    return Page(f"{titles[0]}: what it attended to, and what mattered", tuple(blocks))


def story_page(record: Record, told: Facts, top: int = MOST_ROWS) -> Page:
    """The page of a story whose numbers are known."""
    heads = sum(each.heads for each in record.every_layer if not each.is_effective)
    error = None if record.outcomes is None else record.outcomes.error
    told = told.rounded(error)
    notes = ["" if record.outcomes is None else record.outcomes.note, effective_note(record)]
    blocks = [
        *_items(record, told),
        *warnings_of(record),
        Prose(told.sentence),
        compared_items(record, told, top),
        Prose(say("hiding") if told.hidden else say("noEffects", command=_COMMAND, call=_CALL)),
        *_method(told),
        *_head_table(told, top, heads, error),
        *_about_noise(record, told),
        *(Prose(note) for note in notes if note),
    ]
    return Page(record.model, (*blocks, Prose(_checked(told, len(record.every_layer) + (record.pooling is not None)))))


def warnings_of(record: Record) -> list[Prose]:
    """The warnings of a record, each as a paragraph."""
    return [Prose(say("warning", text=visible(each))) for each in record.warnings]


def effective_note(record: Record) -> str:
    """What the weights of state-space layers are, as sentences; "" if the record has none."""
    return say("effectiveMeans") if any(each.is_effective for each in record.layers) else ""


def _items(record: Record, told: Facts) -> Iterator[Block]:
    """The items, and the queries if they are others, of which the one that is shown is marked."""
    place, centre = told.place.query, told.attended
    if record.queries is None:
        yield items_around(record.items, record.noun, place, centre, labels=record.labels, scores=record.scores)
    else:
        yield items_around(record.items, record.noun, None, centre)
        yield items_around(record.query_items, "piece", place, centre)
    if place is None and told.place.label:
        name = "" if told.place.name == "the whole" else told.place.name
        row = (told.place.label, *([] if told.place.score is None else [probability(told.place.score)]))
        columns = ("answer", "sure")[: len(row)]
        yield Table(("question", *columns), ((name, *row),)) if name else Table(columns, (row,))


def compared_items(record: Record, told: Facts, top: int = MOST_ROWS) -> Comparison:
    """What was attended to beside what mattered: a row an item, of the `top` items that are largest in either."""
    names = numbered(record.items)
    by_weight = [abs(or_zero(weight)) for weight in told.weights]
    by_effect = [abs(or_zero(outcome.change)) for outcome in told.hidden]
    kind, error = ("vectors", None) if record.outcomes is None else (record.outcomes.kind, record.outcomes.error)
    told = told.rounded(error)
    # What is written as unchanged has no row for its effect.
    noticed = [
        0.0 if is_unchanged(outcome, kind, told.place, error) else size
        for outcome, size in zip(told.hidden, by_effect, strict=True)
    ]
    rows = largest_in_turn(by_weight, noticed, top, kind)
    found = []
    for item in rows:
        if not told.hidden:
            found.append(ComparedItem(names[item], **_first(told, item)))
            continue
        outcome = told.hidden[item]
        change = abs(outcome.change) if kind == "vectors" else outcome.change
        found.append(
            ComparedItem(
                names[item],
                # What is written as unchanged has no bar.
                second=0.0 if is_unchanged(outcome, kind, told.place, error) else change,
                written=change_text(outcome, kind, told.place, error=error),
                note=without_text(outcome, kind, told.place),
                **_first(told, item),
            )
        )
    return Comparison(
        told.title,
        tuple(found),
        noun=record.noun,
        others=about_others(by_weight, noticed, rows, kind, told.is_masked, error),
        equal=told.equal,
        among=told.allowed if told.allowed < len(told.weights) else 0,
        first=_weights_name(told),
        second=mattered_name(told.place, kind, everywhere=told.where[0] in ("whereHead", "onAverageHead")),
        third=say("without") if kind != "vectors" and any(row.note for row in found) else "",
        least=long_change(record.outcomes, kind),
    )


def long_change(outcomes: Outcomes | None, kind: Kind) -> float:
    """The change whose bar has the full length, if none is larger: of numbers the error of the model, if known."""
    if kind != "numbers":
        return LONG_CHANGE
    return 0.0 if outcomes is None or outcomes.error is None else outcomes.error


def _weights_name(told: Facts) -> str:
    """What a column of weights is called."""
    if told.attribution not in (None, ATTRIBUTIONS["raw"]):
        return "attributed"
    return say("effective" if told.is_effective else "attended")


def mattered_name(place: Place, kind: str, *, everywhere: bool = False) -> str:
    """What a column of effects is called: of a label's probability it names the label.

    Args:
        place, kind: what is predicted.
        everywhere: whether the weights beside them are those of one head, which effects aren't.
    """
    name = say("matteredEverywhere" if everywhere else "mattered")
    return name if kind != "labels" or place.score is None else f"{name}: {visible(place.label)}"


def largest_in_turn(weights: Sequence[float], effects: Sequence[float], top: int, kind: Kind) -> list[int]:
    """The items that have rows, in their order: those largest in either of two lists, in turn the next of each.

    Args:
        weights, effects: the size of each item's weight, and of its effect; no effects if they weren't measured.
        top: the most items that have rows, and one more if it is the only one left. If there are more, those with next
            to no weight and effect have none, and of more than 20 those without effect and with no more than about an
            equal weight.
        kind: what the effects are changes of. Changes of numbers are measured by the largest of them.
    """
    rows = range(len(weights))
    if len(rows) <= top:
        return [*rows]
    least = _NOTEWORTHY * (max(effects, default=0.0) if kind == "numbers" else 1.0)
    enough = _NOTEWORTHY if len(rows) <= _FEW else max(_NOTEWORTHY, _OF_EQUAL * sum(weights) / len(rows))
    columns = [(weights, enough), *([(effects, least)] if any(effects) else [])]
    orders = [sorted(rows, key=lambda row, sizes=sizes: -sizes[row]) for sizes, _ in columns]
    found: set[int] = set()
    for place in rows:
        for order, (sizes, noteworthy) in zip(orders, columns, strict=True):
            row = order[place]
            if len(found) < top and (sizes[row] >= noteworthy > 0 or len(found) < _LEAST_ROWS):
                found.add(row)
    # What would be said of a single item takes no less room than its row.
    return [*rows] if len(found) == len(rows) - 1 else sorted(found)


def about_others(
    weights: Sequence[float],
    effects: Sequence[float],
    rows: Sequence[int],
    kind: Kind | None,
    is_masked: Callable[[int], bool] = lambda item: False,
    error: float | None = None,
) -> str:
    """What is said of the items without rows: how much weight and effect they have at most; "": there are none.

    Args:
        weights, effects, kind: as in `largest_in_turn`, where an effect that is written as unchanged is 0; None: the
            effects have no unit in common.
        rows: the items that have rows.
        is_masked: whether the mask hides an item, by its number.
        error: as in `change_text`.
    """
    others = sorted({*range(len(weights))} - {*rows})
    if not others:
        return ""
    hidden = {item for item in others if is_masked(item)}
    if 0 < len(hidden) < len(others):
        # What is masked is told apart from what has little weight.
        seen = [item for item in others if item not in hidden]
        parts = (sorted({*range(len(weights))} - {*some}) for some in (seen, hidden))
        return " ".join(about_others(weights, effects, rest, kind, is_masked, error) for rest in parts)
    # What is less than 1 % is 1 % at most.
    weight = percent(max(weights[each] for each in others)).removeprefix("<")
    masked = "Masked" if all(map(is_masked, others)) else ""
    if not effects or kind is None:
        return say(f"others{masked}", count=len(others), weight=weight)
    most = max(effects[each] for each in others)
    if most == 0:
        return say(f"others{masked}Unchanged", count=len(others), weight=weight)
    effect = size_text(most, kind, error).removeprefix("<")
    return say(f"others{masked}Hidden", count=len(others), weight=weight, effect=effect)


def _first(told: Facts, item: int) -> dict[str, Any]:
    """The weight of an item, and the same as text where it has a sign or the item is masked."""
    weight = told.weights[item]
    if told.is_masked(item):
        return {"first": weight, "first_written": say("maskedItem")}
    return {"first": weight, "first_written": signed_percent(weight)} if weight < 0 else {"first": weight}


def _method(told: Facts) -> Iterator[Block]:
    """Which method of attribution it is, what its numbers mean and where they mislead, if one was asked for."""
    if told.attribution is None:
        return
    means = meaning_of(told.attribution, told.place)
    yield Prose(say("attribution", name=told.attribution.name, means=means))
    yield Prose(say("misleads", misleads=told.attribution.misleads))


def _head_table(told: Facts, top: int, heads: int, error: float | None) -> Iterator[Block]:
    if not told.removed:
        if told.hidden and heads:
            yield Prose(say("headsNotMeasured", count=heads))
        return
    by_size = sorted(told.removed, key=lambda each: -abs(or_zero(each.outcome.change)))
    kept = {each.name for each in by_size[:top]}
    kind = "numbers" if told.place.score is None and told.place.label else "labels" if told.place.label else "vectors"
    rows = [
        (
            each.name,
            each.pattern,
            change_text(each.outcome, kind, told.place, error=error),
            without_text(each.outcome, kind, told.place),
        )
        for each in told.removed
        if each.name in kept
    ]
    columns = ("head", "pattern", mattered_name(told.place, kind), "without it")
    if not any(without for *_, without in rows):
        rows, columns = [row[:3] for row in rows], columns[:3]
    yield Table(columns, tuple(rows), ("left", "left", "right", "left")[: len(columns)])
    if len(rows) < len(told.removed):
        least = abs(by_size[len(rows)].outcome.change)
        others = len(told.removed) - len(rows)
        message = "otherHeadsOfVector" if kind == "vectors" else "otherHeads"
        yield Prose(say(message, count=others, size=size_text(least, kind, error)))


def _about_noise(record: Record, told: Facts) -> Iterator[Block]:
    """What "noise" means, if a change can't be told from it."""
    if record.outcomes is None:
        return
    on_grid = record.grid is not None or hasattr(record.input, "grid")
    items = [item_name(name, on_grid) for name in numbered(record.items)]
    named = [*zip(items, told.hidden, strict=False), *((each.name, each.outcome) for each in told.removed)]
    said = [*about_noise(named, told.place, record.outcomes.kind, record.outcomes.error)]
    if said:
        yield Prose(" ".join(said))


def _checked(told: Facts, layers: int) -> str:
    about = say("aboutEffective" if told.is_effective else "about")
    if told.difference is None:
        return about
    message = "checkedLayers" if told.difference else "checkedLayersEqual"
    checked = say(message, layers=counted(layers, "layer"), difference=f"{told.difference:.1g}")
    return f"{checked} {about}"
