"""How large the tiles of each kernel are, and how many warps work on one."""

import os
from dataclasses import dataclass
from typing import Any

from torch import Tensor

__all__ = ["FUSED", "Tiling", "interpreted", "tiling"]

FUSED = {"enable_fp_fusion": True}
"""Products and sums are fused, as Triton does if nothing is said; but from 3.9 it warns that this will change."""


@dataclass(frozen=True)
class Tiling:
    """Rows and columns of a tile, and what Triton compiles with."""

    rows: int
    columns: int
    warps: int = 4
    stages: int = 2
    interpreted: bool = False

    @property
    def options(self) -> dict[str, Any]:
        return {"num_warps": self.warps, "num_stages": self.stages, **FUSED}


def interpreted() -> bool:
    """Whether Triton's interpreter stands in for a GPU."""
    return os.environ.get("TRITON_INTERPRET") == "1"


# The largest that compile with few spilled registers or none, see benchmarks/kernels.py; on a GPU they are untuned. By
# kernel, for numbers of two bytes and of four, and the head size that they are for at most.
_SIZES = {
    ("forward", 2, 64): Tiling(128, 64, 8, 3),
    ("forward", 2, 128): Tiling(128, 64, 8, 2),
    ("forward", 2, 256): Tiling(64, 32, 8, 2),
    ("forward", 4, 64): Tiling(64, 32, 8, 2),
    ("forward", 4, 128): Tiling(64, 32, 8, 2),
    ("forward", 4, 256): Tiling(32, 16, 8, 2),
    ("queries", 2, 64): Tiling(64, 64, 4, 3),
    ("queries", 2, 128): Tiling(64, 64, 8, 2),
    ("queries", 2, 256): Tiling(32, 32, 8, 2),
    ("queries", 4, 64): Tiling(32, 32, 4, 2),
    ("queries", 4, 128): Tiling(32, 32, 8, 2),
    ("queries", 4, 256): Tiling(16, 16, 4, 2),
    ("keys", 2, 64): Tiling(64, 64, 8, 2),
    ("keys", 2, 128): Tiling(32, 64, 8, 2),
    ("keys", 2, 256): Tiling(32, 16, 8, 2),
    ("keys", 4, 64): Tiling(32, 32, 8, 2),
    ("keys", 4, 128): Tiling(32, 32, 8, 2),
    ("keys", 4, 256): Tiling(16, 16, 8, 1),
}


# Of additive scores, with a thread for each of 8 features of 16 rows whose gradients are summed.
_ADDITIVE = {
    ("forward", False): Tiling(16, 128),
    ("forward", True): Tiling(16, 64),
    ("queries", False): Tiling(16, 128),
    ("queries", True): Tiling(16, 64),
    ("keys", False): Tiling(64, 16),
    ("keys", True): Tiling(64, 16),
}


def tiling(table: bool, query: Tensor, value: Tensor, kernel: str, *, additive: bool = False) -> Tiling:
    """The tiles of a kernel. table: whether the mask is a table of pairs, for which all kernels have the same tiles."""
    if interpreted():
        return Tiling(16, 16, interpreted=True)
    kernel = "queries" if table else kernel
    most = max(query.shape[-1], value.shape[-1])
    if additive:
        return _ADDITIVE[kernel, most > 64]
    return _SIZES[kernel, min(query.element_size(), 4), 64 if most <= 64 else 128 if most <= 128 else 256]
