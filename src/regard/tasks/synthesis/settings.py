"""The settings of speech synthesis in a recipe."""

from dataclasses import dataclass
from typing import ClassVar

from regard.inputs import SpeechFrames
from regard.tasks.architectures import SOUND_NETWORKS
from regard.tasks.architectures.architecture import Architectures
from regard.tasks.settings import Settings, fraction, integer, real, real_or_none

__all__ = ["SynthesisSettings"]


@dataclass(frozen=True)
class SynthesisSettings(Settings):
    """A sound for each source; the model decides its length. It predicts filter banks, which Griffin-Lim inverts.

    The recipe's `layers` are those of the encoder, and so is `mask`; `network` has no effect.

    Args:
        rate: samples per second of the sound.
        filters: number of mel bands in a frame of 10 ms.
        together: number of frames in a decoder step.
        decoder_layers: number of decoder layers.
        frame_dropout: dropout, in training, on the previous step that the decoder receives: a decoder that relies too
            much on its last step repeats it instead of reading on.
        own: scheduled sampling: the fraction of previous steps, in the last epoch, that are the model's own predictions
            instead of the true ones. It rises from 0 in the first epoch: a model that receives only its own predictions
            doesn't find its position in the source.
        guide: how far, as a fraction of the source, each step may attend to either side of its position; None:
            anywhere, and the network isn't told its position.
        parts: with a guide: the number of parts, from beginning to end, that each item of the source is divided into.
        longest, spare: a sound has at most `longest` x the number of source items + `spare` seconds.

    Raises:
        ArgumentError: a value of the wrong type or outside its range.
    """

    kind: ClassVar[str] = "synthesis"
    architectures: ClassVar[Architectures] = SOUND_NETWORKS

    rate: int = integer(8000, 2000, 192_000)
    filters: int = integer(40, 1, 128)
    together: int = integer(4, 1, 100)
    decoder_layers: int = integer(2, 1, 1000)
    frame_dropout: float = fraction(0.5)
    own: float = fraction(0.5)
    guide: float | None = real_or_none(0.0)
    parts: int = integer(5, 1, 100)
    longest: float = real(1.0, 0.0)
    spare: float = real(1.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        # Invalid combinations are refused here.
        self.frames()

    def frames(self) -> SpeechFrames:
        """Converts sounds to frames and back."""
        return SpeechFrames(rate=self.rate, filters=self.filters, normalise=False)
