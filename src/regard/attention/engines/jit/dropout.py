"""Dropout of a tile of weights in compiled code, bitwise equal to `regard.attention.dropout.keep_scale`."""

import numpy as np
import torch
from torch import Tensor

from regard.attention.engines.jit.compiling import compiled, parallel_for, scalar, threads

__all__ = ["drop", "hash_increments", "initial_state", "mix", "threshold_and_scale"]

_CHUNK = 2**15  # weights in a chunk of work


def drop(weights: Tensor, dropout: float, seed: int, indices: tuple[Tensor, Tensor, Tensor, Tensor]) -> Tensor:
    """Multiply the weights (group, row, column), in place, by 0 where dropped and by 1 / (1 - dropout) where kept.

    Args:
        weights: contiguous, float32 or float64, on the CPU.
        dropout: the fraction of weights that are dropped.
        seed: determines which weights are dropped.
        indices: four tensors of integers: the item of each group, (group,), the head of each group, (group,), the
            query of each row, (row,), and the key of each column, (column,).
    """
    if weights.numel():
        rows = weights.shape[0] * weights.shape[1]
        grain = max(1, _CHUNK // weights.shape[2])
        increments = (hash_increments(index) for index in indices)
        _drop(
            rows,
            grain,
            threads(),
            weights.detach().numpy(),
            *increments,
            initial_state(seed),
            *threshold_and_scale(dropout, weights.dtype),
        )
    return weights


def initial_state(seed: int) -> np.uint32:
    """The initial state of the hash."""
    return np.uint32((seed & 0xFFFFFFFF) ^ ((seed >> 32 & 0xFFFFFFFF) * 0x9E3779B1 & 0xFFFFFFFF))


def hash_increments(index: Tensor) -> np.ndarray:
    """The number that each index adds to the state of the hash."""
    return ((index.detach().long() + 1) * 0x9E3779B1 & 0xFFFFFFFF).numpy().astype(np.uint32)


def threshold_and_scale(dropout: float, dtype: torch.dtype) -> tuple[np.uint32, np.floating]:
    """The lowest hash at which a weight is kept, and the factor of the kept weights, 1 / (1 - dropout)."""
    if dropout >= 1.0:
        # The threshold 2**32 doesn't fit into uint32, so every weight is kept and multiplied by 0.
        return np.uint32(0), scalar(0.0, dtype)
    return np.uint32(int(dropout * 2**32)), scalar(1.0 / (1.0 - dropout), dtype)


@compiled(cache=False)
def mix(x):
    """In compiled code: the hash of `regard.attention.dropout` in uint32."""
    x = np.uint32(x ^ (x >> np.uint32(16)))
    x = np.uint32(x * np.uint32(0x7FEB352D))
    x = np.uint32(x ^ (x >> np.uint32(15)))
    x = np.uint32(x * np.uint32(0x846CA68B))
    return np.uint32(x ^ (x >> np.uint32(16)))


@compiled(cache=False)
def _drop_rows(start, stop, weights, batch, head, query, key, state, threshold, scale):
    rows, columns = weights.shape[1:]
    zero = weights.dtype.type(0)
    for flat_row in range(start, stop):
        group, row = flat_row // rows, flat_row % rows
        state_of_row = mix(np.uint32(mix(np.uint32(mix(state) + batch[group])) + head[group]))
        state_of_row = mix(np.uint32(state_of_row + query[row]))
        row_weights = weights[group, row]
        for column in range(columns):
            row_weights[column] *= scale if mix(np.uint32(state_of_row + key[column])) >= threshold else zero


@compiled()
def _drop(length, grain, count, *arguments):
    parallel_for(_drop_rows, length, grain, count, arguments)
