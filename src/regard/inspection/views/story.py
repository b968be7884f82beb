"""What a model says about an item, what it attended to there, and what mattered, in the order that teaches it."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from regard.errors import ArgumentError
from regard.inspection.across_layers import ATTRIBUTIONS, Attribution
from regard.inspection.attributed_items import attributed_items
from regard.inspection.case import Case
from regard.inspection.numbered import numbered
from regard.inspection.outcomes import Outcome, Outcomes, Place
from regard.inspection.patterns import head_patterns
from regard.inspection.rank_agreement import rank_agreement
from regard.inspection.record import LayerRecord, Record
from regard.inspection.views.story_words import change_text, or_zero, said, sentence, signed_percent, size_text
from regard.page import Block, ComparedItem, Comparison, Item, Items, Page, Prose, Table
from regard.page.numbers import counted, percent, probability

__all__ = [
    "MOST_ROWS",
    "Story",
    "chosen_place",
    "comparison",
    "difference",
    "head_names",
    "page_of",
    "story",
    "story_of",
]

MOST_ROWS = 12
"""Of more items or heads than that, those are shown that were attended to most or mattered most."""

# A longer text is shown as a window of so many items.
_MOST_ITEMS = 64


class RemovedHead(NamedTuple):
    """A head and what is predicted without it.

    Args:
        layer, head: its numbers, from 1.
        pattern: its measured pattern; "" if it has none.
        outcome: the outcome if it is removed.
        attention: of an encoder-decoder whose self-attention was recorded, which layers are counted: "encoder",
            "decoder" or "cross".
    """

    layer: int
    head: int
    pattern: str
    outcome: Outcome
    attention: str = ""

    @property
    def name(self) -> str:
        """Its name in a table, such as "2.4" or "encoder 2.4"."""
        return f"{self.attention} {self.layer}.{self.head}".strip()


class Story(NamedTuple):
    """The numbers of a story about one place of a record.

    Args:
        place: what is predicted.
        number: its number in `record.outcomes.places`, from 0.
        title: which layer and head the weights are of.
        weights: for each item, its weight.
        hidden: for each item, the outcome if it is hidden; empty if that wasn't measured.
        removed: each head with the outcome without it; empty if not measured.
        agreement: the rank agreement of `weights` and the sizes of the changes by hiding; NaN if it has none.
        sentence: what is to be seen.
        difference: the largest difference between outputs and those computed from the record; None: can't be compared.
        attribution: the method that `weights` are of, if one was asked for; None: they are the weights as they are.
    """

    place: Place
    number: int
    title: str
    weights: tuple[float, ...]
    hidden: tuple[Outcome, ...]
    removed: tuple[RemovedHead, ...]
    agreement: float
    sentence: str
    difference: float | None
    attribution: Attribution | None = None


def story_of(
    record: Record,
    *,
    layer: int | None = None,
    head: int | None = None,
    query: int | None = None,
    attribution: str | None = None,
    case: Case | None = None,
) -> Story:
    """The numbers of a story.

    Args:
        record: a record that `see` made.
        layer, head: whose weights, from 1; None: the last layer, the average of its heads.
        query: the number of the place, from 1; None: the one whose prediction changes most if an item is hidden.
        attribution: a name of `ATTRIBUTIONS`, the method that says how much each item contributes; None: the weights.
        case: what `see` was given; "gradient-weighted" runs its model again, and no other method needs it.

    Raises:
        ArgumentError: the record has no predictions or no weights, no such layer, head or place, or not what the method
            of attribution needs.
    """
    outcomes = record.outcomes
    if outcomes is None:
        raise ArgumentError("`record` must have outcomes, as those of `see` have, but has none.")
    number = chosen_place(outcomes, query)
    place = outcomes.places[number]
    found = attributed_items(record, attribution or "raw", number, layer, head, case)
    weights = tuple(found.weights.double().tolist())
    hidden = tuple(row[number] for row in outcomes.hidden)
    agreement = math.nan
    if hidden and all(map(math.isfinite, (*weights, *(each.change for each in hidden)))):
        agreement = rank_agreement([*map(abs, weights)], [abs(each.change) for each in hidden])
    return Story(
        place,
        number,
        found.title,
        weights,
        hidden,
        tuple(_heads(record, outcomes, number)),
        agreement,
        sentence(record, outcomes, number, weights, hidden, attribution or ""),
        difference(record),
        None if attribution is None else ATTRIBUTIONS[attribution],
    )


def chosen_place(outcomes: Outcomes, query: int | None) -> int:
    """The number of the place that is shown, from 0.

    Args:
        outcomes: the predictions.
        query: the number of the place, from 1; None: the one whose prediction changes most if an item is hidden.

    Raises:
        ArgumentError: there is no such place.
    """
    if query is None:
        return outcomes.default()
    count = len(outcomes.places)
    if not 1 <= query <= count:
        last = outcomes.places[-1].name
        raise ArgumentError(f"`query` must be {_range(count)}, but is {query}. The last is {last!r}.")
    return query - 1


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
        >>> layer = LayerRecord.of_weights("layer 1", torch.tensor([[[0.75, 0.25], [0.25, 0.75]]]), "softmax")
        >>> places = (Place("a", 0, "DET", 0.75), Place("saw", 1, "NOUN", 0.75))
        >>> hidden = (
        ...     (Outcome("DET", 0.75, 0.0), Outcome("VERB", 0.625, -0.5)),
        ...     (Outcome("DET", 0.75, 0.0), Outcome("NOUN", 0.75, 0.0)),
        ... )
        >>> outcomes = Outcomes("labels", "item", places, hidden)
        >>> record = Record(("a", "saw"), ("DET", "NOUN"), (0.75, 0.75), (layer,), noun="word", outcomes=outcomes)
        >>> story_of(record).sentence  # doctest: +ELLIPSIS
        '"saw" is NOUN (75%). It attended most to itself (75%), but hiding "a" changes the answer most: NOUN 75% ...'
    """
    told = story_of(record, layer=layer, head=head, query=query, attribution=attribution, case=case)
    return page_of(record, told, top)


def page_of(record: Record, told: Story, top: int = MOST_ROWS) -> Page:
    """The page of a story whose numbers are known."""
    heads = sum(each.heads for each in record.every_layer)
    note = "" if record.outcomes is None else record.outcomes.note
    blocks = [
        *_items(record, told),
        Prose(told.sentence),
        comparison(record, told, top),
        *_method(told),
        *_head_table(told, top, heads),
        *([Prose(note)] if note else []),
    ]
    return Page(record.model, (*blocks, Prose(_checked(told, len(record.every_layer) + (record.pooling is not None)))))


def _items(record: Record, told: Story) -> Iterator[Block]:
    """The items, and the queries if they are others, of which the one that is shown is marked."""
    place, same = told.place.query, record.queries is None
    if same:
        yield _shown(record.items, record.labels, record.scores, place, told, record.noun)
    else:
        yield _shown(record.items, (), (), None, told, record.noun)
        yield _shown(record.query_items, (), (), place, told, "piece")
    if place is None and told.place.label:
        name = "" if told.place.name == "the whole" else told.place.name
        row = (told.place.label, *([] if told.place.score is None else [probability(told.place.score)]))
        columns = ("answer", "sure")[: len(row)]
        yield Table(("question", *columns), ((name, *row),)) if name else Table(columns, (row,))


def _shown(
    texts: tuple[str, ...],
    labels: tuple[str, ...],
    scores: tuple[float, ...],
    marked: int | None,
    told: Story,
    noun: str,
) -> Items:
    """All items, or those around the one that is marked or was attended to most."""
    centre = max(range(len(texts)), key=lambda item: abs(or_zero(told.weights[item]))) if marked is None else marked
    first, last = 0, len(texts)
    if len(texts) > _MOST_ITEMS:
        first = min(max(0, centre - _MOST_ITEMS // 2), len(texts) - _MOST_ITEMS)
        last = first + _MOST_ITEMS
    found = [
        Item(
            texts[item],
            labels[item] if labels else "",
            percent(scores[item]) if scores else "",
            marked=item == marked,
        )
        for item in range(first, last)
    ]
    before, after = first, len(texts) - last
    return Items(
        (
            *([Item(f"... {counted(before, noun)} before")] if before else []),
            *found,
            *([Item(f"... {counted(after, noun)} after")] if after else []),
        ),
        noun,
    )


def comparison(record: Record, told: Story, top: int = MOST_ROWS) -> Comparison:
    """What was attended to beside what mattered: a row an item, of the `top` items that are largest in either."""
    names = numbered(record.items)
    rows = range(len(names))
    if len(names) > top:
        by_weight = sorted(rows, key=lambda item: -abs(or_zero(told.weights[item])))
        by_change = sorted(rows, key=lambda item: -abs(or_zero(told.hidden[item].change))) if told.hidden else []
        ranked = [item for pair in zip(by_weight, by_change or by_weight, strict=True) for item in pair]
        rows = sorted(list(dict.fromkeys(ranked))[:top])
    kind = "vectors" if record.outcomes is None else record.outcomes.kind
    found = []
    for item in rows:
        if not told.hidden:
            found.append(ComparedItem(names[item], **_first(told, item)))
            continue
        outcome = told.hidden[item]
        found.append(
            ComparedItem(
                names[item],
                second=abs(outcome.change),
                written=change_text(outcome, kind, told.place),
                note=said(outcome),
                **_first(told, item),
            )
        )
    return Comparison(
        told.title,
        tuple(found),
        noun=record.noun,
        others=len(names) - len(found),
        first="attended" if told.attribution in (None, ATTRIBUTIONS["raw"]) else "attributed",
        second="mattered",
        third="" if kind == "vectors" else "without it",
    )


def _first(told: Story, item: int) -> dict[str, Any]:
    """The weight of an item, as the length of its bar, and as text where it has a sign."""
    weight = told.weights[item]
    return {"first": abs(weight), "first_written": signed_percent(weight)} if weight < 0 else {"first": weight}


def _method(told: Story) -> Iterator[Block]:
    """Which method of attribution it is, what its numbers mean and where they mislead, if one was asked for."""
    if told.attribution is None:
        return
    place, chosen = told.place, ""
    if told.attribution.name == "gradient-weighted":
        chosen = f" The number is {place.label if place.score is None else f'the probability of {place.label}'}."
    yield Prose(f"Attribution: {told.attribution.name}. {told.attribution.means}{chosen}")
    yield Prose(f"Where it misleads: {told.attribution.misleads}")


def _head_table(told: Story, top: int, heads: int) -> Iterator[Block]:
    if not told.removed:
        if told.hidden and heads:
            yield Prose(f"What each of the {heads:,} heads matters wasn't measured.")
        return
    by_size = sorted(told.removed, key=lambda each: -abs(or_zero(each.outcome.change)))
    kept = {each.name for each in by_size[:top]}
    kind = "numbers" if told.place.score is None and told.place.label else "labels" if told.place.label else "vectors"
    rows = [
        (each.name, each.pattern, change_text(each.outcome, kind, told.place), said(each.outcome))
        for each in told.removed
        if each.name in kept
    ]
    columns = ("head", "pattern", "mattered", "without it")
    if kind == "vectors":
        rows, columns = [row[:3] for row in rows], columns[:3]
    yield Table(columns, tuple(rows), ("left", "left", "right", "left")[: len(columns)])
    if len(rows) < len(told.removed):
        least = abs(by_size[len(rows)].outcome.change)
        others = len(told.removed) - len(rows)
        rest = "The other head" if others == 1 else f"Each of the other {others:,} heads"
        it, of = ("vector", " of its length") if kind == "vectors" else ("answer", "")
        yield Prose(f"{rest}, removed alone, changes the {it} by {size_text(least, kind)}{of} at most.")


def _heads(record: Record, outcomes: Outcomes, place: int) -> Iterator[RemovedHead]:
    if not outcomes.removed:
        return
    rows = iter(outcomes.removed)
    several = bool(record.encoder or record.decoder)
    for attention, layers, items, cross in (
        ("encoder", record.encoder, record.items, False),
        ("decoder", record.decoder, record.previous, False),
        ("cross" if several else "", record.layers, record.items, record.queries is not None),
    ):
        for number, layer in enumerate(layers, start=1):
            patterns = head_names(layer, items, cross)
            for head, (pattern, row) in enumerate(zip(patterns, next(rows), strict=True), start=1):
                yield RemovedHead(number, head, pattern, row[place], attention)


def head_names(layer: LayerRecord, items: tuple[str, ...], cross: bool) -> list[str]:
    """The measured pattern of each head of a layer; "" if it runs step by step."""
    if layer.along == "query":
        return [""] * layer.heads
    return [
        "" if each.name == "none" else each.name
        for call in layer.calls
        # Names of items that are several keys say nothing of single keys.
        for each in head_patterns(call, items=items if layer.key_bounds is None else None, item=layer.item, cross=cross)
    ]


def difference(record: Record) -> float | None:
    """The largest difference between the layers' outputs and those computed again from the record; None if unknown."""
    layers = [*record.every_layer, *([] if record.pooling is None else [record.pooling])]
    found = [call.verify() for layer in layers for call in layer.calls]
    return max((each for each in found if each is not None), default=None)


def _checked(told: Story, layers: int) -> str:
    about = "A weight says how much was attended to, an effect what changes without it."
    if told.difference is None:
        return about
    return (
        f"Checked: the outputs of {counted(layers, 'layer')}, computed again from the record, differ by at most "
        f"{told.difference:.1g}. {about}"
    )


def _range(count: int) -> str:
    return "1" if count == 1 else f"from 1 to {count}"
