"""What a model is to give: for each kind of task, its settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from regard.modules.pooling import POOLINGS
from regard.tasks.settings import Settings, one_of, shares

__all__ = ["TASKS", "Classifying", "Tagging"]


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


@dataclass(frozen=True)
class Classifying(Settings):
    """A label for each source, several yes or no, or a number: what the targets are says which.

    Args:
        pooling: how the vectors of a source become one, a name in `POOLINGS`.

    Raises:
        ArgumentError: there is no such pooling.
    """

    kind: ClassVar[str] = "classifier"

    pooling: str = one_of("attention", *POOLINGS)


TASKS: dict[str, type[Settings]] = {task.kind: task for task in (Tagging, Classifying)}
