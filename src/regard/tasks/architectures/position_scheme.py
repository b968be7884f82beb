"""How attention uses the positions of items, as a recipe describes it."""

import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from regard.attention import Relative
from regard.modules import MultiHeadAttention, PerLayer
from regard.tasks.architectures.part import Part

__all__ = ["PositionScheme"]


@dataclass(frozen=True)
class PositionScheme(Part):
    """A position scheme.

    Args:
        position: its name, or "none".
        reach: of "relative": the largest distance that has a vector of its own.
    """

    position: str
    reach: int | None

    @classmethod
    def ignored(cls, values: Mapping[str, Any]) -> Collection[str]:
        return () if values["position"] == "relative" else ("reach",)

    def build(self) -> Any:
        """The argument `position` of attention modules. After the network is made, call `draw`."""
        if self.reach is not None:
            # Each layer has vectors of its own, because the same distance can mean something else in another layer.
            return PerLayer(functools.partial(_undrawn, reach=self.reach))
        return None if self.position == "none" else self.position

    def draw(self, network: nn.Module) -> None:
        """Initialise the vectors of relative positions, after all other parameters of the network.

        If they were drawn earlier, the same seed would give the other parameters other values than in published
        recipes.
        """
        if self.reach is None:
            return
        for layer in network.modules():
            if isinstance(layer, MultiHeadAttention) and layer.position is not None:
                layer.position.load_state_dict(Relative(layer.head_size, self.reach).state_dict())


def _undrawn(head_size: int, *, reach: int) -> Relative:
    with torch.random.fork_rng(devices=()):
        return Relative(head_size, reach)
