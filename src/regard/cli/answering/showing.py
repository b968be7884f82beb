"""Records as pages and as JSON, for all commands that show attention."""

import math
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from torch import Tensor

from regard import inspection
from regard.inspection import Outcome, Record
from regard.inspection.explain.outcomes import Place
from regard.inspection.views.story import warnings_of
from regard.page import Page, Prose
from regard.page.numbers import counted

if TYPE_CHECKING:
    from regard.inspection.views.comparison import RecordDifference
    from regard.inspection.views.facts import Facts

__all__ = [
    "DEFAULT_TOP",
    "Show",
    "as_json",
    "as_page",
    "difference_as_json",
    "facts_as_json",
    "maps",
    "weights_page",
    "with_warnings",
    "without_warnings",
]

DEFAULT_TOP = 3
"""The default number of listed items, if attention is shown."""

# A page of a map of 2,000 x 2,000 has four million cells, which no terminal or browser shows.
_MOST_MAPPED = 2000
# Nobody reads a list for each of 100 frames per second, so long sources have a list of the average.
_MOST_LISTS = 64


class Show(NamedTuple):
    """The view of the attention: layer and head from 1 (None: the last, the average), number of items, map, format."""

    layer: int | None
    head: int | None
    top: int
    map: bool = False
    plain: bool = False

    @property
    def shows_attention(self) -> bool:
        """Whether attention is shown beside the prediction."""
        return self.top > 0 or self.map

    def ranks_layer(self, record: Record) -> bool:
        """Whether the weights of a layer are listed; with attention pooling, only if a layer or head was chosen."""
        return self.top > 0 and bool(record.layers) and (record.pooling is None or self.named)

    @property
    def named(self) -> bool:
        """Whether a layer or a head was chosen."""
        return self.layer is not None or self.head is not None


def as_page(record: Record, title: str, show: Show) -> Page:
    """The prediction and, if requested, the attention as ranked lists and maps."""
    pages = [inspection.item_labels(record) if isinstance(record.answer, list) else inspection.answer_page(record)]
    if why := _why_nothing(record, show):
        pages.append(Page("", (Prose(why),)))
    if show.top and record.pooling is not None:
        pages.append(inspection.pooled_ranking(record, top=show.top))
    if show.ranks_layer(record):
        pages.append(_rankings(record, show.layer, show.head, show.top))
    if show.map:
        pages.append(maps(record, show.layer, show.head))
    return Page.of(title, *pages)


def with_warnings(page: Page, record: Record) -> Page:
    """A page that begins with the warnings of a record, for a file that is read without the terminal."""
    return Page(page.title, (*warnings_of(record), *page.blocks))


def without_warnings(page: Page, *records: Record) -> Page:
    """A page without the warnings of records, for a terminal that has shown them when their inputs were read."""
    warned = [each for record in records for each in warnings_of(record)]
    return Page(page.title, tuple(block for block in page.blocks if block not in warned))


def weights_page(record: Record, layer: int | None, head: int | None, top: int) -> Page:
    """The weights of a record of which no prediction is known, such as one that `Seen.save` wrote."""
    why = Prose("The record has no predictions, so what mattered isn't known. regard see --save keeps them.")
    return Page.of(record.model, Page("", (why,)), _rankings(record, layer, head, top))


def _rankings(record: Record, layer: int | None, head: int | None, top: int) -> Page:
    """For each item what it attended to; the average over all, if they are many."""
    if len(record.query_items) <= _MOST_LISTS:
        return inspection.item_rankings(record, layer=layer, head=head, top=top)
    return inspection.pooled_ranking(record, layer=layer or len(record.layers), head=head, top=top)


def maps(record: Record, layer: int | None = None, head: int | None = None) -> Page:
    """The weights of the pooling, if there is one, and those of a layer, if there is one, as maps."""
    pages = [] if record.pooling is None else [inspection.pooled_heatmap(record)]
    if record.layers and record.grid is not None:
        pages.append(inspection.pooled_heatmap(record, layer=layer or len(record.layers), head=head))
    # A map of hundreds of patches by hundreds of patches is large, so it must be requested by layer or head.
    if record.layers and (record.grid is None or layer is not None or head is not None):
        if len(record.items) > _MOST_MAPPED:
            there = counted(len(record.items), record.noun)
            pages.append(Page("", (Prose(f"The source has {there}; a map has {_MOST_MAPPED:,} at most."),)))
        else:
            pages.append(inspection.heatmap(record, layer=layer, head=head))
    return Page.of("", *pages)


def as_json(record: Record, show: Show) -> dict[str, Any]:
    """The record as plain values. Positions count from 1, and weights that aren't finite numbers are null.

    If weights were requested but there are none, `why_no_attention` has the reason.
    """
    choice = inspection.select_weights(record, show.layer, show.head) if show.ranks_layer(record) else None
    why, pooling = _why_nothing(record, show), record.pooling
    items = []
    rows = repeat(None) if choice is None else chain.from_iterable(choice.blocks())
    for place, (text, weights) in enumerate(zip(record.query_items, rows, strict=False)):
        said = record.answer[place]._asdict() if isinstance(record.answer, list) else {"text": text}
        if said.keys() > {"text"} or weights is not None:
            attends = [] if weights is None else _ranked(record, weights, show.top)
            items.append({**{name: _plain(value) for name, value in said.items()}, "attends": attends})
    return {
        "model": record.model,
        "layer": None if choice is None else show.layer or len(record.layers),
        "head": None if choice is None else show.head,
        "shown": None if choice is None else choice.title,
        **({"why_no_attention": why} if why else {}),
        **({} if pooling is None else {"pooling": _ranked(record, pooling.weights().mean(0)[0], show.top)}),
        "items": items,
    }


def _ranked(record: Record, weights: Tensor, top: int) -> list[dict[str, Any]]:
    return [
        {"text": record.items[key], "position": key + 1, "weight": _plain(weight)}
        for key, weight, _ in inspection.rank(weights, top).keys
    ]


def _why_nothing(record: Record, show: Show) -> str:
    """The reason why the weights of a layer were requested but are missing; else ""."""
    asked = show.top > 0 if record.pooling is None else show.named
    if record.layers or not record.items or not (asked or show.map):
        return ""
    return "This model has no attention" + (" except for its pooling." if record.pooling is not None else ".")


def _plain(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return round(value, 6) if math.isfinite(value) else None


def facts_as_json(record: Record, told: "Facts") -> dict[str, Any]:
    """What is told of a record as plain values. Positions count from 1."""
    items = []
    for number, (text, weight) in enumerate(zip(record.items, told.weights, strict=True)):
        hidden = {"hidden": _outcome(told.hidden[number])} if told.hidden else {}
        items.append({"text": text, "position": number + 1, "weight": _number(weight), **hidden})
    method = told.attribution
    return {
        "model": record.model,
        "answer": _answer(told.place),
        "warnings": list(record.warnings),
        "sentence": told.sentence,
        "shown": told.title,
        "attribution": None
        if method is None
        else {"name": method.name, "means": method.means, "misleads": method.misleads},
        "items": items,
        "heads": [
            {
                **({"attention": each.attention} if each.attention else {}),
                "layer": each.layer,
                "head": each.head,
                "pattern": each.pattern or None,
                "removed": _outcome(each.outcome),
            }
            for each in told.removed
        ],
        "rank_agreement": _number(told.agreement),
        "largest_difference": _number(told.difference),
    }


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
            {
                "title": title,
                "model": record.model,
                "answer": _answer(record.outcomes.places[number]) if record.outcomes and number is not None else None,
                "warnings": list(record.warnings),
                "shown": told and told.title,
            }
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


def _answer(place: Place) -> dict[str, Any]:
    return {
        "of": place.name,
        "position": None if place.query is None else place.query + 1,
        "label": place.label or None,
        "score": _number(place.score),
    }


def _outcome(outcome: Outcome | None) -> dict[str, Any] | None:
    if outcome is None:
        return None
    floor = outcome.noise_floor
    noise = {} if floor is None else {"noise_floor": _number(floor), "above_noise": outcome.above_noise}
    return {
        "label": outcome.label or None,
        "score": _number(outcome.score),
        "change": _number(outcome.change),
        **noise,
    }


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")
