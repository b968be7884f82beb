"""A record in one file: the calls of attention as `Seen.save` writes them, and in the header what they are about."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.errors import DataError, RegardError
from regard.inspection.drawn_storage import drawn_from_json, drawn_to_json
from regard.inspection.outcomes import Outcomes
from regard.inspection.record import LayerRecord, Record
from regard.inspection.seen import Seen
from regard.inspection.seen_layer import SeenLayer, checked_layer
from regard.inspection.storage import read_layers

__all__ = ["load_calls", "load_record", "record_of", "save_record"]

# What reading values that a program didn't write may raise.
_DAMAGES = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RegardError)


def save_record(record: Record, path: str | Path) -> None:
    """Write a record that `see` made to one file of the safetensors format, which can be loaded without the model.

    `Seen.load` reads the calls of attention of such a file.

    Raises:
        ArgumentError: a part of a layer is a function of the user's own.
        OSError: the disk is full, or the folder isn't writable.
    """
    if record.seen is not None:
        calls = list(record.seen)
    else:
        layers = [*record.every_layer, *([] if record.pooling is None else [record.pooling])]
        calls = list(dict.fromkeys(call for layer in layers for call in layer.calls))
    numbers = {id(call): number for number, call in enumerate(calls)}
    about = {
        "model": record.model,
        "noun": record.noun,
        "items": list(record.items),
        "labels": list(record.labels),
        "scores": list(record.scores),
        "queries": None if record.queries is None else list(record.queries),
        "grid": None if record.grid is None else list(record.grid),
        "layers": [_described(layer, numbers) for layer in record.layers],
        "encoder": [_described(layer, numbers) for layer in record.encoder],
        "decoder": [_described(layer, numbers) for layer in record.decoder],
        "previous": list(record.previous),
        "pooling": None if record.pooling is None else _described(record.pooling, numbers),
        "outcomes": None if record.outcomes is None else record.outcomes.to_json(),
        "input": None if record.input is None else drawn_to_json(record.input),
    }
    Seen(calls, about=about).save(path)


def _described(layer: LayerRecord, numbers: Mapping[int, int]) -> dict[str, Any]:
    return {
        "name": layer.name,
        "calls": [numbers[id(call)] for call in layer.calls],
        "along": layer.along,
        "item": layer.item,
        "queries": layer.queries,
        "keys": layer.keys,
        "query_bounds": None if layer.query_bounds is None else list(layer.query_bounds),
        "key_bounds": None if layer.key_bounds is None else list(layer.key_bounds),
    }


def load_record(path: str | Path) -> Record:
    """Read a record that `save_record` wrote, or the calls that `Seen.save` wrote.

    The items of the latter have numbers for names, and each call with as many queries as keys is a layer.

    Raises:
        DataError: the file can't be used; the error says what it must be and what it is.
    """
    seen = Seen.load(path)
    try:
        return record_of(seen)
    except _DAMAGES as error:
        raise DataError(
            f"the file must say what its calls are about, but what it says is damaged ({_reason(error)}).", path=path
        ) from error


def load_calls(path: str | Path) -> tuple[Seen, str]:
    """Read the calls of attention of a record, even if what they are about can't be read.

    Returns:
        The calls, with what they are about if it can be read, and why it can't: "" if it can, or nothing is said.

    Raises:
        DataError: the calls can't be read.
    """
    layers, nothing, about = read_layers(path, checked_layer)
    seen = Seen(layers, nothing)
    if about is None:
        return seen, ""
    try:
        if not isinstance(about, dict):
            raise TypeError("it must be an object")
        _record(about, seen)
    except _DAMAGES as error:
        return seen, _reason(error)
    return replace(seen, about=about), ""


def _reason(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


def record_of(seen: Seen) -> Record:
    """The record of calls: what they are about, if that is known, or items with numbers for names."""
    return _unnamed(seen) if seen.about is None else _record(seen.about, seen)


def _unnamed(seen: Seen) -> Record:
    square = [call for call in seen if call.query.shape[2] == call.key.shape[2]]
    count = square[0].key.shape[2] if square else 0
    same = [call for call in square if call.key.shape[2] == count]
    layers = tuple(LayerRecord(f"layer {number}", (call,)) for number, call in enumerate(same, start=1))
    return Record(tuple(str(number) for number in range(1, count + 1)), layers=layers, seen=seen)


def _record(about: dict[str, Any], seen: Seen) -> Record:
    texts = {name: about[name] for name in ("model", "noun")}
    if not all(isinstance(each, str) for each in texts.values()):
        raise ValueError("`model` and `noun` must be text")
    if not all(isinstance(each, int | float) and math.isfinite(each) for each in about["scores"]):
        raise ValueError("`scores` must be numbers")
    grid = about["grid"]
    if grid is not None and not (len(grid) == 2 and all(type(each) is int and each > 0 for each in grid)):
        raise ValueError("`grid` must be two numbers")
    record = Record(
        _texts(about["items"]),
        _texts(about["labels"]),
        tuple(map(float, about["scores"])),
        tuple(_layer(each, seen.layers) for each in about["layers"]),
        queries=None if about["queries"] is None else _texts(about["queries"]),
        # Older files have no layers of self-attention beside those to the source.
        encoder=tuple(_layer(each, seen.layers) for each in about.get("encoder", [])),
        decoder=tuple(_layer(each, seen.layers) for each in about.get("decoder", [])),
        previous=_texts(about.get("previous", [])),
        pooling=None if about["pooling"] is None else _layer(about["pooling"], seen.layers),
        grid=None if grid is None else tuple(grid),
        seen=seen,
        outcomes=None if about["outcomes"] is None else Outcomes.from_json(about["outcomes"]),
        # Files of earlier versions have no such entry.
        input=None if about.get("input") is None else drawn_from_json(about["input"]),
        **texts,
    )
    if record.outcomes is not None:
        _check_outcomes(record, record.outcomes)
    return record


def _check_outcomes(record: Record, outcomes: Outcomes) -> None:
    queries = len(record.query_items)
    if any(place.query is not None and not 0 <= place.query < queries for place in outcomes.places):
        raise ValueError(f"a place must name a query below {queries}")
    if outcomes.hidden and len(outcomes.hidden) != len(record.items):
        raise ValueError(f"`hidden` must have {len(record.items)} rows, one for each item")
    heads = [layer.heads for layer in record.every_layer]
    if outcomes.removed and [len(layer) for layer in outcomes.removed] != heads:
        raise ValueError(f"`removed` must have rows for {heads} heads")


def _layer(described: dict[str, Any], calls: list[SeenLayer]) -> LayerRecord:
    numbers = described["calls"]
    if not all(type(each) is int and 0 <= each < len(calls) for each in numbers):
        raise ValueError(f"`calls` of a layer must be numbers of calls, but are {numbers!r:.60}")
    if not isinstance(described["name"], str) or described["along"] not in ("head", "query"):
        raise ValueError("a layer must have a name, and its calls must be along 'head' or 'query'")
    sizes = {name: described[name] for name in ("item", "queries", "keys")}
    if not all(each is None or (type(each) is int and each >= 0) for each in sizes.values()) or sizes["item"] is None:
        raise ValueError(f"`item`, `queries` and `keys` of a layer must be whole numbers, but are {sizes}")
    own = tuple(calls[each] for each in numbers)
    for call in own:
        batch, _, queries, _ = call.query.shape
        if sizes["item"] >= batch or (sizes["queries"] or 0) > queries or (sizes["keys"] or 0) > call.key.shape[2]:
            raise ValueError(f"`item`, `queries` and `keys` of a layer must be within its calls, but are {sizes}")
    # Older files have no bounds.
    queries, keys = _bounds(described.get("query_bounds")), _bounds(described.get("key_bounds"))
    return LayerRecord(described["name"], own, described["along"], **sizes, query_bounds=queries, key_bounds=keys)


def _bounds(value: Any) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(type(each) is int for each in value):
        raise ValueError(f"bounds of a layer's items must be whole numbers, but are {value!r:.60}")
    return tuple(value)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"items and labels must be texts, but are {value!r:.60}")
    return tuple(value)
