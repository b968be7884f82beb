"""The engines: modules with `refuse`, `seconds` and `cost` of a request, and either `run` or `forward` and `backward`.

What they return has the rows' log-sums as one more column where `request.parts.log_sums` says so, or they refuse.

`dense` is the reference implementation: it takes quadratic memory and is never chosen by `auto`. Nor is `triton` on a
CPU, where only Triton's interpreter can run it.
"""

from types import ModuleType

import torch

from regard.attention.engines import banded, blocked, dense, fused, jit, triton

__all__ = ["AUTO", "AUTO_ON_GPU", "ENGINES", "in_order"]

AUTO: tuple[str, ...] = ("fused", "banded", "jit", "blocked")
AUTO_ON_GPU: tuple[str, ...] = ("fused", "triton", "blocked")

ENGINES: dict[str, ModuleType] = {
    "fused": fused,
    "banded": banded,
    "jit": jit,
    "triton": triton,
    "blocked": blocked,
    "dense": dense,
}


def in_order(device: torch.device) -> tuple[str, ...]:
    """The engines that `auto` asks on a device, the fastest first."""
    return AUTO if device.type == "cpu" else AUTO_ON_GPU
