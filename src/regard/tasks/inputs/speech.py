"""Recordings: frames of 25 ms every 10 ms, as filter banks, cepstra or samples."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.inputs import FEATURES, Sound, SpeechFrames, Standardise, read_sound
from regard.tasks.inputs.heard import HeardFrames, SpeechEmbedding
from regard.tasks.inputs.source import Source
from regard.tasks.settings import one_of, share, truth, whole

__all__ = ["Speech"]


@dataclass(frozen=True)
class Speech(Source):
    """Sources that are recordings: the paths of sound files, or `Sound`s.

    Args:
        features: what the vector of a frame holds, a name in `inputs.FEATURES`.
        rate: samples a second that every recording is brought to.
        filters: how many bands of pitch.
        coefficients: how many cepstra, for "mfcc".
        deltas: whether their changes stand beside them.
        normalise: whether each recording is shifted and scaled to mean 0 and variance 1.
        standardise: whether each number is scaled by the mean and the spread that it has in all of training: other than
            `normalise` it leaves what a voice and a microphone sound like.
        together: so many frames are one vector: a third of the items for 3. What is left at the end has zeros behind.
        frame_dropout: the share of frames that are left blank during training, five neighbours at a time.
        band_dropout: up to so many neighbouring numbers of a frame are left blank in all frames.
        stretch: in training each recording is heard faster or slower by up to this share.

    Raises:
        ArgumentError: a value of the wrong type or outside its range.
    """

    kind: ClassVar[str] = "speech"
    noun: ClassVar[str] = "frame"
    called: ClassVar[str] = "recording"
    given: ClassVar[str] = "file"

    features: str = one_of("filterbank", *FEATURES)
    rate: int = whole(8000, 2000, 192_000)
    filters: int = whole(40, 1, 128)
    coefficients: int = whole(13, 1, 128)
    deltas: bool = truth(False)
    normalise: bool = truth(True)
    standardise: bool = truth(False)
    together: int = whole(1, 1, 100)
    frame_dropout: float = share(0.1)
    band_dropout: int = whole(8, 0)
    stretch: float = share(0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        # What can't be together is refused here.
        self._frames()

    def fit(self, sources: Iterable[Any]) -> HeardFrames:
        plain = HeardFrames(self._frames())
        if not self.standardise:
            return plain
        return HeardFrames(plain.frames, Standardise.fit([plain.vectors(_sound(source)) for source in sources]))

    def reader(self, saved: Any) -> HeardFrames:
        return HeardFrames.from_json(saved)

    def item(self, reader: HeardFrames, source: Any) -> Float[Tensor, "item width"]:
        frames = reader.vectors(_sound(source))
        missing = -len(frames) % self.together
        return nn.functional.pad(frames, (0, 0, 0, missing)).reshape(-1, self.together * frames.shape[1])

    def embedding(self, reader: HeardFrames, width: int) -> nn.Module:
        return SpeechEmbedding(
            reader.frames.width,
            width,
            together=self.together,
            frame_dropout=self.frame_dropout,
            band_dropout=self.band_dropout,
            stretch=self.stretch,
        )

    def names(self, reader: HeardFrames, source: Any) -> list[str]:
        step = 0.01 * self.together
        return [f"{place * step:.2f} s" for place in range(len(self.item(reader, source)))]

    def _frames(self) -> SpeechFrames:
        return SpeechFrames(
            features=self.features,
            rate=self.rate,
            filters=self.filters,
            coefficients=self.coefficients,
            deltas=self.deltas,
            normalise=self.normalise,
        )


def _sound(source: Any) -> Sound:
    if isinstance(source, str | Path):
        source = read_sound(source)
    if not isinstance(source, Sound):
        raise ArgumentError(f"a source must be the path of a recording or a Sound, but is {source!r:.60}.")
    return source
