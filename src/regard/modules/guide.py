"""A guide for attention from a target to its source, where both run from left to right, as speech and its text do."""

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
    """Target item i looks near source item rate x i, at most `width` away; from the source's end on, near the end.

    `Guided` alone puts the band on the diagonal of m targets and n sources. A model that is still generating doesn't
    know m; it knows how fast its targets move through their sources on average.

    Args:
        width: how far from there a source item may be: a whole number of items, or a share of the source.
        rate: how many source items go by in one target item: in the training data, the sum of the sources' lengths over
            the sum of the targets'.

    Raises:
        ArgumentError: a number that can't be.

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
        Guided(self.width)  # A width that is none is refused here.

    def mask(self, first: int, count: int, lengths: Int[Tensor, " batch"]) -> Guided:
        """The band for so many targets from the `first` on, for sources of these lengths."""
        places = torch.arange(first, first + count, device=lengths.device, dtype=torch.float64) * self.rate
        ends = (lengths - 1).clamp(min=0).unsqueeze(1)
        return Guided(self.width, torch.minimum(places, ends.to(places)))

    def around(self, places: Float[Tensor, "batch target"], lengths: Int[Tensor, " batch"]) -> Guided:
        """The band around places that are known better than by the rate. Each target sees the item it is nearest to.

        Args:
            places: where in its source each target is, i at source item i; they don't go back.
            lengths: (batch,) how many items the sources have.

        Example:
            >>> Guide(width=0.1, rate=1.0).around(torch.tensor([[0.2, 0.9, 1.2, 1.4]]), torch.tensor([2])).centres
            tensor([[0., 1., 1., 1.]], dtype=torch.float64)
        """
        reach = (self.width * lengths if isinstance(self.width, float) else lengths * 0 + self.width).unsqueeze(1)
        nearest = torch.minimum(places.round(), (lengths - 1).unsqueeze(1)).clamp(min=0)
        return Guided(self.width, torch.where(reach < 0.5, nearest, places))
