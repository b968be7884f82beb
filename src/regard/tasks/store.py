"""Saved models: one self-contained folder for each.

    model.safetensors   the weights, rounded to float16
    model.json          the format version, the kind, the recipe, the target, the encoder, and where it comes from
    README.md           the model card

This file knows no kinds of models; `loading.py` does.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from regard.errors import ArgumentError, ModelError, UnknownNameError
from regard.files import read_regular
from regard.tasks.folders import find_folder, recover, write_folder

__all__ = ["DESCRIPTION", "FILES", "FORMAT", "read_model", "round_weights", "write_model"]

FORMAT = 2
DESCRIPTION = "model.json"
_WEIGHTS = "model.safetensors"
_CARD = "README.md"
FILES = (_WEIGHTS, DESCRIPTION, _CARD)
"""The files in the folder of a model."""
_KEYS = ("format", "kind", "recipe", "answer", "reader", "parameters", "about")
_MOST_BYTES = 1 << 28  # of a description; the longest has a vocabulary of megabytes
_DIGEST = "sha256"  # of the file of weights; models saved by earlier versions have none


def write_model(folder: str | Path, tensors: Mapping[str, Tensor], description: Mapping[str, Any], card: str) -> Path:
    """Write the folder of a model atomically; it replaces a model, and nothing else.

    Args:
        folder: the folder to write.
        tensors: the weights; floating-point tensors are rounded to float16.
        description: the content of model.json, without "format" and the weights' SHA-256.
        card: the content of README.md.

    Raises:
        ArgumentError: `folder` holds something that isn't a model, or a weight is too large for float16.
        OSError: the disk is full or not writable.
    """
    folder = Path(folder)
    recover(folder, FILES)
    # The whole content of the folder will be deleted; model.json alone proves nothing, other programs write one too.
    others = sorted(set(os.listdir(folder)) - set(FILES)) if folder.is_dir() else [folder.name]
    if folder.exists() and others:
        raise ArgumentError(
            f"`folder` must be new, empty or a model, but {folder} holds something else ({others[0]}). Name another."
        )
    content = safetensors.torch.save({name: round_weights(tensor, name) for name, tensor in tensors.items()})
    described = {"format": FORMAT, **description, _DIGEST: hashlib.sha256(content).hexdigest()}
    write_folder(
        folder,
        {
            _WEIGHTS: content,
            DESCRIPTION: (json.dumps(described, ensure_ascii=False, separators=(",", ":")) + "\n").encode(),
            _CARD: card.encode(),
        },
    )
    return folder


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


def read_model(folder: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the folder of a model: the tensors, float16 widened to float32, and the content of model.json.

    Raises:
        ModelError: the folder or a file is missing or damaged, or has a format that this version doesn't know.
    """
    folder = find_folder(folder, FILES)
    if folder.is_file():
        raise ModelError(f"{folder} is a file, not the folder of a model. Name the folder that holds {DESCRIPTION}.")
    if not folder.is_dir():
        raise ModelError(f"There is no model folder {folder}. `regard models` lists those that come with the package.")
    for name in (DESCRIPTION, _WEIGHTS):
        if not (folder / name).is_file():
            raise ModelError(f"The model {folder} has no {name}. Copy the whole folder, or train it anew.")
    description = _read_description(folder / DESCRIPTION)
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
        if not tensor.isfinite().all():
            raise ModelError(
                f"{folder / _WEIGHTS} is damaged: {name!r} holds a number that isn't finite. Copy it again."
            )
    return {
        name: tensor.float() if tensor.dtype == torch.float16 else tensor for name, tensor in tensors.items()
    }, description


def _read_description(path: Path) -> dict[str, Any]:
    try:
        description = json.loads(read_regular(path, _MOST_BYTES))
    except OSError as error:
        raise ModelError(f"{path} can't be read: {error.strerror}. Copy it again.") from error
    except (ValueError, RecursionError) as error:  # RecursionError: thousands of nested brackets
        raise ModelError(f"{path} isn't JSON: {error}. Copy it again.") from error
    if not isinstance(description, dict):
        raise ModelError(f"{path} must hold a JSON object, but holds {description!r:.60}. Copy it again.")
    if description.get("format") != FORMAT:
        raise ModelError(
            f"{path} must have format {FORMAT}, but has {description.get('format')!r:.60}. "
            "Another version of regard wrote it: use that version, or train it anew."
        )
    for key in description:
        if key not in (*_KEYS, _DIGEST):
            raise ModelError(f"{path}: {UnknownNameError('key', key, _KEYS)}")
    for key in _KEYS:
        if key not in description:
            raise ModelError(f"{path} has no {key!r}. Copy it again.")
    return description
