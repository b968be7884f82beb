"""Duration plans for synthesis: how many frames each part of a source lasts, and the mean frame of each part."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad, softplus

from regard.attention.validation import check_count, check_number
from regard.errors import ArgumentError
from regard.modules.alignment import even_alignment, monotonic_alignment

__all__ = ["DurationPlan", "DurationPredictor"]


@dataclass(frozen=True, eq=False)
class DurationPlan:
    """The parts of a batch of sources, from left to right: `per_item` parts for each source item.

    Args:
        durations: (batch, part) the number of frames that each part lasts, not necessarily an integer; 0 at padding.
        frames: (batch, part, feature) the mean frame of each part.
        counts: (batch,) the number of real parts.
        per_item: the number of parts of a source item.

    Example:
        >>> durations, frames = torch.tensor([[2.0, 4.0]]), torch.tensor([[[0.0], [8.0]]])
        >>> plan = DurationPlan(durations, frames, torch.tensor([2]), per_item=1)
        >>> positions, frames = plan.at(0, 7)
        >>> positions.tolist()
        [[-0.25, 0.25, 0.625, 0.875, 1.125, 1.375, 1.5]]
        >>> frames.flatten().tolist()
        [0.0, 0.0, 8.0, 8.0, 8.0, 8.0, 8.0]
    """

    durations: Tensor
    frames: Tensor
    counts: Tensor
    per_item: int

    def at(self, first: int, count: int) -> tuple[Float[Tensor, "batch count"], Float[Tensor, "batch count feature"]]:
        """The source position of each of `count` frames, from the frame `first` on, and the mean frame there.

        Source item i begins at position i - 1/2 and ends at i + 1/2. Positions are float64 and never decrease. Frames
        beyond the last part are at its end. For an empty source all positions and frames are 0.
        """
        # One part of padding for empty sources, so that there is something to gather.
        durations = pad(self.durations.detach().double(), (0, int(not self.durations.shape[1])))
        frames = pad(self.frames, (0, 0, 0, int(not self.frames.shape[1])))
        ends = durations.cumsum(1)
        times = torch.arange(first, first + count, device=durations.device, dtype=torch.float64) + 0.5
        last = (self.counts - 1).clamp(min=0).unsqueeze(1)
        part = torch.searchsorted(ends, times.expand(len(ends), -1).contiguous(), right=True).minimum(last)
        own = durations.gather(1, part)
        elapsed = ((times - (ends.gather(1, part) - own)) / own.clamp(min=1e-9)).clamp(max=1.0)
        frames = frames.gather(1, part.unsqueeze(2).expand(-1, -1, frames.shape[2]))
        empty = (self.counts == 0).unsqueeze(1)
        positions = ((part + elapsed) / self.per_item - 0.5).where(~empty, 0.0)
        return positions, frames.where(~empty.unsqueeze(2), 0.0)

    def starts(self) -> Float[Tensor, "batch item"]:
        """The time at which each source item starts, in frames, in float64; at padding, the end of the last item.

        Example:
            >>> DurationPlan(torch.tensor([[2.0, 4.0, 1.0, 1.5]]), torch.zeros(1, 4, 1), torch.tensor([4]), 2).starts()
            tensor([[0., 6.]], dtype=torch.float64)
        """
        durations = self.durations.detach().double()
        return (durations.cumsum(1) - durations)[:, :: self.per_item]

    def even(self, lengths: Int[Tensor, " batch"]) -> "DurationPlan":
        """The same plan with durations spread evenly over this many frames."""
        return self._with_durations(even_alignment(lengths, self.counts, self.durations.shape[1]))

    def aligned(self, frames: Float[Tensor, "batch frame feature"], lengths: Int[Tensor, " batch"]) -> "DurationPlan":
        """The same plan with the durations of a recording, found by monotonic alignment to the mean frames.

        Args:
            frames: the recorded frames, zeros at padding.
            lengths: (batch,) the number of real frames.
        """
        # The dtypes may differ under autocast, and `cdist` doesn't support those of 16 bits.
        dtype = torch.promote_types(torch.promote_types(frames.dtype, self.frames.dtype), torch.float32)
        costs = torch.cdist(frames.to(dtype), self.frames.detach().to(dtype), p=1.0)
        return self._with_durations(monotonic_alignment(costs, lengths, self.counts))

    def _with_durations(self, durations: Tensor) -> "DurationPlan":
        return DurationPlan(durations.to(self.durations), self.frames, self.counts, self.per_item)


class DurationPredictor(nn.Module):
    """Predicts a duration plan from the encoded source: the duration and the mean frame of each part.

    It is a left-to-right hidden Markov model whose states are the parts. It needs no labels of where an item begins in
    a recording: starting from even durations, the recording is aligned to the mean frames, and the mean frames are
    trained on what was aligned to them, in turn.

    Args:
        width: the size of the source's vectors.
        features: the size of a frame.
        per_item: the number of parts of a source item.
        rate: the number of source items per frame that the untrained model predicts.

    Raises:
        ArgumentError: a size or a rate out of range.

    Source: Kim et al. 2020, "Glow-TTS" (arXiv 2005.11129), sections 3.1 and 3.2, with distances instead of a flow; the
        notes, 004 "Guided attention".

    Example:
        >>> predictor = DurationPredictor(4, features=3, per_item=2, rate=0.5)
        >>> plan = predictor(torch.zeros(1, 3, 4), torch.tensor([2]))
        >>> plan.durations.tolist(), plan.frames.shape
        ([[1.0, 1.0, 1.0, 1.0, 0.0, 0.0]], torch.Size([1, 6, 3]))
    """

    def __init__(self, width: int, features: int, *, per_item: int, rate: float):
        super().__init__()
        check_count("per_item", per_item, "how many parts a source item has")
        check_number("rate", rate)
        if not 0 < rate < float("inf"):
            raise ArgumentError(f"`rate` must be source items for each frame, more than 0, but is {rate}.")
        self.features, self.per_item, self.rate = features, per_item, rate
        self.duration = nn.Linear(width, per_item)
        self.frame = nn.Linear(width, per_item * features)
        for parameter in (self.duration.bias, self.frame.weight, self.frame.bias):
            nn.init.zeros_(parameter)

    def forward(self, vectors: Float[Tensor, "batch length width"], lengths: Int[Tensor, " batch"]) -> DurationPlan:
        """The duration plan of encoded sources of these lengths."""
        # softplus(x + log(e - 1)) is 1 at x = 0, and always positive.
        times = softplus(self.duration(vectors) + math.log(math.e - 1)) / (self.rate * self.per_item)
        counts = lengths * self.per_item
        # (batch length part) -> (batch length*part)
        times, frames = times.flatten(1), self.frame(vectors).unflatten(2, (self.per_item, self.features)).flatten(1, 2)
        real = torch.arange(times.shape[1], device=times.device) < counts.unsqueeze(1)
        return DurationPlan(times.where(real, 0.0), frames, counts, self.per_item)
