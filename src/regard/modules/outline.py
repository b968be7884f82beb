"""What a source is to sound like before it is said: its parts, how long each lasts, and the frame it is made of."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad, softplus

from regard.attention.validation import check_count, check_number
from regard.errors import ArgumentError
from regard.modules.alignment import even_alignment, monotonic_alignment

__all__ = ["Outline", "Outliner"]


@dataclass(frozen=True, eq=False)
class Outline:
    """The parts of a batch of sources, from left to right, so many for each source item.

    Args:
        durations: (batch, part) how many frames each part lasts, not whole numbers; 0 at padding.
        frames: (batch, part, feature) the frame that stands for each part.
        counts: (batch,) how many parts are real.
        per_item: how many of them are one source item.

    Example:
        >>> outline = Outline(torch.tensor([[2.0, 4.0]]), torch.tensor([[[0.0], [8.0]]]), torch.tensor([2]), per_item=1)
        >>> places, frames = outline.at(0, 7)
        >>> places.tolist()
        [[-0.25, 0.25, 0.625, 0.875, 1.125, 1.375, 1.5]]
        >>> frames.flatten().tolist()
        [0.0, 0.0, 8.0, 8.0, 8.0, 8.0, 8.0]
    """

    durations: Tensor
    frames: Tensor
    counts: Tensor
    per_item: int

    def at(self, first: int, count: int) -> tuple[Float[Tensor, "batch count"], Float[Tensor, "batch count feature"]]:
        """Where in its source each of `count` frames is, from the `first` on, and which frame stands for it.

        Source item i begins at place i - 1/2 and ends at i + 1/2; places are float64 and never go back. A frame behind
        the last part is at its end; of a source of nothing all are at 0, and zeros.
        """
        # A source of nothing has room for one part, so that there is something to take.
        durations = pad(self.durations.detach().double(), (0, int(not self.durations.shape[1])))
        frames = pad(self.frames, (0, 0, 0, int(not self.frames.shape[1])))
        ends = durations.cumsum(1)
        times = torch.arange(first, first + count, device=durations.device, dtype=torch.float64) + 0.5
        last = (self.counts - 1).clamp(min=0).unsqueeze(1)
        part = torch.searchsorted(ends, times.expand(len(ends), -1).contiguous(), right=True).minimum(last)
        own = durations.gather(1, part)
        spent = ((times - (ends.gather(1, part) - own)) / own.clamp(min=1e-9)).clamp(max=1.0)
        frames = frames.gather(1, part.unsqueeze(2).expand(-1, -1, frames.shape[2]))
        nothing = (self.counts == 0).unsqueeze(1)
        places = ((part + spent) / self.per_item - 0.5).where(~nothing, 0.0)
        return places, frames.where(~nothing.unsqueeze(2), 0.0)

    def begins(self) -> Float[Tensor, "batch item"]:
        """How many frames are gone when each source item begins, in float64; at padding when the last one ends.

        Example:
            >>> Outline(torch.tensor([[2.0, 4.0, 1.0, 1.5]]), torch.zeros(1, 4, 1), torch.tensor([4]), 2).begins()
            tensor([[0., 6.]], dtype=torch.float64)
        """
        durations = self.durations.detach().double()
        return (durations.cumsum(1) - durations)[:, :: self.per_item]

    def even(self, lengths: Int[Tensor, " batch"]) -> "Outline":
        """The same with durations that are spread evenly over so many frames."""
        return self._lasting(even_alignment(lengths, self.counts, self.durations.shape[1]))

    def aligned(self, frames: Float[Tensor, "batch frame feature"], lengths: Int[Tensor, " batch"]) -> "Outline":
        """The same with the durations that a recording has: each frame of it is put to the part that is most like it.

        Args:
            frames: what was recorded; zeros behind.
            lengths: (batch,) how many frames are real.
        """
        # The two may be of different types of numbers, and those of 16 bits have no distances.
        kind = torch.promote_types(torch.promote_types(frames.dtype, self.frames.dtype), torch.float32)
        costs = torch.cdist(frames.to(kind), self.frames.detach().to(kind), p=1.0)
        return self._lasting(monotonic_alignment(costs, lengths, self.counts))

    def _lasting(self, durations: Tensor) -> "Outline":
        return Outline(durations.to(self.durations), self.frames, self.counts, self.per_item)


class Outliner(nn.Module):
    """Reads off the vectors of a source how long each part of it lasts, and which frame stands for it.

    A hidden Markov model from left to right, whose states are the parts. Nobody need say where in a recording an item
    begins: the recording is aligned to the frames that the model expects, and these are learned from what was aligned
    to them, in turns, from an even spread on.

    Args:
        width: the size of the source's vectors.
        features: the size of a frame.
        per_item: how many parts a source item has.
        rate: how many source items go by in one frame before anything is learned.

    Raises:
        ArgumentError: sizes or a rate that can't be.

    Source: Kim et al. 2020, "Glow-TTS" (arXiv 2005.11129), sections 3.1 and 3.2, with distances instead of a flow; the
        notes, 004 "Guided attention".

    Example:
        >>> outline = Outliner(4, features=3, per_item=2, rate=0.5)(torch.zeros(1, 3, 4), torch.tensor([2]))
        >>> outline.durations.tolist(), outline.frames.shape
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

    def forward(self, vectors: Float[Tensor, "batch length width"], lengths: Int[Tensor, " batch"]) -> Outline:
        """The outline of sources so long."""
        # One at a score of 0; softplus never gives a part no time at all.
        times = softplus(self.duration(vectors) + math.log(math.e - 1)) / (self.rate * self.per_item)
        counts = lengths * self.per_item
        # (batch length part) -> (batch length*part)
        times, frames = times.flatten(1), self.frame(vectors).unflatten(2, (self.per_item, self.features)).flatten(1, 2)
        real = torch.arange(times.shape[1], device=times.device) < counts.unsqueeze(1)
        return Outline(times.where(real, 0.0), frames, counts, self.per_item)
