"""Pictures as patches of pixels, row by row."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["encode"]


def encode(description: dict[str, Any], sources: Sequence[Any]) -> dict[str, np.ndarray]:
    """The inputs of the network for pictures.

    A picture is an array (height, width, channel), or (height, width) if it is grey, of uint8 or of floats from 0 to 1.
    It must have the size of the encoder, if that has one: a program for pictures scales it (bilinear, antialiased).
    """
    rows = [_items(np.asarray(each), description) for each in sources]
    vectors = np.zeros((len(rows), max(map(len, rows), default=0), rows[0].shape[1]), np.float32)
    for row, own in zip(vectors, rows, strict=True):
        row[: len(own)] = own
    return {"vectors": vectors, "lengths": np.array([len(row) for row in rows], np.int64)}


def _items(picture: np.ndarray, description: dict[str, Any]) -> np.ndarray:
    source, saved = description["source"], description["encoder"]
    patch, channels = saved["patch"], {"grey": 1, "rgb": 3}[saved["channels"]]
    levels = picture.astype(np.float32) / (255 if picture.dtype == np.uint8 else 1)
    levels = levels.reshape(*picture.shape[:2], -1)
    if levels.shape[2] != channels or (saved["size"] and list(levels.shape[:2]) != list(saved["size"])):
        size = " x ".join(map(str, saved["size"] or ("height", "width")))
        raise ValueError(f"a picture must be {size} with {channels} channels, but is {picture.shape}: scale it first.")
    rows, columns = -(-levels.shape[0] // patch), -(-levels.shape[1] // patch)
    below, beside = rows * patch - levels.shape[0], columns * patch - levels.shape[1]
    levels = np.pad(levels, ((0, below), (0, beside), (0, 0)), mode="edge")
    # ((rows p) (columns q) c) -> ((rows columns) (p q c))
    split = levels.reshape(rows, patch, columns, patch, channels).transpose(0, 2, 1, 3, 4)
    items = 2 * split.reshape(rows * columns, patch * patch * channels) - 1
    if source["normalise"]:
        items = (items - items.mean()) / max(items.std(), 1e-2)
    if source["waves"]:
        place = np.stack(np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"), -1).reshape(-1, 2, 1)
        turns = (place * (math.pi * 1.5 ** -np.arange(source["waves"]))).reshape(len(items), -1)
        items = np.concatenate([items, np.sin(turns), np.cos(turns)], 1)
    return items.astype(np.float32)
