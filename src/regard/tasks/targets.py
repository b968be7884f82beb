"""What a model is to give: for each kind of task, its settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from regard.tasks.settings import Settings, shares

__all__ = ["TASKS", "Tagging"]


@dataclass(frozen=True)
class Tagging(Settings):
    """A label for each item of a source.

    Args:
        auxiliary: further label sets that the same net learns beside its own, in training only: the name of each, and
            how much it counts beside 1 for its own.

    Raises:
        ArgumentError: a share that is none.
    """

    kind: ClassVar[str] = "tagger"

    auxiliary: Mapping[str, float] = shares()


TASKS = {task.kind: task for task in (Tagging,)}
