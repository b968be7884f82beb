"""A checkpoint: one folder with the tensors in safetensors and everything else in JSON; no pickle.

    state.safetensors   the tensors, named by their place in the state ("optimizer_states/0/state/3/exp_avg")
    state.json          the rest, with {"$tensor": name} where a tensor stood, and the SHA-256 of the tensors' file

Python's floats survive JSON to the last bit (shortest representation that reads back the same), so a state that was
written and read is the state.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor

from regard.errors import ModelError
from regard.tasks.saving.folders import find_folder, write_folder

__all__ = ["FILES", "read_state", "write_state"]

FORMAT = 1
_TENSORS = "state.safetensors"
_REST = "state.json"
FILES = (_TENSORS, _REST)
"""What the folder of a checkpoint holds."""


def write_state(folder: str | Path, state: dict[str, Any]) -> None:
    """Write a nested state of tensors and plain values as one folder, in one step.

    Args:
        folder: the checkpoint's folder; the one that it replaces stays whole until the new one is.
        state: dicts, lists, tuples, tensors, None, bool, int, float, str.

    Raises:
        TypeError: the state holds something else: it would need a pickle.
        OSError: the disk is full, or the place can't be written.

    Example:
        >>> import tempfile, torch
        >>> place = tempfile.TemporaryDirectory()
        >>> write_state(Path(place.name) / "last", {"epoch": 3, "step": {0: (torch.ones(2), 0.1)}})
        >>> read_state(Path(place.name) / "last")
        {'epoch': 3, 'step': {0: (tensor([1., 1.]), 0.1)}}
        >>> place.cleanup()
    """
    tensors: dict[str, Tensor] = {}
    rest = _pack(state, "", tensors)
    content = safetensors.torch.save(tensors)
    header = {"format": FORMAT, "sha256": hashlib.sha256(content).hexdigest(), "state": rest}
    write_folder(folder, {_TENSORS: content, _REST: json.dumps(header, ensure_ascii=False).encode()})


def read_state(folder: str | Path) -> dict[str, Any]:
    """Read what `write_state` wrote.

    Raises:
        ModelError: the folder or a file is missing, broken, or of a format that this version doesn't know.
    """
    folder = Path(folder)
    place = find_folder(folder, FILES)
    try:
        header = json.loads((place / _REST).read_bytes())
        content = (place / _TENSORS).read_bytes()
    except FileNotFoundError as error:
        raise ModelError(f"There is no checkpoint in {folder}: {Path(error.filename).name} is missing.") from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"The checkpoint {folder / _REST} can't be read: {error}. Start the run anew.") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        found = header.get("format") if isinstance(header, dict) else None
        raise ModelError(f"The checkpoint {folder / _REST} must have format {FORMAT}, but has {found!r}.")
    if hashlib.sha256(content).hexdigest() != header.get("sha256"):
        raise ModelError(f"The checkpoint {folder / _TENSORS} is damaged: its SHA-256 isn't the one in {_REST}.")
    try:
        return _unpack(header["state"], safetensors.torch.load(content))
    except (LookupError, TypeError, ValueError, RecursionError, safetensors.SafetensorError) as error:
        raise ModelError(
            f"The checkpoint {folder} is damaged: its two files don't belong together "
            f"({type(error).__name__}: {error}). Start the run anew."
        ) from error


def _pack(value: Any, place: str, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, Tensor):
        tensors[place] = value.detach().cpu().contiguous()
        return {"$tensor": place}
    if isinstance(value, dict):
        packed = [(key, _pack(item, f"{place}/{key}" if place else f"{key}", tensors)) for key, item in value.items()]
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return dict(packed)
        # JSON's keys are strings; an optimiser numbers its parameters with ints.
        return {"$pairs": [[_pack(key, place, tensors), item] for key, item in packed]}
    if isinstance(value, list | tuple):
        packed = [_pack(item, f"{place}/{index}", tensors) for index, item in enumerate(value)]
        return {"$tuple": packed} if isinstance(value, tuple) else packed
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"A checkpoint can't hold {place!r}, a {type(value).__name__}: it isn't a tensor or plain value.")


def _unpack(value: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, list):
        return [_unpack(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if "$tensor" in value:
        return tensors[value["$tensor"]]
    if "$pairs" in value:
        return {_unpack(key, tensors): _unpack(item, tensors) for key, item in value["$pairs"]}
    if "$tuple" in value:
        return tuple(_unpack(item, tensors) for item in value["$tuple"])
    return {key: _unpack(item, tensors) for key, item in value.items()}
