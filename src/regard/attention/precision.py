"""How wide numbers are inside the operator: sums are in float32 or wider, under autocast too."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

__all__ = ["WIDE", "no_autocast", "wide_dtype"]

WIDE = frozenset((torch.float32, torch.float64))  # the dtypes that are wide enough to sum in


def wide_dtype(tensor: Tensor) -> torch.dtype:
    """The dtype to sum in: that of the tensor, but float32 at least.

    Example:
        >>> wide_dtype(torch.zeros(1, dtype=torch.bfloat16)), wide_dtype(torch.zeros(1, dtype=torch.float64))
        (torch.float32, torch.float64)
    """
    return torch.promote_types(tensor.dtype, torch.float32)


def no_autocast(tensor: Tensor) -> AbstractContextManager[object]:
    """Keep autocast from narrowing what is inside."""
    kind = tensor.device.type
    return torch.autocast(kind, enabled=False) if torch.is_autocast_enabled(kind) else nullcontext()
