"""Datasets of speech synthesis: sources with the frames of their sounds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import ArgumentError
from regard.inputs import Batch, Sound, SpeechFrames, read_sound
from regard.tasks.examples import Pair, as_pairs
from regard.tasks.sources import Source
from regard.tasks.synthesis.target import SpeechTarget

__all__ = ["SpeechBatch", "SpeechDataset", "as_spoken", "frames_of"]


class SpeechBatch(NamedTuple):
    """A batch of examples.

    Args:
        sources: the sources.
        steps: the target steps of each sound; zeros at padding.
        counts: the number of frames of each sound; the rest of its last step is padding.
    """

    sources: Batch
    steps: Float[Tensor, "source step feature"]
    counts: Int[Tensor, " source"]

    def to(self, device: Any) -> "SpeechBatch":
        """The batch on another device."""
        return SpeechBatch(self.sources.to(device), self.steps.to(device), self.counts.to(device))

    def frames(self, together: int) -> Float[Tensor, "source frame band"]:
        """The steps, split into frames."""
        return self.steps.unflatten(2, (together, -1)).flatten(1, 2)

    def real(self, together: int) -> Bool[Tensor, "source frame"]:
        """Whether each frame is real, not padding."""
        places = torch.arange(self.steps.shape[1] * together, device=self.counts.device)
        return places < self.counts.unsqueeze(1)

    def ends(self, together: int) -> Int[Tensor, " source"]:
        """The index of the last step of each sound."""
        return (self.counts - 1).div(together, rounding_mode="floor")


class SpeechDataset:
    """Encoded examples of train or dev. Examples whose source has no items are left out.

    Args:
        source: the kind of source.
        encoder: the encoder of the sources.
        speech: the target, which makes steps of frames.
        items: the encoded sources.
        spoken: the frames of the sound of each.
    """

    def __init__(
        self, source: Source, encoder: Any, speech: SpeechTarget, items: Sequence[Any], spoken: Sequence[Tensor]
    ):
        kept = [index for index, item in enumerate(items) if len(item)]
        self._source, self.encoder, self.speech = source, encoder, speech
        self._items = [items[index] for index in kept]
        self._counts = [len(spoken[index]) for index in kept]
        self._steps = [speech.steps(spoken[index]) for index in kept]
        self.lengths = [max(len(item), len(steps)) for item, steps in zip(self._items, self._steps, strict=True)]

    @property
    def longest(self) -> int:
        """The number of items in the longest source."""
        return max(self.source_lengths)

    @property
    def source_lengths(self) -> list[int]:
        """The number of items in each source."""
        return [len(item) for item in self._items]

    def batch(self, members: Sequence[int]) -> SpeechBatch:
        """Make a batch of some of the examples."""
        batch = self._source.batch(self.encoder, [self._items[index] for index in members])
        steps = torch.nn.utils.rnn.pad_sequence([self._steps[index] for index in members], batch_first=True)
        return SpeechBatch(batch, steps, torch.tensor([self._counts[index] for index in members]))


def as_spoken(examples: Any, *, argument: str = "examples") -> list[Pair]:
    """Check pairs of a source and a sound; a sound is a `Sound` or the path of a recording, which becomes a `Path`.

    Raises:
        ArgumentError: there are no pairs, or one has another form.

    Example:
        >>> as_spoken([("seven", "7.wav")])
        [('seven', PosixPath('7.wav'))]
    """
    pairs = as_pairs(examples, argument=argument)
    if not pairs:
        raise ArgumentError(f"`{argument}` must hold at least one example, but holds none.")
    for place, (_, target) in enumerate(pairs):
        if not isinstance(target, Sound | Path | str):
            raise ArgumentError(
                f"the target of `{argument}[{place}]` must be a Sound or the path of a recording, but is "
                f"{target!r:.60}."
            )
    return [(source, Path(target) if isinstance(target, str) else target) for source, target in pairs]


def frames_of(frames: SpeechFrames, pairs: Sequence[Pair], *, argument: str = "examples") -> list[Tensor]:
    """The frames of each pair's sound.

    Raises:
        ArgumentError: a sound of 0 seconds, from which nothing can be learned.
        DataError: a recording that can't be read.
    """
    found: list[Tensor] = []
    for place, (_, target) in enumerate(pairs):
        found.append(frames.frames(target if isinstance(target, Sound) else read_sound(target)))
        if not len(found[-1]):
            raise ArgumentError(f"the target of `{argument}[{place}]` must be a sound, but has no samples.")
    return found
