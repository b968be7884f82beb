"""The engines: modules with `refuse(request)`, and either `run(request)` or `forward` and `backward`.

What they return has the rows' log-sums as one more column where `request.parts.log_sums` says so, or they refuse.

`dense` is the reference implementation: it takes quadratic memory and is never chosen by `auto`.
"""

from types import ModuleType

from regard.attention.engines import banded, blocked, dense, fused, jit

__all__ = ["AUTO", "ENGINES"]

AUTO: tuple[str, ...] = ("fused", "banded", "jit", "blocked")

ENGINES: dict[str, ModuleType] = {
    "fused": fused,
    "banded": banded,
    "jit": jit,
    "blocked": blocked,
    "dense": dense,
}
