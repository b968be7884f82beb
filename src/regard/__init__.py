"""regard: any attention you can write down, exact, in linear memory; trained, and shown.

The names below are imported when they are first used, so that `import regard` itself is fast.
"""

import typing

from regard import lazy
from regard.version import __version__

if typing.TYPE_CHECKING:
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

lazy.export(
    __name__,
    {
        "attention": "attend plan summarise weigh",
        "inspection": "watch",
        "jury": "check",
        "modules": "huggingface",
        "tasks": "Recipe Tagger load train",
    },
)
