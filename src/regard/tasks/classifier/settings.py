"""The settings of a classifier in a recipe."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from regard.modules.pooling import POOLINGS
from regard.tasks.architectures import ITEM_NETWORKS
from regard.tasks.architectures.architecture import Architectures
from regard.tasks.settings import Settings, named_weights, one_of

__all__ = ["ClassifierSettings"]


@dataclass(frozen=True)
class ClassifierSettings(Settings):
    """A label, answers to several questions, or a number for each source; the targets decide which.

    Args:
        pooling: how the vectors of a source are combined into one, a name in `POOLINGS`.
        auxiliary: further targets that the network learns in training only, as for a tagger; they may be of any kind,
            and unknown for some sources.

    Raises:
        ArgumentError: an unknown pooling, or an invalid weight.
    """

    kind: ClassVar[str] = "classifier"
    architectures: ClassVar[Architectures] = ITEM_NETWORKS

    pooling: str = one_of("attention", *POOLINGS)
    auxiliary: Mapping[str, float] = named_weights()
