"""Dropout of weights, keyed by seed and absolute position: the same weights are dropped in every tile and engine.

Each pair (batch, head, query, key) is hashed to 32 bits on its own, so a tile needs only its indices, and the backward
pass drops exactly what the forward pass dropped.
"""

import torch
from torch import Tensor

from regard.attention.sizes import Index

__all__ = ["keep_scale"]

_MASK = 0xFFFFFFFF


def keep_scale(at: Index, dropout: float, seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """The factors of the weights: 0 where dropped, 1 / (1 - dropout) where kept; broadcasts like the index.

    Example:
        >>> from regard.attention.sizes import Sizes
        >>> row = torch.arange(4)
        >>> at = Sizes(1, 4, 4).index(torch.tensor(0), torch.tensor(0), row.view(4, 1), row.view(1, 4))
        >>> keep_scale(at, 0.5, seed=1).shape
        torch.Size([4, 4])
    """
    if dropout >= 1.0:
        return torch.zeros_like(at.offset, dtype=dtype)
    state = _mix(torch.as_tensor(seed & _MASK, device=at.batch.device) ^ (seed >> 32 & _MASK) * 0x9E3779B1 & _MASK)
    for index in (at.batch, at.whole_head, at.query, at.key):
        state = _mix((state + (index.long() + 1) * 0x9E3779B1) & _MASK)
    return (state >= int(dropout * 2**32)).to(dtype) * (1.0 / (1.0 - dropout))


def _mix(x: Tensor) -> Tensor:
    """A bijection of 32-bit numbers in which every input bit reaches every output bit.

    Source: Wellons 2018, "Prospecting for Hash Functions", the two-round hash called lowbias32.
    """
    x = x ^ (x >> 16)
    x = (x * 0x7FEB352D) & _MASK
    x = x ^ (x >> 15)
    x = (x * 0x846CA68B) & _MASK
    return x ^ (x >> 16)
