"""What a recipe says of a classifier."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from regard.modules.pooling import POOLINGS
from regard.tasks.settings import Settings, named_weights, one_of

__all__ = ["ClassifierSettings"]


@dataclass(frozen=True)
class ClassifierSettings(Settings):
    """A label for each source, several yes or no, or a number: what the targets are says which.

    Args:
        pooling: how the vectors of a source become one, a name in `POOLINGS`.
        auxiliary: further targets that the network learns in training only, as for a tagger; they may be of any kind,
            and of only some of the sources.

    Raises:
        ArgumentError: there is no such pooling, or a share that is none.
    """

    kind: ClassVar[str] = "classifier"

    pooling: str = one_of("attention", *POOLINGS)
    auxiliary: Mapping[str, float] = named_weights()
