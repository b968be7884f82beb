"""What the page of a record draws from: plain values, and arrays of numbers."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.inspection.numbered import numbered
from regard.inspection.outcomes import Outcome, Outcomes, Place
from regard.inspection.record import LayerRecord, Record
from regard.inspection.views.drawn_arrays import drawn_values
from regard.inspection.views.layer_arrays import hidden_pairs, overview, vectors, weights_table
from regard.inspection.views.story import difference, head_names
from regard.page.arrays import Arrays
from regard.page.visible import visible

__all__ = ["MOST_BYTES", "page_data"]

MOST_BYTES = 16 * 2**20
"""The most bytes of arrays in a page; as text in the page they take a third more."""

# Larger layers have an overview.
_OVERVIEW_FROM = 64
# Numbers are kept in full where they take no more than this.
_SMALL = 2**19
# Of longer inputs there are no tables, which grow with the square of the length.
_TABLES = 512
# Vectors beside a table, from which the steps are told.
_FOR_STEPS = 2**17


def page_data(
    records: Sequence[Record],
    titles: Sequence[str] = ("",),
    *,
    layer: int | None = None,
    head: int | None = None,
    query: int | None = None,
    most_bytes: int = MOST_BYTES,
) -> tuple[dict[str, Any], Arrays]:
    """The values and the arrays of a page.

    What doesn't fit into `most_bytes` is left out, the layer that is shown first last, and a sentence says so.

    Args:
        records: the records, of which one is shown at a time.
        titles: the name of each.
        layer, head, query: what is shown first, as in `story_of`.
        most_bytes: the most bytes of arrays.

    Example:
        >>> import torch
        >>> layer = LayerRecord.of_weights("layer 1", torch.tensor([[[0.75, 0.25], [0.25, 0.75]]]))
        >>> data, arrays = page_data([Record(("a", "saw"), ("DET", "NOUN"), (0.75, 0.75), (layer,))])
        >>> data["records"][0]["layers"][0]["table"], arrays.size
        ({'at': 0, 'shape': [1, 2, 2], 'kind': 'f32'}, 16)
    """
    arrays = Arrays()
    shown = {"layer": layer, "head": head, "place": query}
    found = []
    for number, (record, title) in enumerate(zip(records, titles, strict=True), start=1):
        # Each record gets the same part of what is left.
        most = arrays.size + (most_bytes - arrays.size) // (len(records) - number + 1)
        found.append({"title": visible(title)} | _record(record, arrays, most, layer, head))
    first = {name: None if value is None else value - 1 for name, value in shown.items()}
    return {"version": 1, "records": found, "shown": first}, arrays


def _record(record: Record, arrays: Arrays, most_bytes: int, layer: int | None, head: int | None) -> dict[str, Any]:
    # First, since it is what is looked at first.
    drawn = drawn_values(record.input, arrays)
    left_out: dict[str, list[str]] = {}
    shown = len(record.layers) - 1 if layer is None else layer - 1
    layers: list[dict[str, Any]] = [{} for _ in record.layers]
    for number, each in enumerate(record.layers):
        if max(each.shape) > _OVERVIEW_FROM:
            layers[number] |= overview(each, arrays)
    order = sorted(range(len(layers)), key=lambda number: (number != shown, number))
    whole = sum(_cost(record.layers[number])[1] for number in order)
    dtype: Any = np.float32 if whole <= _SMALL else np.float16
    for number in order:
        each = record.layers[number]
        first = None if head is None or number != shown else head - 1
        layers[number] |= _layer(each, arrays, most_bytes, dtype, first)
        kept = layers[number].get("vectors", {}).get("heads", [])
        if "table" not in layers[number] and len(kept) < each.heads:
            what = f"{each.heads - len(kept)} of {each.heads} heads" if kept else "all heads"
            left_out.setdefault(what, []).append(each.name)
    for number, each in enumerate(record.layers):
        layers[number] |= {
            "name": each.name,
            "heads": each.heads,
            "queries": each.shape[0],
            "keys": each.shape[1],
            "patterns": head_names(record, each),
            "rule": each.calls[0].rule_text,
        }
    pooling = None
    if record.pooling is not None:
        pooling = weights_table(record.pooling, arrays) | {
            "mask": _added(hidden_pairs(record.pooling), arrays),
            "name": record.pooling.name,
            "heads": record.pooling.heads,
            "queries": 1,
            "keys": len(record.items),
            "patterns": [],
        }
    found = difference(record)
    return {
        "model": record.model,
        "noun": record.noun,
        "items": list(map(visible, record.items)),
        "numbered": list(map(visible, numbered(record.items))),
        "queries": None if record.queries is None else list(map(visible, record.queries)),
        "labels": list(record.labels),
        "scores": list(record.scores),
        "grid": None if record.grid is None else list(record.grid),
        "input": drawn,
        "layers": layers,
        "pooling": pooling,
        "outcomes": _outcomes(record.outcomes or _answered(record), arrays),
        "difference": found if found is not None and math.isfinite(found) else None,
        "left_out": [
            f"Only the overview holds the weights of {what} of {', '.join(names)}: the page would be too large."
            for what, names in left_out.items()
        ],
    }


def _answered(record: Record) -> Outcomes:
    """The places of a record whose effects weren't measured."""
    texts = record.query_items
    if record.labels:
        scores = record.scores or (None,) * len(texts)
        places = [Place(*each) for each in zip(texts, range(len(texts)), record.labels, scores, strict=True)]
        return Outcomes("labels", "item", tuple(places))
    match record.answer:
        case dict():
            found = [Place(name, None, "yes", chance) for name, chance in record.answer.items()]
            return Outcomes("labels", "item", tuple(found))
        case (str() as label, float() as chance):
            return Outcomes("labels", "item", (Place("the whole", None, label, chance),))
        case float() as number:
            return Outcomes("numbers", "item", (Place("the whole", None, f"{number:.4g}", None),))
    generated = record.queries is not None
    found = [Place(text, place, text if generated else "", None) for place, text in enumerate(texts)]
    return Outcomes("labels" if generated else "vectors", "generated" if generated else "item", tuple(found))


def _cost(layer: LayerRecord) -> tuple[int, int]:
    """The numbers of the table, and four bytes for each number of the cheaper form."""
    queries, keys = layer.shape
    table = layer.heads * queries * keys
    feature = layer.calls[0].query.shape[3]
    return table, 4 * min(table, layer.heads * (queries + keys) * feature)


def _layer(layer: LayerRecord, arrays: Arrays, most_bytes: int, dtype: Any, first: int | None) -> dict[str, Any]:
    """The layer's weights in the cheaper form that fits; {} if none does."""
    queries, keys = layer.shape
    table, _ = _cost(layer)
    size = np.dtype(dtype).itemsize
    feature = layer.calls[0].query.shape[3]

    def bytes_of_a_head(number: int) -> int:
        return (queries + keys) * feature * number + 4 * queries

    mask = hidden_pairs(layer)
    found: dict[str, Any] = {"mask": _added(mask, arrays)}
    left = most_bytes - arrays.size
    short = size * table <= max(layer.heads * bytes_of_a_head(size), 4 * _FOR_STEPS) and max(queries, keys) <= _TABLES
    if short and size * table <= left:
        found |= weights_table(layer, arrays, dtype)
        left = min(left - size * table, _FOR_STEPS)
    # Where rounding to 16 bits changes the weights, 32 bits are kept, of fewer heads if need be.
    for kind in (dtype, *([np.float32] if dtype is not np.float32 else [])):
        fit = min(layer.heads, max(0, left) // bytes_of_a_head(np.dtype(kind).itemsize))
        if not fit or ("table" in found and fit < layer.heads):
            break
        heads = sorted(range(layer.heads), key=lambda number: (number != first, number))[:fit]
        made = vectors(layer, arrays, sorted(heads), kind, mask)
        if made is not None:
            return found | {"vectors": made}
    if "table" not in found and size * table <= left:
        found |= weights_table(layer, arrays, dtype)
    return found


def _added(parts: dict[str, np.ndarray] | None, arrays: Arrays) -> dict[str, Any]:
    return {} if parts is None else {name: arrays.add(value) for name, value in parts.items()}


def _outcomes(outcomes: Outcomes, arrays: Arrays) -> dict[str, Any]:
    labels: dict[str, int] = {}
    heads = [head for layer in outcomes.removed for head in layer]
    return {
        "kind": outcomes.kind,
        "form": outcomes.form,
        "places": [
            {"name": visible(each.name), "query": each.query, "label": each.label, "score": each.score}
            for each in outcomes.places
        ],
        "chosen": outcomes.default(),
        "hidden": _rows(outcomes.hidden, labels, arrays),
        "removed": _rows(heads, labels, arrays),
        "note": outcomes.note,
        "labels": list(labels),
    }


def _rows(rows: Sequence[Sequence[Outcome]], labels: dict[str, int], arrays: Arrays) -> dict[str, Any] | None:
    """(change, place) arrays: which label there is, its probability and the change."""
    if not rows:
        return None
    dtype: Any = np.float32 if 4 * len(rows) * len(rows[0]) <= _SMALL else np.float16
    label = [[labels.setdefault(each.label, len(labels)) for each in row] for row in rows]
    score = [[math.nan if each.score is None else each.score for each in row] for row in rows]
    change = [[each.change for each in row] for row in rows]
    return {
        "label": arrays.add(np.array(label, np.int32)),
        "score": arrays.add(np.array(score, dtype)),
        "change": arrays.add(np.array(change, dtype)),
    }
