"""A record in one file: the calls of attention as `Seen.save` writes them, and in the header what they are about."""

import base64
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import DataError, RegardError
from regard.inspection.explain.outcomes import Outcomes, as_list
from regard.inspection.record.drawn_inputs import DRAWN_INPUTS, DrawnInput
from regard.inspection.record.record import LayerRecord, Record
from regard.inspection.record.seen import Seen
from regard.inspection.record.seen_layer import SeenLayer, checked_layer
from regard.inspection.record.storage import read_layers

__all__ = ["check_about", "load_calls", "load_record", "record_of", "save_record"]

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
        "input": None if record.input is None else _drawn_to_json(record.input),
        "warnings": list(record.warnings),
        "without": [list(each) for each in record.without],
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
    return record_of(Seen.load(path))


def check_about(seen: Seen, path: str | Path) -> None:
    """Check what calls that were read from a file are about.

    Raises:
        DataError: it is damaged; the error names the field.
    """
    try:
        record_of(seen)
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
    return str(error).rstrip(".")


def record_of(seen: Seen) -> Record:
    """The record of calls: what they are about, if that is known, or items with numbers for names."""
    return _unnamed(seen) if seen.about is None else _record(seen.about, seen)


def _unnamed(seen: Seen) -> Record:
    # Of a call that processes share, the record of each has some of the queries.
    square = [call for call in seen if call.query.shape[2] == call.key.shape[2] or call.is_part]
    count = square[0].key.shape[2] if square else 0
    own = square[0].query_numbers.tolist() if square else []
    same = [call for call in square if call.key.shape[2] == count and call.query_numbers.tolist() == own]
    layers = tuple(LayerRecord(f"layer {number}", (call,)) for number, call in enumerate(same, start=1))
    items, queries = (tuple(str(number + 1) for number in numbers) for numbers in (range(count), own))
    return Record(items, layers=layers, queries=None if queries == items else queries, seen=seen)


def _record(about: dict[str, Any], seen: Seen) -> Record:
    def layers(value: Any) -> tuple[LayerRecord, ...]:
        return tuple(_layer(each, seen.layers) for each in as_list(value))

    def layer(value: Any) -> LayerRecord:
        return _layer(value, seen.layers)

    record = Record(
        _field(about, "items", _texts),
        _field(about, "labels", _texts),
        _field(about, "scores", _numbers),
        _field(about, "layers", layers),
        _field(about, "model", _text),
        queries=_field(about, "queries", _or_none(_texts)),
        pooling=_field(about, "pooling", _or_none(layer)),
        noun=_field(about, "noun", _text),
        grid=_field(about, "grid", _or_none(_grid)),
        seen=seen,
        outcomes=_field(about, "outcomes", _or_none(Outcomes.from_json)),
        # Older files have no layers of self-attention beside those to the source, no input, no warnings and no heads
        # that were removed.
        encoder=_field(about, "encoder", layers, []),
        decoder=_field(about, "decoder", layers, []),
        previous=_field(about, "previous", _texts, []),
        input=_field(about, "input", _or_none(_drawn_from_json), None),
        warnings=_field(about, "warnings", _texts, []),
        without=_field(about, "without", lambda heads: tuple(map(_grid, as_list(heads))), []),
    )
    if record.outcomes is not None:
        _check_outcomes(record, record.outcomes)
    return record


def _field(fields: dict[str, Any], name: str, read: Callable[[Any], Any], *instead: Any) -> Any:
    """What a function makes of a field, or of what stands instead if the field may be missing.

    Raises:
        ValueError: it is missing, or the function raises; the text names the field.
    """
    if name not in fields and not instead:
        raise ValueError(f"`{name}` is missing")
    try:
        return read(fields.get(name, *instead))
    except (*_DAMAGES, RecursionError) as error:
        said = _reason(error)
        if not said.startswith(f"`{name}`"):
            said = f"`{name}` {said}" if said.startswith("must be") else f"`{name}`: {said}"
        raise ValueError(said) from error


def _or_none(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


def _check_outcomes(record: Record, outcomes: Outcomes) -> None:
    queries = len(record.query_items)
    if any(place.query is not None and not 0 <= place.query < queries for place in outcomes.places):
        raise ValueError(f"`places` of outcomes must name queries below {queries}")
    if outcomes.hidden and len(outcomes.hidden) != len(record.items):
        raise ValueError(f"`hidden` must have {len(record.items)} rows, one for each item")
    heads = [layer.heads for layer in record.every_layer]
    if outcomes.removed and [len(layer) for layer in outcomes.removed] != heads:
        raise ValueError(f"`removed` must have rows for {heads} heads")


def _layer(described: Any, calls: list[SeenLayer]) -> LayerRecord:
    if not isinstance(described, dict):
        raise ValueError(f"a layer must be an object, but is {described!r:.60}")
    numbers = _field(described, "calls", as_list)
    if not all(type(each) is int and 0 <= each < len(calls) for each in numbers):
        raise ValueError(f"`calls` of a layer must be numbers of calls, but are {numbers!r:.60}")
    along: Any = _field(described, "along", _text)
    if along not in ("head", "query"):
        raise ValueError(f"`along` of a layer must be 'head' or 'query', but is {along!r:.60}")
    sizes = {"item": _field(described, "item", _whole)}
    sizes |= {name: _field(described, name, _or_none(_whole)) for name in ("queries", "keys")}
    own = tuple(calls[each] for each in numbers)
    for call in own:
        batch, _, queries, _ = call.query.shape
        if sizes["item"] >= batch or (sizes["queries"] or 0) > queries or (sizes["keys"] or 0) > call.key.shape[2]:
            raise ValueError(f"`item`, `queries` and `keys` of a layer must be within its calls, but are {sizes}")
    # Older files have no bounds.
    bounds = {name: _field(described, name, _or_none(_bounds), None) for name in ("query_bounds", "key_bounds")}
    return LayerRecord(_field(described, "name", _text), own, along, **sizes, **bounds)


def _bounds(value: Any) -> tuple[int, ...]:
    return tuple(map(_whole, as_list(value)))


def _grid(value: Any) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2 or not all(type(each) is int and each > 0 for each in value):
        raise ValueError(f"must be two numbers, but is {value!r:.60}")
    return value[0], value[1]


def _numbers(value: Any) -> tuple[float, ...]:
    right = all(isinstance(each, int | float) and not isinstance(each, bool) for each in as_list(value))
    if not right or not all(map(math.isfinite, value)):
        raise ValueError(f"must be numbers, but is {value!r:.60}")
    return tuple(map(float, value))


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(_text, as_list(value)))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be text, but is {value!r:.60}")
    return value


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"must be a whole number, but is {value!r:.60}")
    return value


_TYPES = {"uint8": np.uint8, "int16": np.int16, "int32": np.int32, "float32": np.float32}


def _drawn_to_json(drawn: DrawnInput) -> dict[str, Any]:
    """The fields as a JSON object; arrays are their bytes in base 64.

    Example:
        >>> from regard.inspection.record.drawn_inputs import DrawnTable
        >>> _drawn_to_json(DrawnTable(np.zeros((1, 1), np.float32), ("height",)))["values"]
        {'type': 'float32', 'shape': [1, 1], 'bytes': 'AAAAAA=='}
    """
    found: dict[str, Any] = {"kind": drawn.kind}
    for field in fields(drawn):  # pyright: ignore[reportArgumentType]
        value = getattr(drawn, field.name)
        if isinstance(value, np.ndarray):
            value = _array_to_json(value)
        found[field.name] = list(value) if isinstance(value, tuple) else value
    return found


def _drawn_from_json(saved: Any) -> DrawnInput:
    """The input of the JSON object that `_drawn_to_json` returned.

    Raises:
        ValueError, TypeError, ArgumentError: something is missing or of another form.
    """
    kind = saved.get("kind") if isinstance(saved, dict) else None
    if not isinstance(kind, str) or kind not in DRAWN_INPUTS:
        raise ValueError(f"`input` must be one of {', '.join(DRAWN_INPUTS)}, but is {kind!r:.60}")
    names = {field.name for field in fields(DRAWN_INPUTS[kind])}
    if set(saved) != {"kind", *names}:
        raise ValueError(f"`input` of the kind {kind} must have {', '.join(sorted(names))}")
    found = {}
    for name in names:
        value = saved[name]
        if isinstance(value, dict):
            value = _array_from_json(name, value)
        found[name] = tuple(value) if isinstance(value, list) else value
    return DRAWN_INPUTS[kind](**found)


def _array_to_json(array: np.ndarray) -> dict[str, Any]:
    data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return {"type": array.dtype.name, "shape": list(array.shape), "bytes": base64.b64encode(data).decode("ascii")}


def _array_from_json(name: str, saved: dict[str, Any]) -> np.ndarray:
    if set(saved) != {"type", "shape", "bytes"} or saved["type"] not in _TYPES:
        raise ValueError(f"`{name}` must be an array with its type, shape and bytes")
    shape, dtype = saved["shape"], np.dtype(_TYPES[saved["type"]])
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"`shape` of `{name}` must be sizes, but is {shape!r:.60}")
    data = base64.b64decode(saved["bytes"], validate=True)
    if len(data) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"`{name}` must have the bytes of its shape {shape!r:.60}, but has {len(data):,}")
    return np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype).reshape(shape)
