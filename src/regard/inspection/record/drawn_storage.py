"""A drawn input as plain values, which a record's file holds in its header."""

import base64
import math
from dataclasses import fields
from typing import Any

import numpy as np

from regard.inspection.record.drawn_inputs import DRAWN_INPUTS, DrawnInput

__all__ = ["drawn_from_json", "drawn_to_json"]

_TYPES = {"uint8": np.uint8, "int16": np.int16, "int32": np.int32, "float32": np.float32}


def drawn_to_json(drawn: DrawnInput) -> dict[str, Any]:
    """The fields as a JSON object; arrays are their bytes in base 64.

    Example:
        >>> from regard.inspection.record.drawn_inputs import DrawnTable
        >>> drawn_to_json(DrawnTable(np.zeros((1, 1), np.float32), ("height",)))["values"]
        {'type': 'float32', 'shape': [1, 1], 'bytes': 'AAAAAA=='}
    """
    found: dict[str, Any] = {"kind": drawn.kind}
    for field in fields(drawn):  # pyright: ignore[reportArgumentType]
        value = getattr(drawn, field.name)
        if isinstance(value, np.ndarray):
            value = _array_to_json(value)
        found[field.name] = list(value) if isinstance(value, tuple) else value
    return found


def drawn_from_json(saved: Any) -> DrawnInput:
    """The input of the JSON object that `drawn_to_json` returned.

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
