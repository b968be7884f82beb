"""Saved models: one self-contained folder for each.

    model.safetensors   the weights, rounded to float16
    model.json          the format version, the kind, the recipe, the target, the encoder, and where it comes from
    README.md           the model card

This file knows no kinds of models; `loading.py` does.
"""

import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from regard.errors import ArgumentError, ModelError, UncheckedModel, UnknownNameError
from regard.files import read_regular
from regard.inputs import TOKENIZER_FILES
from regard.tasks.saving.folders import find_folder, recover, write_folder

__all__ = ["DESCRIPTION", "FILES", "FORMAT", "encode_json", "read_model", "round_weights", "write_model"]

FORMAT = 3
_UNCHECKED_FORMAT = 2  # without a digest of the description
DESCRIPTION = "model.json"
_WEIGHTS = "model.safetensors"
_CARD = "README.md"
FILES = (_WEIGHTS, DESCRIPTION, _CARD, "config.json", *TOKENIZER_FILES)
"""The files in the folder of a model; the last ones, of a fine-tuned base alone, are for transformers."""
# What is written is float16, and int32 for words; other programs may have widened it.
_TYPES = (torch.float16, torch.float32, torch.int32, torch.int64)
_KEYS = ("format", "kind", "recipe", "answer", "reader", "parameters", "about")
_MOST_BYTES = 1 << 28  # of a description; the longest has a vocabulary of megabytes
_DIGEST = "sha256"  # of the file of weights
_OWN_DIGEST = "description_sha256"  # of the rest of the description


def write_model(
    folder: str | Path,
    tensors: Mapping[str, Tensor],
    description: Mapping[str, Any],
    card: str,
    beside: Mapping[str, bytes] | None = None,
) -> Path:
    """Write the folder of a model atomically; it replaces a model, and nothing else.

    Args:
        folder: the folder to write.
        tensors: the weights; floating-point tensors are rounded to float16.
        description: the content of model.json, without "format" and the two digests.
        card: the content of README.md.
        beside: further files, by name.

    Raises:
        ArgumentError: `folder` holds something that isn't a model, or a weight is too large for float16.
        OSError: the disk is full or not writable.
    """
    folder = Path(folder)
    recover(folder, FILES)
    # The whole content of the folder will be deleted; model.json alone proves nothing, other programs write one too.
    others = sorted(set(os.listdir(folder)) - set(FILES)) if folder.is_dir() else [folder.name]
    if folder.is_dir() and (held := os.listdir(folder)) and DESCRIPTION not in held:
        # What save_pretrained wrote has files of the same names.
        others = sorted(held)
    if folder.exists() and others:
        raise ArgumentError(
            f"`folder` must be new, empty or a model, but {folder} holds something else ({others[0]}). Name another."
        )
    rounded = {name: round_weights(tensor, name) for name, tensor in tensors.items()}
    # transformers asks whose tensors they are.
    content = safetensors.torch.save(rounded, metadata={"format": "pt"} if beside else None)
    described = {"format": FORMAT, **description, _DIGEST: hashlib.sha256(content).hexdigest()}
    described[_OWN_DIGEST] = _digest(described)
    write_folder(
        folder,
        {
            _WEIGHTS: content,
            DESCRIPTION: encode_json(described) + b"\n",
            _CARD: card.encode(errors="backslashreplace"),
            **(beside or {}),
        },
    )
    return folder


def encode_json(description: Any) -> bytes:
    """The JSON of a description, or of a part of it, as it is saved.

    Raises:
        ArgumentError: it holds something else than plain values, or half of a character.

    Example:
        >>> encode_json({"names": ["\\udcff"]})
        Traceback (most recent call last):
            ...
        regard.errors.ArgumentError: ...
    """
    try:
        return json.dumps(description, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        found = error.object[: error.start + 1].rsplit('"', 1)[-1]
        raise ArgumentError(
            f"{found[-40:]!r} has half of a character (a lone surrogate), so it can't be saved as UTF-8. Rename it."
        ) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"only plain values can be saved, as JSON holds ({error}).") from error


def _digest(description: Mapping[str, Any]) -> str:
    """The SHA-256 of what a description says, however its JSON is written."""
    said = {key: value for key, value in description.items() if key != _OWN_DIGEST}
    return hashlib.sha256(json.dumps(said, separators=(",", ":")).encode()).hexdigest()


def round_weights(tensor: Tensor, name: str = "weights") -> Tensor:
    """Round a floating-point tensor to float16, as it is saved; other tensors stay unchanged.

    Raises:
        ArgumentError: a number isn't finite, or is too large for float16.
    """
    tensor = tensor.detach().cpu().contiguous()
    if not tensor.is_floating_point():
        return tensor
    rounded = tensor.half()
    if not rounded.isfinite().all():
        worst = tensor.abs().max().item()
        raise ArgumentError(f"`{name}` must be finite and below 65504 to be saved in float16, but reaches {worst}.")
    return rounded


def read_model(folder: str | Path, *, edited: bool = False) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the folder of a model: the tensors, float16 widened to float32, and the content of model.json.

    Args:
        folder: the folder of a model.
        edited: whether to read a description that was edited since it was saved.

    Raises:
        ModelError: the folder or a file is missing, damaged or edited, or has a format that this version doesn't know.

    Warns:
        UncheckedModel: an earlier version saved it without a digest of the description, so edits aren't noticed.
    """
    folder = find_folder(folder, FILES)
    if folder.is_file():
        raise ModelError(f"{folder} is a file, not the folder of a model. Name the folder that holds {DESCRIPTION}.")
    if not folder.is_dir():
        raise ModelError(f"There is no model folder {folder}. `regard models` lists those that come with the package.")
    if (folder / "run.json").is_file() and not (folder / DESCRIPTION).exists():
        raise ModelError(f"The training in {folder} isn't finished, so it has no model yet. Go on with it by --resume.")
    for name in (DESCRIPTION, _WEIGHTS):
        if not (folder / name).is_file():
            raise ModelError(f"The model {folder} has no {name}. Copy the whole folder, or train it anew.")
    description = _read_description(folder / DESCRIPTION, edited)
    content = (folder / _WEIGHTS).read_bytes()
    try:
        tensors = safetensors.torch.load(content)
    except (safetensors.SafetensorError, ValueError) as error:
        raise ModelError(
            f"{folder / _WEIGHTS} can't be read, it is cut short or damaged ({error}). Copy it again."
        ) from error
    digest = description.pop(_DIGEST, None)
    if digest is not None and digest != hashlib.sha256(content).hexdigest():
        raise ModelError(f"{folder / _WEIGHTS} is damaged: its SHA-256 isn't the one in {DESCRIPTION}. Copy it again.")
    for name, tensor in tensors.items():
        if tensor.dtype not in _TYPES:
            raise ModelError(f"{folder / _WEIGHTS} must hold float16, but {name!r} is {tensor.dtype}. Copy it again.")
        if not tensor.isfinite().all():
            raise ModelError(
                f"{folder / _WEIGHTS} is damaged: {name!r} holds a number that isn't finite. Copy it again."
            )
    return {
        name: tensor.float() if tensor.dtype == torch.float16 else tensor for name, tensor in tensors.items()
    }, description


def _read_description(path: Path, edited: bool) -> dict[str, Any]:
    try:
        description = json.loads(read_regular(path, _MOST_BYTES))
        digest = _digest(description) if isinstance(description, dict) else ""
    except OSError as error:
        raise ModelError(f"{path} can't be read: {error.strerror}. Copy it again.") from error
    except (ValueError, RecursionError) as error:  # RecursionError: thousands of nested brackets
        raise ModelError(f"{path} isn't JSON: {error}. Copy it again.") from error
    if not isinstance(description, dict):
        raise ModelError(f"{path} must hold a JSON object, but holds {description!r:.60}. Copy it again.")
    if description.get("format") not in (FORMAT, _UNCHECKED_FORMAT):
        raise ModelError(
            f"{path} must have format {FORMAT}, but has {description.get('format')!r:.60}. "
            "Another version of regard wrote it: use that version, or train it anew."
        )
    for key in description:
        if key not in (*_KEYS, _DIGEST, _OWN_DIGEST):
            raise ModelError(f"{path}: {UnknownNameError('key', key, _KEYS)}")
    for key in _KEYS:
        if key not in description:
            raise ModelError(f"{path} has no {key!r}. Copy it again.")
    said = description.pop(_OWN_DIGEST, None)
    if edited:
        return description
    if description["format"] == _UNCHECKED_FORMAT:
        warnings.warn(
            f"{path} was saved by an earlier version of regard, without a digest of what it says: nobody would notice "
            f"an edit. To give it one, save it again: regard.load({str(path.parent)!r}).save({str(path.parent)!r}).",
            UncheckedModel,
            stacklevel=5,
        )
    elif said != digest:
        raise ModelError(
            f"{path} was edited since it was saved: its SHA-256 isn't the one in it. Copy it again or, if you trust "
            "the edit, load it by `edited=True` (--trust-edits)."
        )
    return description
