"""The engines: modules with `refuse`, `seconds` and `cost` of a request, and either `run` or `forward` and `backward`.

`dense` is the reference implementation: it takes quadratic memory and is never chosen by `auto`.
"""

from types import ModuleType

from regard.attention.engines import banded, blocked, dense, fused, jit, triton

__all__ = ["AUTO", "ENGINES"]

AUTO: tuple[str, ...] = ("fused", "banded", "jit", "blocked")

ENGINES: dict[str, ModuleType] = {
    "fused": fused,
    "banded": banded,
    "jit": jit,
    "triton": triton,
    "blocked": blocked,
    "dense": dense,
}
