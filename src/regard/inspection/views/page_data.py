"""What the page of a record draws from: plain values, and arrays of numbers."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from regard.inspection.explain.outcomes import Outcome, Outcomes
from regard.inspection.record.default_place import default_place
from regard.inspection.record.numbered import numbered
from regard.inspection.record.record import Record
from regard.inspection.views.answered import answered
from regard.inspection.views.drawn_arrays import drawn_values
from regard.inspection.views.kept_weights import First, kept_weights
from regard.inspection.views.layer_arrays import hidden_pairs, vectors, weights_table
from regard.inspection.views.removed_heads import layer_patterns
from regard.inspection.views.story import effective_note
from regard.page.arrays import Arrays
from regard.page.visible import visible

__all__ = ["MOST_BYTES", "Chosen", "page_data"]


MOST_BYTES = 17_000_000
"""The most bytes of arrays in a page, compressed; as text in the page they take a third more, and the rest of the page
is 2 MB at most.
"""

# Numbers are kept in full where they take no more than this.
_SMALL = 2**19


class Chosen(NamedTuple):
    """What is shown first of a record: whose weights, and which prediction, by numbers from 1.

    Args:
        layer, head: whose weights; None: the last layer, the average of its heads.
        query: the number of the prediction; None: the one that changes most if an item is hidden.
    """

    layer: int | None = None
    head: int | None = None
    query: int | None = None


def page_data(
    records: Sequence[Record],
    titles: Sequence[str] = ("",),
    *chosen: Chosen,
    most_bytes: int = MOST_BYTES,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[dict[str, Any], Arrays]:
    """The values and the arrays of a page.

    What doesn't fit into `most_bytes` is left out, as `kept_weights` chooses; a sentence on the page says so.

    Args:
        records: the records, of which one is shown at a time.
        titles: the name of each.
        chosen: what is shown first, of each record or of all.
        most_bytes: the most bytes of arrays, compressed.
        progress: called with how much is done, and of how much.

    Example:
        >>> import torch
        >>> from regard.inspection import LayerRecord
        >>> layer = LayerRecord.of_weights("layer 1", torch.tensor([[[0.75, 0.25], [0.25, 0.75]]]))
        >>> data, arrays = page_data([Record(("a", "saw"), ("DET", "NOUN"), (0.75, 0.75), (layer,))])
        >>> data["records"][0]["layers"][0]["table"], arrays.size
        ({'at': 0, 'shape': [1, 2, 2], 'kind': 'f32'}, 16)
    """
    arrays = Arrays()
    first = chosen[0] if chosen else Chosen()
    each_chosen = chosen if len(chosen) > 1 else [first] * len(records)
    total = sum(2 * len(each.layers) + 1 for each in records)
    steps = itertools.count(1)
    found = []
    for number, (record, title, one) in enumerate(zip(records, titles, each_chosen, strict=True), start=1):
        # Each record gets the same part of what is left.
        most = arrays.packed_size + (most_bytes - arrays.packed_size) // (len(records) - number + 1)
        told = _record(record, arrays, most, one, lambda: progress(next(steps), total))
        found.append({"title": visible(title)} | told)
    layer, head, place = map(_from_0, first)
    shown = {"layer": layer, "head": head, "place": place}
    return {"version": 1, "records": found, "shown": shown, "blocks": arrays.lengths()}, arrays


def _from_0(number: int | None) -> int | None:
    return None if number is None else number - 1


def _record(
    record: Record,
    arrays: Arrays,
    most_bytes: int,
    chosen: Chosen,
    done: Callable[[], None],
) -> dict[str, Any]:
    layer, head, place = map(_from_0, chosen)
    # First what must be there; the weights share the room that it leaves.
    drawn = drawn_values(record.input, arrays)
    places = record.outcomes or answered(record)
    outcomes = _outcomes(places, default_place(record, places), len(record.layers), arrays)
    row = outcomes["places"][outcomes["chosen"] if place is None else place]["query"]
    layers = kept_weights(record, arrays, most_bytes, First(layer, head, row), done)
    for number, (kept, each) in enumerate(zip(layers, record.layers, strict=True), start=1):
        kept |= {
            "name": visible(each.name),
            "heads": each.heads,
            "queries": each.shape[0],
            "keys": each.shape[1],
            "patterns": layer_patterns(record, number),
            "rule": visible(each.calls[0].rule_text),
            **({"effective": True} if each.is_effective else {}),
        }
        done()
    pooling = None
    if record.pooling is not None:
        mask, heads = hidden_pairs(record.pooling), list(range(record.pooling.heads))
        kept = vectors(record.pooling, arrays, heads, np.float32, mask)
        pooling = weights_table(record.pooling, arrays) | ({} if kept is None else {"vectors": kept})
        pooling |= {
            "mask": _added(mask, arrays),
            "rule": visible(record.pooling.calls[0].rule_text),
            "name": visible(record.pooling.name),
            "heads": record.pooling.heads,
            "queries": 1,
            "keys": len(record.items),
            "patterns": [],
        }
    outcomes["note"] = " ".join(filter(None, (outcomes["note"], effective_note(record))))
    found = record.verify()
    return {
        "model": visible(record.model),
        "noun": record.noun,
        "items": list(map(visible, record.items)),
        "numbered": list(map(visible, numbered(record.items))),
        "queries": None if record.queries is None else list(map(visible, record.queries)),
        "numbered_queries": None if record.queries is None else list(map(visible, numbered(record.queries))),
        "labels": list(map(visible, record.labels)),
        "scores": list(record.scores),
        "grid": None if record.grid is None else list(record.grid),
        "input": drawn,
        "warnings": list(map(visible, record.warnings)),
        "without": [[layer - 1, head - 1] for layer, head in record.without],
        "layers": layers,
        "pooling": pooling,
        "outcomes": outcomes,
        "difference": found if found is not None and math.isfinite(found) else None,
    }


def _added(parts: dict[str, np.ndarray] | None, arrays: Arrays) -> dict[str, Any]:
    return {} if parts is None else {name: arrays.add(value) for name, value in parts.items()}


def _outcomes(outcomes: Outcomes, chosen: int, layers: int, arrays: Arrays) -> dict[str, Any]:
    labels: dict[str, int] = {}
    # Those of an encoder and of a decoder come before those of the layers that are drawn.
    heads = [head for layer in outcomes.removed[-layers:] for head in layer] if layers else []
    return {
        "kind": outcomes.kind,
        "form": outcomes.form,
        "places": [
            {
                "name": visible(each.name),
                "query": each.query,
                "label": visible(each.label),
                "score": each.score,
                **({} if each.likelier is None else {"likelier": [visible(each.likelier[0]), each.likelier[1]]}),
            }
            for each in outcomes.places
        ],
        "chosen": chosen,
        "hidden": _rows(outcomes.hidden, labels, arrays),
        "removed": _rows(heads, labels, arrays),
        "note": visible(outcomes.note),
        "error": outcomes.error,
        "labels": list(map(visible, labels)),
    }


def _rows(rows: Sequence[Sequence[Outcome]], labels: dict[str, int], arrays: Arrays) -> dict[str, Any] | None:
    """(change, place) arrays: which label there is, its probability and the change."""
    if not rows:
        return None
    label = [[labels.setdefault(each.label, len(labels)) for each in row] for row in rows]
    score = [[math.nan if each.score is None else each.score for each in row] for row in rows]
    change = [[each.change for each in row] for row in rows]
    floors = [[math.nan if each.noise_floor is None else each.noise_floor for each in row] for row in rows]
    known = any(each.noise_floor is not None for row in rows for each in row)
    return {
        "label": arrays.add(np.array(label, np.int32)),
        "score": arrays.add(_narrow(score)),
        "change": arrays.add(_narrow(change)),
        **({"floor": arrays.add(_narrow(floors))} if known else {}),
    }


def _narrow(rows: list[list[float]]) -> np.ndarray:
    """The numbers in float32, or in float16 if they are many and fit; what is too large for float32 is its largest."""
    wide = np.array(rows)
    most = np.finfo(np.float32).max
    fits = np.nanmax(np.abs(wide), initial=0.0) <= np.finfo(np.float16).max
    return np.clip(wide, -most, most).astype(np.float16 if fits and 4 * wide.size > _SMALL else np.float32)
