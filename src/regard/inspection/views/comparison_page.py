"""The page of a comparison, for a terminal and for a browser without scripts."""

import math
from collections.abc import Iterator, Sequence
from typing import Literal

from regard.errors import ArgumentError
from regard.inspection.explain.outcomes import Kind, Outcome, Place
from regard.inspection.record.numbered import names_of
from regard.inspection.record.record import Record
from regard.inspection.views.comparison import ItemDifference, RecordDifference, comparison_of, joined, layer_of
from regard.inspection.views.item_labels import items_around
from regard.inspection.views.outcome_text import change_text, is_unchanged, or_zero, rounded, said
from regard.inspection.views.patched import Patched
from regard.inspection.views.story import MOST_ROWS, about_others, largest_in_turn, warnings_of
from regard.page import Block, Items, Page, Prose, Table
from regard.page.messages import say
from regard.page.numbers import brief_change, in_points, percent, percent_change
from regard.page.visible import clip

__all__ = ["comparison", "comparison_page", "difference_table", "titles_of"]

# More items than that on a side have no table of differences.
_MOST_ITEMS = 64
_IN_TITLE = 20


def comparison(
    first: Record,
    second: Record,
    titles: Sequence[str] = (),
    *,
    layer: int | None = None,
    head: int | None = None,
    query: int | None = None,
    top: int = MOST_ROWS,
    patched: Patched | None = None,
) -> Page:
    """Tell what differs between two records, A and B: their answers, weights, effects and heads.

    Items of texts correspond by the longest sequence of items that both have; other inputs must have as many items.
    What has no partner is said to have none, and what can't be compared is left out, with the reason.

    Args:
        first, second: the records.
        titles: the name of each; by default its model.
        layer, head, query: as in `comparison_of`.
        top: the most items and heads that are listed.
        patched: what patches from A into B do, see `Patched`; None: nothing is told of it.

    Raises:
        ArgumentError: as in `comparison_of`; or `titles` aren't two.

    Example:
        >>> import torch
        >>> from regard.inspection import LayerRecord
        >>> weights = torch.tensor([[[0.75, 0.25], [0.25, 0.75]]]), torch.tensor([[[0.75, 0.25], [0.75, 0.25]]])
        >>> a, b = (LayerRecord.of_weights("layer 1", each) for each in weights)
        >>> before = Record(("a", "saw"), ("DET", "NOUN"), (0.75, 0.75), (a,), model="before")
        >>> after = Record(("a", "saw"), ("DET", "VERB"), (0.75, 0.625), (b,), model="after")
        >>> comparison_of(before, after, query=2).sentence
        'For "saw", A gives NOUN 75%, B gives VERB 62%. The weight on "a" differs most: 25% in A, 75% in B.'
    """
    titles = titles_of(first, second, titles)
    found = comparison_of(first, second, layer=layer, head=head, query=query)
    return comparison_page(found, titles, top, patched)


def titles_of(first: Record, second: Record, titles: Sequence[str]) -> tuple[str, str]:
    """The names of both records; by default their models, or the texts of their items where the model is the same.

    Raises:
        ArgumentError: `titles` aren't two.
    """
    if titles:
        if len(titles) != 2:
            raise ArgumentError(f"`titles` must be 2 names, one for each record, but are {len(titles)}.")
        return titles[0], titles[1]
    if first.model != second.model:
        return first.model, second.model
    texts = [
        " ".join(each.items[:_IN_TITLE]) if each.input is None and each.grid is None else "" for each in (first, second)
    ]
    found = [clip(text, 60) or first.model for text in texts]
    return found[0], found[1]


def comparison_page(
    found: RecordDifference, titles: tuple[str, str], top: int = MOST_ROWS, patched: Patched | None = None
) -> Page:
    """The page of a comparison whose numbers are known."""
    blocks: list[Block] = []
    for letter, title, record, number, told in zip(
        "AB", titles, found.records, found.places, found.stories, strict=True
    ):
        layer = f" ({told.title[0].lower()}{told.title[1:]})" if told else ""
        blocks.append(Prose(f"{letter}: {title}{layer}"))
        blocks += [_shown(record, number), *warnings_of(record)]
    blocks.append(Prose(found.sentence))
    blocks += _item_table(found, top)
    blocks += _head_table(found, top)
    blocks += patched.blocks() if patched is not None else []
    blocks += [Prose(each) for each in found.left_out]
    return Page(say("both"), tuple(blocks))


def difference_table(found: RecordDifference, layer: int | None, head: int | None) -> Iterator[Block]:
    """The differences of all weights, as a table; nothing if there are none to compare, or more than 64 on a side."""
    rows = [(a, b) for a, b in found.alignment.queries if a is not None and b is not None]
    keys = [(a, b) for a, b in found.alignment.items if a is not None and b is not None]
    layers = [layer_of(each, layer) for each in found.records]
    if found.alignment.is_apart:
        return
    if not rows or not keys or max(len(rows), len(keys)) > _MOST_ITEMS or None in found.stories or None in layers:
        return
    values = []
    for number, each in enumerate(layers):
        every = each.weights([row[number] for row in rows]).double()  # pyright: ignore[reportOptionalMemberAccess]
        weights = every.mean(0) if head is None else every[head - 1]
        values.append(weights[:, [key[number] for key in keys]])
    # As in the table of the items, differences are those of the percentages that are written.
    difference = [
        [brief_change(*pair) for pair in zip(*each, strict=True)]
        for each in zip(*(value.tolist() for value in values), strict=True)
    ]
    a, b = found.records
    columns, lines = names_of(a.items, b.items, keys), names_of(a.query_items, b.query_items, rows)
    names = [joined(each) for each in columns]
    lines = [(joined(each), *line) for each, line in zip(lines, difference, strict=True)]
    yield Prose(say("differenceTable"))
    yield _numbers(["", *names], lines)


def _shown(record: Record, number: int | None) -> Items:
    """The items with their predictions, of which the one that is compared is marked."""
    query = None if number is None or record.outcomes is None else record.outcomes.places[number].query
    if record.queries is not None:
        return items_around(record.queries, "piece", query)
    return items_around(record.items, record.noun, query, labels=record.labels, scores=record.scores)


def _item_table(found: RecordDifference, top: int) -> Iterator[Block]:
    kinds: list[Kind] = ["vectors" if each.outcomes is None else each.outcomes.kind for each in found.records]
    places = [
        None if number is None or each.outcomes is None else each.outcomes.places[number]
        for each, number in zip(found.records, found.places, strict=True)
    ]
    errors = [None if each.outcomes is None else each.outcomes.error for each in found.records]
    # Where nothing is known of an item, since the other record has no partner of the prediction, it has no row.
    items = [each for each in found.items if each.weights != (None, None)]
    effects = any(outcome is not None for each in items for outcome in each.hidden)
    weights = [*map(_size, items)]
    # What is written as unchanged has no row for its effect.
    noticed = [_noticed(each, kinds, places, errors) for each in items] if effects else []
    rows = largest_in_turn(weights, noticed, top, kinds[0])
    # What two models attended to for answers to different questions has no difference.
    gap = ["B - A"] if found.has_partner else []
    columns = [found.records[0].noun, "attended in A", "in B", *gap, *(["mattered in A", "in B"] if effects else [])]
    lines = []
    for each in (items[row] for row in rows):
        attended = [
            "" if weight is None else say("maskedItem") if masked else percent(weight)
            for weight, masked in zip(each.weights, each.masked, strict=True)
        ]
        difference = "no partner" if None in each.numbers else ""
        one, other = each.weights
        if one is not None and other is not None:
            difference = in_points(percent_change(one, other))
        told = [
            "" if outcome is None or place is None else _effect(outcome, kind, place, error)
            for outcome, kind, place, error in zip(each.hidden, kinds, places, errors, strict=True)
        ]
        lines.append((each.name, *attended, *([difference] if gap else []), *(told if effects else [])))
    yield _numbers(columns, lines)
    if others := about_others(weights, noticed, rows, kinds[0] if kinds[0] == kinds[1] else None, error=errors[0]):
        yield Prose(others)
    if effects:
        yield Prose(say("hiding"))


def _effect(outcome: Outcome, kind: str, place: Place, error: float | None) -> str:
    """A change, and what is predicted after it where that is another label."""
    changed = kind == "numbers" or outcome.label != place.label
    after = said(rounded(outcome, error)) if changed else ""
    return f"{change_text(outcome, kind, place, error=error)} {after}".rstrip()


def _size(item: ItemDifference) -> float:
    return max(abs(or_zero(each)) for each in (*item.weights, 0.0) if each is not None)


def _noticed(
    item: ItemDifference, kinds: Sequence[Kind], places: Sequence[Place | None], errors: Sequence[float | None]
) -> float:
    sizes = [
        0.0
        if is_unchanged(rounded(outcome, error), kind, rounded(place, error), error)
        else abs(or_zero(outcome.change))
        for outcome, kind, place, error in zip(item.hidden, kinds, places, errors, strict=True)
        if outcome is not None and place is not None
    ]
    return max(sizes, default=0.0)


def _head_table(found: RecordDifference, top: int) -> Iterator[Block]:
    known = [each for each in found.heads if math.isfinite(each.difference)]
    # Of two models which heads have the same number is chance, and which of them differ most tells nothing.
    is_ranked = bool(known) and found.is_of_one_model
    ranked = sorted(known, key=lambda each: -each.difference) if is_ranked else known or [*found.heads]
    if not ranked:
        return
    rows = [
        (
            f"{each.layer}.{each.head}",
            *each.patterns,
            *(["" if "removed" in each.patterns else percent(each.difference)] if known else []),
        )
        for each in ranked[:top]
    ]
    columns = ("head", "pattern in A", "in B", *(["weight that is on other items"] if known else []))
    yield Table(columns, tuple(rows), ("left", "left", "left", "right")[: len(columns)])
    if is_ranked and len(rows) < len(ranked):
        yield Prose(say("otherHeadsOfBoth", count=len(ranked) - len(rows)))
    if not found.is_of_one_model:
        yield Prose(say("headsApart"))


def _numbers(columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> Table:
    """A table of numbers, whose first column names the rows."""
    alignment: list[Literal["left", "right"]] = ["left", *("right" for _ in columns[1:])]
    return Table(tuple(columns), tuple(rows), tuple(alignment))
