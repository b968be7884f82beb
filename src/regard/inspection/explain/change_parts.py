"""Parts of attention that change some pairs of query and key and leave the others: hidden pairs, scaled scores."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from regard.attention import Index, Mask, Position

__all__ = ["Hidden", "Scaled", "Where", "Zeroed"]

# A key that a model hides by a bias of -10,000 gets lower scores than this; the scores of others are far above.
_HIDDEN = -5000.0


@dataclass(frozen=True)
class Where:
    """Pairs of query and key, in some items and heads. Each number counts from 0; None means all.

    `key` may be a range of keys.

    Example:
        >>> Where(head=1).rows(torch.zeros(1, 2, 3, 4)).tolist()
        [[[[False]], [[True]]]]
    """

    item: int | None = None
    head: int | None = None
    query: int | None = None
    key: int | range | None = None

    def pairs(self, at: Index) -> Tensor:
        """Which pairs these are, as bools that broadcast against the index."""
        axes = (at.batch, self.item), (at.head, self.head), (at.query, self.query), (at.key, self.key)
        masks = [_is_in(axis, wanted) for axis, wanted in axes if wanted is not None]
        matches = masks[0] if masks else torch.ones((), dtype=torch.bool, device=at.key.device)
        for mask in masks[1:]:
            matches = matches & mask
        return matches

    def rows(self, outputs: Tensor) -> Tensor:
        """Which rows of outputs (batch, head, query, feature) these are, as bools that broadcast against them."""
        matches = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=outputs.device)
        for axis, wanted in enumerate((self.item, self.head, self.query)):
            if wanted is not None:
                numbers = torch.arange(outputs.shape[axis], device=outputs.device)
                matches = matches & (numbers == wanted).view([-1 if axis == other else 1 for other in range(4)])
        return matches


def _is_in(axis: Tensor, wanted: int | range) -> Tensor:
    if isinstance(wanted, int):
        return axis == wanted
    return (axis >= wanted.start) & (axis < wanted.stop)


@dataclass(frozen=True)
class Hidden(Mask):
    """Hides these pairs, and allows all others."""

    where: Where

    def allows(self, at: Index) -> Tensor:
        return ~self.where.pairs(at)


@dataclass(frozen=True)
class Scaled(Position):
    """Multiplies the scores of these pairs, with the biases that were added before, by a factor.

    A score that would overflow stays as it is: models hide padding by the lowest number of the dtype, and a row of
    these would become a row of -inf.
    """

    where: Where
    factor: float

    adds: ClassVar[bool] = False

    def scores(self, scores: Tensor, query: Tensor, key: Tensor, at: Index) -> Tensor:
        scaled = scores * self.factor
        return torch.where(self.where.pairs(at) & (scaled.isfinite() | ~scores.isfinite()), scaled, scores)


@dataclass(frozen=True)
class Zeroed(Position):
    """Sets the scores of these pairs to 0, except those that a bias hides."""

    where: Where

    adds: ClassVar[bool] = False

    def scores(self, scores: Tensor, query: Tensor, key: Tensor, at: Index) -> Tensor:
        return torch.where(self.where.pairs(at) & (scores > _HIDDEN), 0.0, scores)
