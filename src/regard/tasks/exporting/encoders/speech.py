"""Recordings as frames of 25 ms every 10 ms: their samples, or the log power in mel bands."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["encode"]

FLOOR, LEAST_SPREAD = 1e-10, 1e-5
# Slaney's mel scale: 3 mels for 200 Hz up to 1,000 Hz, and 27 mels for each factor of 6.4 above.
LINEAR_HZ, BREAK_HZ, LOG_STEP = 200 / 3, 1000.0, math.log(6.4) / 27


def encode(description: dict[str, Any], sources: Sequence[Any]) -> dict[str, np.ndarray]:
    """The inputs of the network for recordings: arrays of samples from -1 to 1, one channel, at the encoder's rate."""
    rows = [_items(np.asarray(samples, np.float32), description) for samples in sources]
    vectors = np.zeros((len(rows), max(map(len, rows), default=0), rows[0].shape[1]), np.float32)
    for row, own in zip(vectors, rows, strict=True):
        row[: len(own)] = own
    found = {"vectors": vectors, "lengths": np.array([len(row) for row in rows], np.int64)}
    if description["source"]["linear"]:
        found["whole"] = np.stack([_statistics(row) for row in rows])
    return found


def _items(samples: np.ndarray, description: dict[str, Any]) -> np.ndarray:
    source, saved = description["source"], description["encoder"]
    frames = _frames(samples, saved["frames"])
    if saved["standard"] is not None:
        means, spreads = (np.array(saved["standard"][name]) for name in ("means", "spreads"))
        centred = np.where(spreads > 0, frames.astype(np.float64) - means, 0.0)
        frames = (centred / np.where(spreads > 0, spreads, 1.0)).astype(np.float32)
    missing = -len(frames) % source["together"]
    return np.pad(frames, ((0, missing), (0, 0))).reshape(-1, source["together"] * frames.shape[1])


def _frames(samples: np.ndarray, settings: dict[str, Any]) -> np.ndarray:
    rate = settings["rate"]
    step, window = rate // 100, rate // 40
    if settings["features"] == "samples" and settings["normalise"]:
        samples = _normalised(samples[:, None])[:, 0]
    count, before = -(-len(samples) * 100 // rate), (window - step) // 2
    line = np.pad(samples, (before, count * step + before - len(samples)))
    windows = np.stack([line[place * step : place * step + window] for place in range(count)])
    if settings["features"] == "samples":
        return windows
    size = 1 << (2 * window - 1).bit_length()
    hann = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)).astype(np.float32)
    power = np.abs(np.fft.rfft(windows * hann, n=size)) ** 2 @ _mel(rate, size, settings["filters"])
    if settings["top_db"]:
        vectors = np.log(
            np.maximum(power / max(power.max(), np.finfo(np.float32).tiny), 10 ** (-settings["top_db"] / 10))
        )
    else:
        vectors = np.log(np.maximum(power, FLOOR))
    vectors = vectors.astype(np.float32)
    return _normalised(vectors) if settings["normalise"] else vectors


def _mel(rate: int, size: int, filters: int) -> np.ndarray:
    """The weight of each frequency in each of the triangular bands, (frequency, band), each of area 1."""
    top = rate / 2
    most = top / LINEAR_HZ if top < BREAK_HZ else BREAK_HZ / LINEAR_HZ + math.log(top / BREAK_HZ) / LOG_STEP
    mels = np.linspace(0, most, filters + 2)
    above = mels - BREAK_HZ / LINEAR_HZ
    edges = np.where(above < 0, mels * LINEAR_HZ, BREAK_HZ * np.exp(LOG_STEP * np.maximum(above, 0)))
    frequencies = np.arange(size // 2 + 1)[:, None] * (rate / size)
    rising = (frequencies - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - frequencies) / (edges[2:] - edges[1:-1])
    return np.maximum(0, np.minimum(rising, falling)) * 2 / (edges[2:] - edges[:-2])


def _normalised(vectors: np.ndarray) -> np.ndarray:
    exact = vectors.astype(np.float64)
    return ((exact - exact.mean(0)) / np.maximum(exact.std(0), LEAST_SPREAD)).astype(np.float32)


def _statistics(items: np.ndarray) -> np.ndarray:
    """The mean, spread, minimum and maximum of each feature, and its mean in each quarter of the recording."""
    mean = items.mean(0)
    quarters = [part.mean(0) if len(part) else mean for part in np.array_split(items, 4)]
    return np.concatenate([mean, items.std(0), items.min(0), items.max(0), *quarters]).astype(np.float32)
