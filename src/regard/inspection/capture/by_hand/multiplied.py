"""The precision in which PyTorch multiplies tensors of several dtypes."""

import functools

import torch
from torch import Tensor

__all__ = ["DTYPES", "as_multiplied"]

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
"""What the operator multiplies."""


def as_multiplied(*tensors: Tensor, by_autocast: bool = True) -> list[Tensor]:
    """Factors in the dtype in which they are multiplied: that of autocast, or else the most precise of theirs.

    Args:
        tensors: the factors; where one is of another dtype than `DTYPES`, all stay as they are.
        by_autocast: whether the function that multiplies them is one of those that autocast runs in its own dtype.

    Example:
        >>> half, single = torch.zeros(1, dtype=torch.bfloat16), torch.zeros(1)
        >>> [each.dtype for each in as_multiplied(half, single)]
        [torch.float32, torch.float32]
        >>> with torch.autocast("cpu", torch.bfloat16):
        ...     [each.dtype for each in as_multiplied(half, single)]
        [torch.bfloat16, torch.bfloat16]
    """
    kind, dtypes = tensors[0].device.type, {each.dtype for each in tensors}
    if not dtypes.issubset(DTYPES):
        return [*tensors]
    cast = by_autocast and torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
    if cast and torch.float64 not in dtypes:
        dtype = torch.get_autocast_dtype(kind)
    else:
        dtype = functools.reduce(torch.promote_types, dtypes)
    return [each.to(dtype) for each in tensors]
