"""Two records in one command: which they are, and what differs as a page and as JSON."""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.cli.output.record_files import is_record
from regard.errors import ArgumentError
from regard.inspection import Outcome, Record
from regard.page.visible import clip

if TYPE_CHECKING:
    from regard.inspection.views.comparison import RecordDifference

__all__ = ["Other", "difference_as_json", "other_of", "titles_of_both"]

_TITLE = 60


class Other(NamedTuple):
    """The model, or the file of a record, and the input of the second record; None for a record."""

    model: str
    source: str | None


def other_of(model: str, source: str | None, compare: str | None, compare_input: str | None) -> Other | None:
    """What MODEL and INPUT are compared with; None if with nothing.

    Args:
        model, source: MODEL and INPUT.
        compare: another model or a record; None: the same model.
        compare_input: another input; None: the same input.

    Raises:
        ArgumentError: the options contradict each other.
    """
    if compare is None and compare_input is None:
        return None
    if compare is None:
        if is_record(model):
            raise ArgumentError(
                f"`--compare-input` needs a model that reads it, but {model} is a record. Give one by --compare MODEL."
            )
        return Other(model, compare_input)
    if is_record(compare):
        if compare_input is not None:
            raise ArgumentError(
                f"`--compare-input` must be left out: {compare} is a record, which holds its own input."
            )
        return Other(compare, None)
    if compare_input is None and is_record(model):
        raise ArgumentError(
            f"`--compare-input` must be given: {compare} is a model, and the text or file of which the record {model} "
            "was made isn't known."
        )
    return Other(compare, source if compare_input is None else compare_input)


def titles_of_both(sides: tuple[Other, Other], records: tuple[Record, Record]) -> tuple[str, str]:
    """The names of both: the files of records, else models if they differ, and inputs if they differ."""
    models = [
        side.model if is_record(side.model) else record.model for side, record in zip(sides, records, strict=True)
    ]
    if models[0] == models[1] and sides[0].model != sides[1].model:
        models = [side.model for side in sides]
    other = models[0] != models[1], sides[0].source != sides[1].source
    found = []
    for model, side in zip(models, sides, strict=True):
        parts = [*([model] if other[0] or not other[1] else []), *([side.source or ""] if other[1] else [])]
        found.append(": ".join(clip(each, _TITLE) for each in parts if each))
    return found[0], found[1]


def difference_as_json(found: "RecordDifference", titles: tuple[str, str]) -> dict[str, Any]:
    """A comparison as plain values. Positions count from 1."""
    items = []
    for each in found.items:
        hidden = {"hidden": [*map(_outcome, each.hidden)]} if each.hidden != (None, None) else {}
        items.append(
            {
                "texts": [
                    None if number is None else record.items[number]
                    for record, number in zip(found.records, each.numbers, strict=True)
                ],
                "positions": [None if number is None else number + 1 for number in each.numbers],
                "weights": [*map(_number, each.weights)],
                "difference": _number(each.difference),
                **hidden,
            }
        )
    return {
        "compared": [
            {"title": title, "model": record.model, "answer": _answer(record, number), "shown": told and told.title}
            for title, record, number, told in zip(titles, found.records, found.places, found.stories, strict=True)
        ],
        "sentence": found.sentence,
        "items": items,
        "heads": [
            {
                "layer": each.layer,
                "head": each.head,
                "patterns": [pattern or None for pattern in each.patterns],
                "difference": _number(each.difference),
            }
            for each in found.heads
        ],
        "left_out": list(found.left_out),
    }


def _answer(record: Record, number: int | None) -> dict[str, Any] | None:
    if number is None or record.outcomes is None:
        return None
    place = record.outcomes.places[number]
    return {
        "of": place.name,
        "position": None if place.query is None else place.query + 1,
        "label": place.label or None,
        "score": _number(place.score),
    }


def _outcome(outcome: Outcome | None) -> dict[str, Any] | None:
    if outcome is None:
        return None
    return {"label": outcome.label or None, "score": _number(outcome.score), "change": _number(outcome.change)}


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")
