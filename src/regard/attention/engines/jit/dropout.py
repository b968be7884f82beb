"""Dropout of a tile of weights: the compiled twin of `regard.attention.dropout.keep_scale`, to the bit."""

import numpy as np
import torch
from torch import Tensor

from regard.attention.engines.jit.compiling import compiled, in_parallel, number, threads

__all__ = ["drop", "kept", "mixed", "started", "steps"]

_PIECE = 2**15  # numbers to a piece of work


def drop(weights: Tensor, dropout: float, seed: int, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
    """Multiply the weights (group, row, column), in place, by 0 where dropped and by 1 / (1 - dropout) where kept.

    Args:
        weights: contiguous, float32 or float64, on the CPU.
        dropout: the share of weights that fall.
        seed: which ones fall.
        batch: (group,) the item of each group; whole numbers, as those below.
        head: (group,) its head.
        query: (row,) the query of each row.
        key: (column,) the key of each column.
    """
    if weights.numel():
        rows = weights.shape[0] * weights.shape[1]
        grain = max(1, _PIECE // weights.shape[2])
        places = (steps(place) for place in (batch, head, query, key))
        _drop(rows, grain, threads(), weights.detach().numpy(), *places, started(seed), *kept(dropout, weights.dtype))
    return weights


def started(seed: int) -> np.uint32:
    """The state of the hash before it is first mixed."""
    return np.uint32((seed & 0xFFFFFFFF) ^ ((seed >> 32 & 0xFFFFFFFF) * 0x9E3779B1 & 0xFFFFFFFF))


def steps(index: Tensor) -> np.ndarray:
    """What each index adds to the state before it is mixed."""
    return ((index.detach().long() + 1) * 0x9E3779B1 & 0xFFFFFFFF).numpy().astype(np.uint32)


def kept(dropout: float, dtype: torch.dtype) -> tuple[np.uint32, np.floating]:
    """From which state on a weight is kept, and what it is multiplied by then: 1 / (1 - dropout)."""
    if dropout >= 1.0:
        return np.uint32(0), number(0.0, dtype)
    return np.uint32(int(dropout * 2**32)), number(1.0 / (1.0 - dropout), dtype)


@compiled(keep=False)
def mixed(x):
    """Inside compiled code: the hash of `regard.attention.dropout`, every number in it a uint32."""
    x = np.uint32(x ^ (x >> np.uint32(16)))
    x = np.uint32(x * np.uint32(0x7FEB352D))
    x = np.uint32(x ^ (x >> np.uint32(15)))
    x = np.uint32(x * np.uint32(0x846CA68B))
    return np.uint32(x ^ (x >> np.uint32(16)))


@compiled(keep=False)
def _drop_rows(start, stop, weights, batch, head, query, key, state, threshold, scale):
    rows, columns = weights.shape[1:]
    zero = weights.dtype.type(0)
    for at in range(start, stop):
        group, row = at // rows, at % rows
        begun = mixed(np.uint32(mixed(np.uint32(mixed(state) + batch[group])) + head[group]))
        begun = mixed(np.uint32(begun + query[row]))
        line = weights[group, row]
        for j in range(columns):
            line[j] *= scale if mixed(np.uint32(begun + key[j])) >= threshold else zero


@compiled()
def _drop(length, grain, count, *arguments):
    in_parallel(_drop_rows, length, grain, count, arguments)
