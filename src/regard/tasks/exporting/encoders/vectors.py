"""Series of vectors, standardised and joined to items, with the shares of fixed convolutions."""

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["encode"]

TAPS = 9
KERNELS = tuple(itertools.combinations(range(TAPS), 3))


def encode(description: dict[str, Any], sources: Sequence[Any]) -> dict[str, np.ndarray]:
    """The inputs of the network for series, arrays (vector, column), none of which may be empty."""
    source, saved = description["source"], description["encoder"]
    standard, convolutions = (saved["standard"], saved["convolutions"]) if source["convolutions"] else (saved, None)
    series = [_standardised(np.asarray(each, np.float32), standard) for each in sources]
    rows = [_items(each, source["together"], convolutions) for each in series]
    vectors = np.zeros((len(rows), max(map(len, rows), default=0), rows[0].shape[1]), np.float32)
    for row, own in zip(vectors, rows, strict=True):
        row[: len(own)] = own
    found = {"vectors": vectors, "lengths": np.array([len(row) for row in rows], np.int64)}
    if source["linear"]:
        found["whole"] = np.stack([_whole(each, convolutions) for each in series])
    return found


def _standardised(vectors: np.ndarray, standard: dict[str, Any]) -> np.ndarray:
    means, spreads = np.array(standard["means"]), np.array(standard["spreads"])
    centred = np.where(spreads > 0, vectors.astype(np.float64) - means, 0.0)
    return (centred / np.where(spreads > 0, spreads, 1.0)).astype(np.float32)


def _items(vectors: np.ndarray, together: int, convolutions: dict[str, Any] | None) -> np.ndarray:
    missing = -len(vectors) % together
    joined = np.pad(vectors, ((0, missing), (0, 0))).reshape(-1, together * vectors.shape[1])
    if convolutions is None:
        return joined
    dilations, parts = convolutions["dilations"], len(joined)
    thresholds = np.array(convolutions["thresholds"], np.float32).reshape(len(dilations), len(KERNELS), -1, 1)
    sizes = np.minimum(len(vectors) - together * np.arange(parts), together)[:, None]
    found = []
    for place, dilation in enumerate(dilations):
        above = _outputs(vectors, place, dilation)[:, None] > thresholds[place]
        above = np.pad(above, ((0, 0), (0, 0), (0, missing))).reshape(*above.shape[:2], parts, together)
        found.append(above.sum(-1).reshape(-1, parts).T)
    shares = (np.concatenate(found, 1) / sizes).astype(np.float32)
    means, spreads = (np.array(convolutions[name], np.float32) for name in ("means", "spreads"))
    return np.concatenate([joined, (shares - means) / spreads], 1)


def _whole(vectors: np.ndarray, convolutions: dict[str, Any] | None) -> np.ndarray:
    parts = [vectors.mean(0), vectors.std(0), vectors.min(0), vectors.max(0)]
    if convolutions is not None:
        numbered = enumerate(convolutions["dilations"])
        parts += [_outputs(vectors, place, dilation).max(1) for place, dilation in numbered]
    return np.concatenate(parts).astype(np.float32)


def _outputs(vectors: np.ndarray, place: int, dilation: int) -> np.ndarray:
    """The outputs (kernel, vector) of all kernels at the `place`-th dilation, with zeros beyond the ends."""
    draws = random.Random(place)
    reads = np.array([[float(draws.random() < 0.5) for _ in range(vectors.shape[1])] for _ in KERNELS])
    for row in reads:
        row[int(draws.random() * vectors.shape[1])] = 1.0
    taps = np.array([[2.0 if tap in raised else -1.0 for tap in range(TAPS)] for raised in KERNELS])
    # A kernel has the same taps for all columns that it reads, so the columns are added first.
    added = (reads / np.sqrt(reads.sum(1, keepdims=True))) @ vectors.T.astype(np.float64)
    reach = dilation * (TAPS // 2)
    lines = np.pad(added, ((0, 0), (reach, reach)))
    shifted = (lines[:, tap * dilation : tap * dilation + len(vectors)] * taps[:, tap, None] for tap in range(TAPS))
    return sum(shifted).astype(np.float32)  # pyright: ignore[reportAttributeAccessIssue]
