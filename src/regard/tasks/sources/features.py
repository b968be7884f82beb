"""Features of recordings: frames, standardised as in training, and augmented in training."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import ArgumentError
from regard.inputs import Sound, SpeechFrames, Standardise
from regard.inputs.saved import Saved
from regard.tasks.sources.vectors import VectorEmbedding

__all__ = ["SpeechEmbedding", "SpeechEncoder"]


@dataclass(frozen=True)
class SpeechEncoder(Saved):
    """The frames of a recording.

    Args:
        frames: makes them.
        standard: scales their numbers; None leaves them as they are.
    """

    json_name: ClassVar[str] = "reader"

    frames: SpeechFrames
    standard: Standardise | None = None

    def vectors(self, sound: Sound, *, warp: float = 1.0) -> Float[Tensor, "frame feature"]:
        """The vectors of a sound, 100 a second; `warp` as in `SpeechFrames.frames`."""
        vectors = self.frames.frames(sound, warp=warp)
        return vectors if self.standard is None else self.standard.apply(vectors)

    @classmethod
    def from_json(cls, saved: Any) -> Self:
        if not isinstance(saved, dict) or saved.keys() != cls.json_keys().keys():
            raise ArgumentError(f"`reader` must be an object of frames and standard, but is {saved!r:.60}.")
        return super().from_json(saved)


class SpeechEmbedding(VectorEmbedding):
    """A linear map of frames, some of them together.

    Args:
        size: of a frame.
        width: of the results.
        together: how many frames make one vector.
        frame_dropout: the share of frames that are zeros in training, five neighbours at a time.
        band_dropout: in training up to so many neighbouring numbers, the same in all frames of a source, are zeros.
        stretch: in training each source is heard faster or slower by up to this share; what no longer fits in at the
            end is not heard.

    Source: Park et al. 2019, SpecAugment (arXiv 1904.08779), section 2; Ko et al. 2015, Audio augmentation for speech
    recognition (Interspeech), section 2.2, for speed.
    """

    def __init__(
        self, size: int, width: int, *, together: int, frame_dropout: float, band_dropout: int, stretch: float
    ):
        super().__init__(
            together * size,
            width,
            item_dropout=frame_dropout,
            span=5 if frame_dropout else 1,
            feature_span=band_dropout,
        )
        self.together, self.stretch = together, stretch

    def blanked(self, vectors: Float[Tensor, "batch length size"]) -> Float[Tensor, "batch length size"]:
        """The frames with what training changes in them."""
        batch, length, size = vectors.shape
        frames = vectors.reshape(batch, length * self.together, size // self.together)
        if self.stretch:
            frames = self._stretched(frames)
        return super().blanked(frames).reshape(batch, length, size)

    def _stretched(self, frames: Float[Tensor, "batch frame feature"]) -> Float[Tensor, "batch frame feature"]:
        """Each source with frames between its own: the n-th is what stood at n times its speed."""
        count, device = frames.shape[1], frames.device
        speed = 1 + self.stretch * (2 * torch.rand(len(frames), 1, device=device) - 1)
        places = torch.arange(count, device=device) * speed
        first = places.long()
        # Behind the end there is nothing, twice: one for the last frame to be between, one for all places behind it.
        padded = torch.nn.functional.pad(frames, (0, 0, 0, 2))
        before, after = (
            padded.take_along_dim(at.clamp(max=count + 1).unsqueeze(-1), dim=1) for at in (first, first + 1)
        )
        return torch.lerp(before, after, (places - first).unsqueeze(-1).to(frames.dtype))
