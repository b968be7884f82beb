"""Guided attention from a target to its source, where both run from left to right, as speech and its text do."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.attention import Guided
from regard.attention.validation import check_number
from regard.errors import ArgumentError

__all__ = ["Guide"]


@dataclass(frozen=True)
class Guide:
    """Target item i attends to source items at most `width` away from rate x i; beyond the source's end, near the end.

    `Guided` alone puts the band on the diagonal of m targets and n sources. A model that is still generating doesn't
    know m, but it knows the average rate at which targets move through their sources.

    Args:
        width: the maximum distance: an integer number of items, or a fraction of the source.
        rate: the number of source items per target item: the sum of the sources' lengths in the training data divided
            by the sum of the targets' lengths.

    Raises:
        ArgumentError: a number out of range.

    Source: the notes, 004 "Guided attention": speech recognition and synthesis go from left to right.

    Example:
        >>> mask = Guide(width=1, rate=2.0).mask(0, 4, torch.tensor([5]))
        >>> mask.centres.tolist()
        [[0.0, 2.0, 4.0, 4.0]]
    """

    width: int | float
    rate: float

    def __post_init__(self) -> None:
        check_number("rate", self.rate)
        if not 0 < self.rate < float("inf"):
            raise ArgumentError(f"`rate` must be source items for each target item, more than 0, but is {self.rate}.")
        Guided(self.width)  # It checks the width.

    def mask(self, first: int, count: int, lengths: Int[Tensor, " batch"]) -> Guided:
        """The band of `count` targets from the target `first` on, for sources of these lengths."""
        positions = torch.arange(first, first + count, device=lengths.device, dtype=torch.float64) * self.rate
        ends = (lengths - 1).clamp(min=0).unsqueeze(1)
        return Guided(self.width, torch.minimum(positions, ends.to(positions)))

    def around(self, positions: Float[Tensor, "batch target"], lengths: Int[Tensor, " batch"]) -> Guided:
        """The band around known positions instead of those of the rate. Each target sees at least the nearest item.

        Args:
            positions: the position of each target in its source, i at source item i; they never decrease.
            lengths: (batch,) the lengths of the sources.

        Example:
            >>> Guide(width=0.1, rate=1.0).around(torch.tensor([[0.2, 0.9, 1.2, 1.4]]), torch.tensor([2])).centres
            tensor([[0., 1., 1., 1.]], dtype=torch.float64)
        """
        reach = (self.width * lengths if isinstance(self.width, float) else lengths * 0 + self.width).unsqueeze(1)
        nearest = torch.minimum(positions.round(), (lengths - 1).unsqueeze(1)).clamp(min=0)
        return Guided(self.width, torch.where(reach < 0.5, nearest, positions))
