"""Calls of attention in one file: safetensors, with everything but the tensors as JSON in its metadata.

    format, regard, torch   the number of this format, and the versions that wrote it
    nothing                 if there are no layers, a sentence that says why
    about                   what the calls are about, as `save_record` has it; null if nothing is known
    layers                  per layer: name, function, dropout, notes, removed; its tensors and its parts

Each tensor is stored once, however many layers or parts hold it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from regard.errors import ArgumentError, DataError, RegardError
from regard.files import open_regular, similar_paths, write_bytes
from regard.inspection.record.part_json import NotStorable, describe, rebuild
from regard.version import __version__

__all__ = ["FORMAT", "read_layers", "write_layers"]

FORMAT = 1
_HEADER = "regard"
_TEXTS = {"name": str, "function": str, "dropout": (int, float), "notes": list, "removed": bool}
_TENSORS = ("query", "key", "value", "rows", "outputs")
_PARTS = {
    "score": "Use one of regard's scores",
    "normaliser": "Use one of regard's normalisers",
    "mask": "Use regard's masks, or a table: regard.modules.Pairs(table)",
    "position": "Use one of regard's position schemes, or a table: Bias(table)",
}
_KEYS = {*_TEXTS, *_TENSORS, *_PARTS, "projection"}
# Older files, and layers that aren't of state-space models, don't have it.
_AFTER = "after"
# What reading something that a program didn't write may raise: in JSON, in parts, or where they are first computed.
_DAMAGES = (
    *(RegardError, safetensors.SafetensorError, LookupError, TypeError, ValueError, AttributeError),
    *(ArithmeticError, RuntimeError),
)


def write_layers(path: str | Path, layers: Sequence[Any], nothing: str, about: dict[str, Any] | None = None) -> None:
    """Write the layers of a `Seen` to a file, atomically.

    Raises:
        ArgumentError: a part of a layer is a function of the user's own.
        OSError: the disk is full, or the folder isn't writable.
    """
    tensors = _Tensors()
    described = [_described(layer, number, tensors) for number, layer in enumerate(layers)]
    header = {"format": FORMAT, "regard": __version__, "torch": torch.__version__}
    header |= {"nothing": nothing, "about": about, "layers": described}
    text = json.dumps(header, ensure_ascii=False, allow_nan=False)
    write_bytes(path, safetensors.torch.save(tensors.stored, {_HEADER: text}))


class _Tensors:
    """Tensors under numbers as their names."""

    def __init__(self):
        self.stored: dict[str, Tensor] = {}
        # The tensors themselves are held, since the number of one that is gone may become that of another.
        self._names: dict[int, tuple[Tensor, str]] = {}

    def __call__(self, tensor: Tensor) -> str:
        if id(tensor) not in self._names:
            name = str(len(self.stored))
            self._names[id(tensor)] = tensor, name
            # A copy, since the format refuses tensors that share memory, and a view must not bring its whole.
            self.stored[name] = tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        return self._names[id(tensor)][1]


def _described(layer: Any, number: int, tensors: _Tensors) -> dict[str, Any]:
    found: dict[str, Any] = {key: getattr(layer, key) for key in _TEXTS}
    after = [] if layer.after is None else [_AFTER]
    found |= {key: describe(getattr(layer, key), tensors) for key in (*_TENSORS, "projection", *after)}
    for kind, instead in _PARTS.items():
        try:
            found[kind] = describe(getattr(layer, kind), tensors)
        except NotStorable as error:
            own = error.args[0]
            raise ArgumentError(
                f"`{kind}` of layer {number} ({layer.name!r}) must be a part of regard to be saved, but is "
                f"{getattr(own, '__name__', type(own).__name__)}, which only its own code can compute. {instead}, or "
                f"leave the layer out: del seen.layers[{number}]."
            ) from error
    return found


def read_layers(path: str | Path, build: Callable[[dict[str, Any]], Any]) -> tuple[list[Any], str, Any]:
    """Read a file of layers: these, why there are none, and what they are about, which isn't checked.

    Args:
        path: the file.
        build: makes a layer of its fields, and may raise if they don't fit together.

    Raises:
        DataError: the file is missing, damaged, of something else, or of a format that this version doesn't know.
    """
    try:
        with open_regular(path) as file:
            content = file.read()
    except OSError as error:
        near = similar_paths(path, ".safetensors")
        raise DataError(
            f"the file must be one that Seen.save wrote, but can't be read ({error.strerror})."
            + (f" Did you mean {near[0]}?" if near else ""),
            path=path,
        ) from error
    try:
        tensors = safetensors.torch.load(content)
        # The format begins with the length of its header.
        metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")]).get("__metadata__") or {}
    except (*_DAMAGES, RecursionError) as error:
        raise DataError(
            "the file must be one that Seen.save wrote, but is cut short, damaged or something else "
            f"({_first_line(error)}).",
            path=path,
        ) from error
    header = _header(path, metadata)
    used: set[str] = set()

    def tensor(name: str) -> Tensor:
        if name not in tensors:
            raise ValueError(f"each tensor that is named must be there, but {name!r:.60} is missing")
        used.add(name)
        return tensors[name]

    layers = []
    for number, described in enumerate(header["layers"]):
        try:
            layers.append(build(_fields(described, tensor)))
        except (*_DAMAGES, RecursionError) as error:
            raise DataError(
                f"the file must be one that Seen.save wrote, but its layer {number} is damaged ({_first_line(error)}).",
                path=path,
            ) from error
    if len(used) < len(tensors):
        spare = next(name for name in tensors if name not in used)
        raise DataError(
            f"the file must be one that Seen.save wrote, but holds a tensor {spare!r:.60} that no layer has.", path=path
        )
    return layers, header["nothing"], header["about"]


def _header(path: str | Path, metadata: Mapping[str, str]) -> dict[str, Any]:
    """The header, checked but for the layers."""
    if _HEADER not in metadata:
        raise DataError(
            "the file must be one that Seen.save wrote, but holds other tensors: its metadata has no 'regard'.",
            path=path,
        )
    try:
        header = json.loads(metadata[_HEADER], parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"the file must have a header in JSON, but it can't be read ({_first_line(error)}).", path=path
        ) from error
    number = header.get("format") if isinstance(header, dict) else None
    if type(number) is not int or number != FORMAT:
        writer = f", written by regard {header.get('regard')!r:.30}" if isinstance(header, dict) else ""
        raise DataError(
            f"the file must have format {FORMAT}, but has {number!r:.30}{writer}. Use the version that wrote it.",
            path=path,
        )
    for name, kind, form in (("layers", list, "a list"), ("nothing", str, "text")):
        if not isinstance(header.get(name), kind):
            raise DataError(f"`{name}` of the header must be {form}, but is {header.get(name)!r:.60}.", path=path)
    if "about" not in header:
        raise DataError("`about` of the header must say what the calls are about, but is missing.", path=path)
    return header


def _fields(described: Any, tensor: Callable[[str], Tensor]) -> dict[str, Any]:
    """The fields of a layer from its JSON.

    Raises:
        ValueError: it describes none.
    """
    if not isinstance(described, dict) or set(described) - {_AFTER} != _KEYS:
        raise ValueError(f"a layer must have {', '.join(sorted(_KEYS))}, but is {described!r:.60}")
    fields = {key: described[key] for key in _TEXTS}
    for key, kind in _TEXTS.items():
        # A truth value is an int in Python.
        if not isinstance(fields[key], kind) or isinstance(fields[key], bool) != (kind is bool):
            raise ValueError(f"`{key}` must be a {_named(kind)}, but is {fields[key]!r:.60}")
    if not all(isinstance(note, str) for note in fields["notes"]):
        raise ValueError(f"`notes` must be sentences, but are {fields['notes']!r:.60}")
    if not 0 <= fields["dropout"] <= 1:
        raise ValueError(f"`dropout` must be a fraction, but is {fields['dropout']!r:.60}")
    rest = *_TENSORS, "projection", *_PARTS, *([_AFTER] if _AFTER in described else [])
    return fields | {key: _rebuilt(key, described[key], tensor) for key in rest}


def _rebuilt(name: str, described: Any, tensor: Callable[[str], Tensor]) -> Any:
    try:
        return rebuild(described, tensor)
    except _DAMAGES as error:
        said = _first_line(error)
        raise ValueError(said if said.startswith(f"`{name}`") else f"`{name}`: {said}") from error


def _named(kind: Any) -> str:
    return "number" if isinstance(kind, tuple) else {str: "text", list: "list", bool: "truth value"}[kind]


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def _first_line(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0].rstrip(".")[:200]
