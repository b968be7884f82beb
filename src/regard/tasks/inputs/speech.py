"""Recordings: frames of 25 ms every 10 ms, as filter banks, cepstra or samples."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.inputs import FEATURES, Sound, SpeechFrames, read_sound
from regard.tasks.inputs.source import Source
from regard.tasks.inputs.vectors import VectorEmbedding
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
        together: so many frames are one vector: a third of the items for 3. What is left at the end has zeros behind.
        frame_dropout: the share of frames that are left blank during training, five neighbours at a time.
        band_dropout: up to so many neighbouring numbers of a vector are left blank in all frames.

    Raises:
        ArgumentError: a value of the wrong type or outside its range.
    """

    kind: ClassVar[str] = "speech"
    noun: ClassVar[str] = "frame"

    features: str = one_of("filterbank", *FEATURES)
    rate: int = whole(8000, 2000, 192_000)
    filters: int = whole(40, 1, 128)
    coefficients: int = whole(13, 1, 128)
    deltas: bool = truth(False)
    normalise: bool = truth(True)
    together: int = whole(1, 1, 100)
    frame_dropout: float = share(0.1)
    band_dropout: int = whole(8, 0)

    def __post_init__(self) -> None:
        super().__post_init__()
        # What can't be together is refused here.
        self._frames()

    def fit(self, sources: Iterable[Any]) -> SpeechFrames:
        return self._frames()

    def reader(self, saved: Any) -> SpeechFrames:
        return SpeechFrames.from_json(saved)

    def item(self, reader: SpeechFrames, source: Any) -> Float[Tensor, "item width"]:
        if isinstance(source, str | Path):
            source = read_sound(source)
        if not isinstance(source, Sound):
            raise ArgumentError(f"a source must be the path of a recording or a Sound, but is {source!r:.60}.")
        frames = reader.frames(source)
        missing = -len(frames) % self.together
        return nn.functional.pad(frames, (0, 0, 0, missing)).reshape(-1, self.together * reader.width)

    def embedding(self, reader: SpeechFrames, width: int) -> nn.Module:
        return VectorEmbedding(
            self.together * reader.width,
            width,
            item_dropout=self.frame_dropout,
            span=5,
            feature_span=self.band_dropout,
        )

    def names(self, reader: SpeechFrames, source: Any) -> list[str]:
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
