"""The engines: modules with `refuse`, `seconds` and `cost` of a request, and either `run` or `forward` and `backward`.

What they return has the rows' log-sums as one more column where `request.parts.log_sums` says so, or they refuse.

`dense` is the reference implementation: it takes quadratic memory and is never chosen by `auto`. Nor is `triton` on a
CPU, where only Triton's interpreter can run it.
"""

from types import ModuleType

from regard.attention.engines import banded, blocked, dense, fused, jit, triton
from regard.attention.request import Request

__all__ = ["AUTO", "AUTO_ON_GPU", "ENGINES", "in_order"]

AUTO: tuple[str, ...] = ("fused", "banded", "jit", "blocked")
AUTO_ON_GPU: tuple[str, ...] = ("triton", "fused", "blocked")

ENGINES: dict[str, ModuleType] = {
    "fused": fused,
    "banded": banded,
    "jit": jit,
    "triton": triton,
    "blocked": blocked,
    "dense": dense,
}


def in_order(request: Request) -> tuple[str, ...]:
    """The engines that `auto` asks for a request, the fastest first."""
    if request.query.device.type == "cpu":
        return AUTO
    return ("fused", "triton", "blocked") if fused.leads_on_gpu(request) else AUTO_ON_GPU
