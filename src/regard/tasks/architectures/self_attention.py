"""Self-attention on a source as a recipe describes it, with its mask and positions; the base of what has it."""

import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from regard.attention import Relative, Window
from regard.attention.masks import Mask, as_mask
from regard.errors import ArgumentError
from regard.modules import MultiHeadAttention, PerLayer
from regard.modules.efficient import BigBird, Longformer, Strided
from regard.modules.projections import PROJECTIONS
from regard.tasks.architectures.approximate import Approximate
from regard.tasks.architectures.architecture import Architecture, Part

__all__ = ["SOURCE_MASKS", "PositionScheme", "SelfAttention", "SourceMask", "WithSelfAttention"]

# The masks that have a size: how to build each, and its smallest size.
_SIZED: Mapping[str, tuple[Callable[[int], Mask], int]] = {
    "window": (lambda size: Window(size, size), 0),
    "strided": (Strided, 1),
    "longformer": (Longformer, 0),
    "bigbird": (BigBird, 1),
}

SOURCE_MASKS = ("none", "no_self", "causal", *_SIZED)
"""All masks by name."""


@dataclass(frozen=True)
class SourceMask(Part):
    """Which items of a source attend to which.

    Args:
        mask: a name in `SOURCE_MASKS`.
        attention_window: the size of a mask that has one.
    """

    mask: str
    attention_window: int | None

    @classmethod
    def ignored(cls, values: Mapping[str, Any]) -> Collection[str]:
        return () if values["mask"] in _SIZED else ("attention_window",)

    def check(self) -> None:
        """Check the size.

        Raises:
            ArgumentError: it is 0, but the mask needs at least 1.
        """
        if self.attention_window is not None and self.attention_window < (least := _SIZED[self.mask][1]):
            raise ArgumentError(f"`attention_window` must be at least {least} for the mask {self.mask!r}, but is 0.")

    def build(self) -> Mask | None:
        """The mask; None for "none".

        Example:
            >>> SourceMask("window", 2).build()
            Window(before=2, after=2)
        """
        if self.mask == "none":
            return None
        return as_mask(self.mask) if self.attention_window is None else _SIZED[self.mask][0](self.attention_window)


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


@dataclass(frozen=True)
class SelfAttention(Part):
    """The attention of a network; all of its fields are those of a recipe."""

    heads: int
    score: str
    weights: str
    attention_dropout: float
    projections: str
    position: PositionScheme
    mask: SourceMask
    approximation: Approximate

    def check(self, recipe: Any) -> None:
        """Check that its parts go together.

        Raises:
            ArgumentError: they don't.
        """
        self.approximation.check(recipe)
        self.mask.check()

    def arguments(self) -> dict[str, Any]:
        """The arguments of modules for attention. After the network is made, call `position.draw`."""
        found = {
            "heads": self.heads,
            "score": self.score,
            "weights": self.weights,
            "attention_dropout": self.attention_dropout,
            "position": self.position.build(),
            "mask": self.mask.build(),
            "approximation": self.approximation.build(),
        }
        return found if self.projections == "usual" else {**found, "projections": PROJECTIONS[self.projections]}


@dataclass(frozen=True)
class WithSelfAttention(Architecture):
    """The base of the architectures with self-attention on a source."""

    attention: SelfAttention

    @property
    def position_limit(self) -> int | None:
        return self.attention.approximation.max_length

    def check(self, recipe: Any) -> None:
        self.attention.check(recipe)
