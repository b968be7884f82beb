"""Soft guided attention: pairs far from the diagonal of two sequences, such as a text and its speech, score lower."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from regard.attention.positions.position import Position
from regard.attention.sizes import Index
from regard.attention.validation import check_number
from regard.errors import ArgumentError

__all__ = ["GuidedBias"]


@dataclass(frozen=True)
class GuidedBias(Position):
    """score_ij -= (i / m - j / n)^2 / (2 width^2), for an item of m queries and n keys: attention near the diagonal.

    With softmax, weights are multiplied by a Gaussian around the diagonal, along which speech advances through its
    text, and normalised again. Items of different length (`Lengths`) have their own diagonals.

    Args:
        width: the distance from the diagonal, as a fraction of the length, at which a score is lowered by 1/2; the
            paper uses 0.2.

    Raises:
        ArgumentError: `width` isn't more than 0.

    Source: Tachibana et al. 2018 (arXiv 1710.08969), section 4.1: its penalty on weights, 1 - exp(-(n/N - t/T)^2 /
        (2 g^2)), is 1 minus this Gaussian; the notes, 004, "monotonic".

    Example:
        >>> from regard.attention import weigh
        >>> query, key = torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 4, 4)
        >>> weigh(query, key, position=GuidedBias(0.25))[0, 0]
        tensor([[0.5705, 0.3460, 0.0772, 0.0063],
                [0.0576, 0.2583, 0.4258, 0.2583]])
    """

    width: float = 0.2

    adds_constants: ClassVar[bool] = True
    formulas: ClassVar[Mapping[str, str]] = {"scores": "-(i / m - j / n)**2 / (2 * width**2)"}

    def __post_init__(self) -> None:
        check_number("width", self.width, "To train it, write a Position of your own.")
        if not self.width > 0:
            raise ArgumentError(f"`width` must be a share of the whole, more than 0, but is {self.width}.")

    def scores(self, scores: Tensor, query: Tensor, key: Tensor, at: Index) -> Tensor:
        beside = _fraction(at.query, at.queries, scores) - _fraction(at.key, at.keys, scores)
        return torch.addcmul(scores, beside, beside, value=-0.5 / self.width**2)

    def scores_vjp(self, grad_scores: Tensor, query: Tensor, key: Tensor, at: Index) -> tuple[None, None]:
        return None, None


def _fraction(index: Tensor, count: Tensor | int, like: Tensor) -> Tensor:
    total = count.clamp(min=1) if isinstance(count, Tensor) else max(count, 1)
    return index.to(like.dtype) / total
