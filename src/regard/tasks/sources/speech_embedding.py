"""The encoder and the embedding of recordings: standardised frames, augmented in training."""

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
    """Encodes a recording as frames.

    Args:
        frames: computes the frames.
        standard: standardises their features; None: no standardisation.
    """

    json_name: ClassVar[str] = "reader"

    frames: SpeechFrames
    standard: Standardise | None = None

    def vectors(self, sound: Sound, *, warp: float = 1.0) -> Float[Tensor, "frame feature"]:
        """The vectors of a sound, 100 per second; `warp` is as in `SpeechFrames.frames`."""
        vectors = self.frames.frames(sound, warp=warp)
        return vectors if self.standard is None else self.standard.apply(vectors)

    @classmethod
    def from_json(cls, saved: Any) -> Self:
        if not isinstance(saved, dict) or saved.keys() != cls.json_keys().keys():
            raise ArgumentError(f"`reader` must be an object of frames and standard, but is {saved!r:.60}.")
        return super().from_json(saved)


class SpeechEmbedding(VectorEmbedding):
    """A linear map of groups of frames.

    Args:
        size: the size of a frame.
        width: the size of the results.
        together: the number of frames in one vector.
        frame_dropout: the fraction of frames that are set to zero in training, five neighbours at a time.
        band_dropout: in training, up to this many neighbouring features are set to zero, the same in all frames of a
            source.
        stretch: in training, the speed of each source is changed by up to this fraction; frames beyond its original
            length are cut off.

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
        """Augment the frames, as in training."""
        batch, length, size = vectors.shape
        frames = vectors.reshape(batch, length * self.together, size // self.together)
        if self.stretch:
            frames = self._stretched(frames)
        return super().blanked(frames).reshape(batch, length, size)

    def _stretched(self, frames: Float[Tensor, "batch frame feature"]) -> Float[Tensor, "batch frame feature"]:
        """Change the speed of each source by linear interpolation: frame n is taken from position n * speed."""
        count, device = frames.shape[1], frames.device
        speed = 1 + self.stretch * (2 * torch.rand(len(frames), 1, device=device) - 1)
        places = torch.arange(count, device=device) * speed
        first = places.long()
        # Two frames of zeros after the end: one to interpolate the last frame with, one for all positions beyond.
        padded = torch.nn.functional.pad(frames, (0, 0, 0, 2))
        before, after = (
            padded.take_along_dim(at.clamp(max=count + 1).unsqueeze(-1), dim=1) for at in (first, first + 1)
        )
        return torch.lerp(before, after, (places - first).unsqueeze(-1).to(frames.dtype))
