"""The target of speech synthesis: steps of standardised filter banks, and the sound made from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from regard.errors import ArgumentError
from regard.inputs import Sound, SpeechFrames, Standardise
from regard.inputs.sound.speech_frames import LOUDEST
from regard.tasks.judging.measure import Measure
from regard.tasks.saving.saved_target import SavedTarget, check_positive
from regard.tasks.synthesis.settings import SynthesisSettings

__all__ = ["DECIBELS", "FRAME_ERROR", "SpeechTarget"]

DECIBELS = 10 / torch.log(torch.tensor(10.0, dtype=torch.float64)).item()
"""The number of decibels in one unit of the natural logarithm of power."""

FRAME_ERROR = Measure("error in dB", falls=True, digits=3)
"""The mean distance of the bands of generated and recorded frames, after alignment (`evaluation.warped_error`)."""


@dataclass(frozen=True, eq=False)
class SpeechTarget(SavedTarget):
    """A sound as steps of standardised log-mel frames.

    Args:
        frames: converts a sound to log-mel frames and back.
        standard: the mean and standard deviation of each band in training.
        together: the number of frames in one step.
        rate: the number of source items for one step in training: the initial pace of a duration plan.

    Example:
        >>> spoken = [torch.tensor([[0.0], [2.0], [4.0]])]
        >>> speech = SpeechTarget.fit(SynthesisSettings(filters=1, together=2), spoken, source_items=1)
        >>> speech.steps(spoken[0])
        tensor([[-1.2247,  0.0000],
                [ 1.2247,  0.0000]])
        >>> speech.rate
        0.5
    """

    frames: SpeechFrames
    standard: Standardise
    together: int
    rate: float

    kind: ClassVar[str] = "speech"

    def __post_init__(self) -> None:
        check_positive("rate", self.rate)
        if type(self.together) is not int or self.together < 1:
            raise ArgumentError(f"`together` must be an integer, 1 or more, but is {self.together!r:.60}.")
        if self.standard.width != self.frames.width:
            raise ArgumentError(f"`standard` must be of {self.frames.width} bands, but is of {self.standard.width}.")

    @classmethod
    def fit(
        cls, task: SynthesisSettings, spoken: Sequence[Float[Tensor, "frame band"]], *, source_items: int
    ) -> "SpeechTarget":
        """Learn the bands of the training sounds.

        Args:
            task: the settings, with the number of filters and of frames in a step.
            spoken: the frames of the training sounds, from `task.frames()`.
            source_items: the total number of items in the training sources.
        """
        steps = sum(-(-len(each) // task.together) for each in spoken)
        return cls(task.frames(), Standardise.fit(spoken), task.together, max(1, source_items) / max(1, steps))

    @property
    def width(self) -> int:
        """The size of a step."""
        return self.together * self.frames.width

    @property
    def seconds(self) -> float:
        """The duration of a step."""
        return self.together * self.frames.step / self.frames.rate

    @property
    def description(self) -> str:
        """The target in a few words."""
        return f"sounds of {self.frames.rate:,} Hz"

    def steps(self, spoken: Float[Tensor, "frame band"]) -> Float[Tensor, "step feature"]:
        """Standardise frames and join them to steps; the last step is padded with zeros."""
        missing = -len(spoken) % self.together
        return pad(self.standard.apply(spoken), (0, 0, 0, missing)).reshape(-1, self.width)

    def sound(self, steps: Float[Tensor, "step feature"]) -> Sound:
        """Convert generated steps to a sound.

        Raises:
            MissingExtraError: the library `librosa` is not installed.
        """
        spoken = self.standard.undo(steps.float().cpu().reshape(-1, self.frames.width))
        # The output of a network may be outside the range of real sounds.
        return self.frames.to_sound(spoken.clamp(max=LOUDEST))
