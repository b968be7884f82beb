"""The settings of a tagger in a recipe."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from regard.tasks.architectures import ITEM_NETWORKS
from regard.tasks.architectures.architecture import Architectures
from regard.tasks.settings import Settings, named_weights

__all__ = ["TaggerSettings"]


@dataclass(frozen=True)
class TaggerSettings(Settings):
    """A label for each item of a source.

    Args:
        auxiliary: further label sets that the network learns in training only: the name of each and its weight, beside
            1 for the main labels.

    Raises:
        ArgumentError: an invalid weight.
    """

    kind: ClassVar[str] = "tagger"
    architectures: ClassVar[Architectures] = ITEM_NETWORKS

    auxiliary: Mapping[str, float] = named_weights()
