"""The engines, in the order in which `auto` tries them. Each is a module with `refuse(request)` and `run(request)`.

`dense` stands last and apart: it is the definition, takes quadratic memory, and is never chosen by `auto`.
"""

from types import ModuleType

from regard.attention.engines import blocked, dense, fused

__all__ = ["AUTO", "ENGINES"]

AUTO: tuple[str, ...] = ("fused", "blocked")

ENGINES: dict[str, ModuleType] = {
    "fused": fused,
    "blocked": blocked,
    "dense": dense,
}
