"""What a recipe says of speech synthesis."""

from dataclasses import dataclass
from typing import ClassVar

from regard.inputs import SpeechFrames
from regard.tasks.settings import Settings, fraction, integer, real, real_or_none

__all__ = ["SynthesisSettings"]


@dataclass(frozen=True)
class SynthesisSettings(Settings):
    """A sound for each source, of a length that the model decides: filter banks, heard through Griffin-Lim.

    The recipe's `layers` read; `network` plays no part.

    Args:
        rate: samples a second of what is said.
        filters: how many bands of pitch a frame of 10 ms has.
        together: so many frames are said at a step.
        decoder_layers: how many layers speak.
        frame_dropout: the share dropped, in training, of what a frame becomes before the decoder hears it: one that
            hears too well what it has said repeats it instead of reading on.
        own: the share of steps that the decoder hears, in the last epoch, as it would have said them itself, not as
            they truly were: else it never learns to go on from what it says. It rises from 0 in the first, as who only
            hears itself doesn't find its place in the source.
        guide: how far, as a share of the source, each step may look to either side of where it is; None: anywhere, and
            the net is not told where it is.
        parts: with a guide, how many parts of a sound each item of the source is, from its beginning to its end.
        longest, spare: a sound has at most `longest` x the items of its source + `spare` seconds.

    Raises:
        ArgumentError: a value of the wrong type or outside its range.
    """

    kind: ClassVar[str] = "synthesis"

    rate: int = integer(8000, 2000, 192_000)
    filters: int = integer(40, 1, 128)
    together: int = integer(4, 1, 100)
    decoder_layers: int = integer(2, 1)
    frame_dropout: float = fraction(0.5)
    own: float = fraction(0.5)
    guide: float | None = real_or_none(0.0)
    parts: int = integer(5, 1, 100)
    longest: float = real(1.0, 0.0)
    spare: float = real(1.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        # What can't be together is refused here.
        self.frames()

    def frames(self) -> SpeechFrames:
        """What a sound is made of, and back."""
        return SpeechFrames(rate=self.rate, filters=self.filters, normalise=False)
