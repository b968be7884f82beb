"""Changes in random directions, which are as large as a given change: what effects are compared with."""

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from regard.errors import ArgumentError
from regard.inspection.capture.call import AttentionCall
from regard.inspection.explain.change_parts import Where
from regard.inspection.explain.changes import Change
from regard.inspection.record.seen_layer import SeenLayer

__all__ = ["RandomDirection", "random_rotation"]


@dataclass(frozen=True)
class RandomDirection(Change):
    """Add what a change does to the outputs of the heads, rotated at random.

    The difference that the change makes to the outputs of each head is multiplied by one random orthogonal matrix, the
    same for all positions, layers and heads. So it keeps its size at each position, and how alike it is at two
    positions, but its direction says nothing: the effect is that of the same change in a model whose output matrices of
    the heads are turned at random. `effects` takes its noise floor from such changes.

    Args:
        change: the change.
        seed: of the rotation.

    Raises:
        ArgumentError: `change` is none.

    Source: the randomisation of parameters as a control is that of Adebayo et al. 2018, Sanity Checks for Saliency
    Maps.
    """

    change: Change
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.change, Change):
            raise ArgumentError(f"`change` of RandomDirection must be a change, but is {self.change!r}.")
        if isinstance(self.change, RandomDirection):
            # Of one that is turned already the direction is as random, and the size the same.
            object.__setattr__(self, "change", self.change.change)

    @property
    def members(self) -> tuple[Change, ...]:
        """The same of each member of the change."""
        return tuple(RandomDirection(each, self.seed) for each in self.change.members)

    def in_layer(self, number: int, name: str) -> bool:
        """Whether the change is one of this layer."""
        return self.change.in_layer(number, name)

    def where(self, item: int | None = None) -> Where:
        """The pairs that change, in one item of the batch or in all."""
        return self.change.where(item)

    def missing(self, call: AttentionCall | SeenLayer) -> str:
        """The first of `numbers` that the call doesn't have; "" if it has all."""
        return self.change.missing(call)

    def rotated(self, difference: Tensor) -> Tensor:
        """A difference of outputs, (..., feature), in the random direction."""
        return difference @ random_rotation(difference.shape[-1], self.seed).to(difference)

    def __str__(self) -> str:
        return f"{self.change}, in a random direction"


@lru_cache(maxsize=128)
def random_rotation(size: int, seed: int) -> Tensor:
    """A random orthogonal matrix (size, size), uniform over all of them.

    Source: Mezzadri 2007, How to Generate Random Matrices from the Classical Compact Groups, section 5.

    Example:
        >>> matrix = random_rotation(3, seed=0)
        >>> torch.allclose(matrix @ matrix.mT, torch.eye(3, dtype=torch.double))
        True
    """
    normal = torch.randn(size, size, dtype=torch.double, generator=torch.Generator().manual_seed(seed), device="cpu")
    columns, triangle = torch.linalg.qr(normal)
    # Without the signs the columns would lean towards those that the algorithm prefers.
    return columns * triangle.diagonal().sign()
