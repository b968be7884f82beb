"""Self-attention on a source as a recipe describes it, and the base of the architectures that have it."""

from dataclasses import dataclass
from typing import Any

from regard.modules.projections import PROJECTIONS
from regard.tasks.architectures.approximate import Approximate
from regard.tasks.architectures.architecture import Architecture
from regard.tasks.architectures.part import Part
from regard.tasks.architectures.position_scheme import PositionScheme
from regard.tasks.architectures.source_mask import SourceMask

__all__ = ["SelfAttention", "WithSelfAttention"]


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
