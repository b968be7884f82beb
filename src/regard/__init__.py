"""regard: any attention you can write down, exact, in linear memory; trained, and shown.

The names below are imported when they are first used, so that `import regard` itself is fast.
"""

import importlib
from typing import TYPE_CHECKING, Any

from regard.version import __version__

if TYPE_CHECKING:
    from regard.attention import attend, plan, summarise, weigh
    from regard.inspection import watch
    from regard.jury import check
    from regard.modules import huggingface
    from regard.tasks import Recipe, Tagger, load, train

__all__ = [
    "Recipe",
    "Tagger",
    "__version__",
    "attend",
    "check",
    "huggingface",
    "load",
    "plan",
    "summarise",
    "train",
    "watch",
    "weigh",
]

_ROOMS = {
    "attend": "attention",
    "check": "jury",
    "plan": "attention",
    "summarise": "attention",
    "weigh": "attention",
    "Recipe": "tasks",
    "Tagger": "tasks",
    "load": "tasks",
    "train": "tasks",
    "watch": "inspection",
}


def __getattr__(name: str) -> Any:
    if name == "huggingface":
        return importlib.import_module("regard.modules.huggingface")
    if name in _ROOMS:
        value = getattr(importlib.import_module(f"regard.{_ROOMS[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'regard' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
