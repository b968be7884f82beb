"""Recordings: frames of 25 ms every 10 ms, as filter banks, cepstra or samples."""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.datasets import PICTURES, SOUNDS
from regard.errors import ArgumentError, MissingExtraError
from regard.inputs import FEATURES, Batch, Sound, SpeechFrames, Standardise, item_statistics, read_sound, resample
from regard.inputs.saved import Saved
from regard.inputs.sound.sound_augmentation import (
    with_random_clipping,
    with_random_filter,
    with_random_gain,
    with_random_noise,
    with_random_speed,
)
from regard.tasks.settings import boolean, fraction, integer, one_of, real, real_or_none
from regard.tasks.sources.source import Source
from regard.tasks.sources.vectors import VectorEmbedding
from regard.tasks.targets import Regression

if TYPE_CHECKING:
    from regard.inspection import DrawnSound
    from regard.tasks.linear_part import LinearPart

__all__ = ["Speech", "SpeechEmbedding", "SpeechEncoder"]


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


# Volume, noise, microphone and voice don't change a label or a text; a number may measure one of them.
_AUGMENTED = {
    "normalise": False,
    "standardise": True,
    "top_db": 50,
    "noise_snr": 10.0,
    "filter_db": 6.0,
    "clip_db": 20.0,
    "vtlp": 0.1,
}
# What is so many dB below the loudest moment is drawn as silence.
_DRAWN_DB = 80


@dataclass(frozen=True, eq=False)
class _Recording:
    """A recording that is augmented in each batch, and the number of its items."""

    sound: Sound
    count: int

    def __len__(self) -> int:
        return self.count


@dataclass(frozen=True)
class Speech(Source):
    """Sources that are recordings: the paths of sound files, or `Sound`s.

    Args:
        features: the features of a frame, a name in `inputs.FEATURES`.
        rate: the sampling rate to which every recording is resampled.
        filters: the number of mel filters.
        coefficients: the number of cepstral coefficients, for "mfcc".
        deltas: whether the differences over time are appended to the features.
        normalise: whether each recording is normalised to mean 0 and variance 1.
        standardise: whether each feature is standardised by its mean and standard deviation in all of training. Unlike
            `normalise`, this keeps the characteristics of a voice and a microphone.
        together: the number of frames that are joined to one item; the last item is padded with zeros.
        frame_dropout: the fraction of frames that are set to zero in training, five neighbours at a time.
        band_dropout: in training, up to this many neighbouring features are set to zero in all frames.
        stretch: augmentation: changes the speed of each recording by up to this fraction. 0: none.
        speed: augmentation: plays each recording up to 1 + this times as fast, or as slow, at its pitch: its frames are
            interpolated. Unlike `stretch`, it cuts nothing off, so that a text stays that of the whole recording. 0:
            none.
        top_db: power is relative to the maximum of the recording, and values more than this many dB below it are
            clipped. The vectors then don't depend on the volume. 0: absolute power.
        gain_db: augmentation: applies a gain that varies over time, by up to this many dB up or down. 0: none. With
            `top_db`, it teaches a model to recognise what is much quieter than the loudest moment.
        noise_snr: augmentation: adds noise of a random colour, at a random signal-to-noise ratio of at least this many
            dB. None: no noise.
        noise_probability: the probability that a recording gets noise. If some recordings stay clean, the model can
            still learn that pauses are silent.
        filter_db: augmentation: applies a random filter with a gain of up to this many dB, and often limits the band.
            0: no filter.
        clip_db: augmentation: clips half of the recordings, up to this many dB below their loudest sample. 0: none.
        vtlp: augmentation: warps the frequencies by up to this fraction (vocal tract length perturbation). 0: none.
        linear: of a classifier: whether a linear model stands beside the network (`tasks.linear_features`), of the mean
            of the items and of `inputs.item_statistics`. It is fitted to the recordings as they are, without
            augmentation.

    Raises:
        ArgumentError: a value of the wrong type or outside its range.
    """

    kind: ClassVar[str] = "speech"
    noun: ClassVar[str] = "frame"
    source_noun: ClassVar[str] = "recording"
    given: ClassVar[str] = "the path of a recording, or a `Sound`"
    vectors: ClassVar[str] = "100 frames a second: filter banks, cepstra or samples"
    argument: ClassVar[str] = "file"
    example: ClassVar[str] = '"recording.wav"'
    limits: ClassVar[str] = "It knows the voices, the words and the microphones of its data, and no others."
    encoding: ClassVar[str] = (
        "A recording is one channel at the sampling rate of `frames`; each frame of 25 ms, every 10 ms, becomes the "
        "logarithms of the power in mel bands, which are standardised, and neighbouring frames are joined to one item."
    )
    modalities: ClassVar[Mapping[str, int]] = {"sound": 3}
    recognised_by: ClassVar[str] = "the endings of the file names"
    defaults: ClassVar[Mapping[str, Any]] = {
        "width": 64,
        "hidden": 128,
        "attention_dropout": 0.0,
        "position": "rotary",
        "learning_rate": 2e-3,
        "average": 0.98,
    }

    features: str = one_of("filterbank", *FEATURES)
    rate: int = integer(8000, 2000, 192_000)
    filters: int = integer(40, 1, 128)
    coefficients: int = integer(13, 1, 128)
    deltas: bool = boolean(False)
    normalise: bool = boolean(True)
    standardise: bool = boolean(False)
    together: int = integer(1, 1, 100)
    frame_dropout: float = fraction(0.1)
    band_dropout: int = integer(8, 0)
    stretch: float = fraction(0.0)
    top_db: int = integer(0, 0, 200)
    gain_db: float = real(0.0, 0.0, 60.0)
    noise_snr: float | None = real_or_none(-100.0)
    noise_probability: float = real(1.0, 0.0, 1.0)
    filter_db: float = real(0.0, 0.0, 60.0)
    clip_db: float = real(0.0, 0.0, 60.0)
    vtlp: float = fraction(0.0)
    speed: float = fraction(0.0)
    linear: bool = boolean(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        # Invalid combinations are refused here.
        self._frames()
        if self.vtlp and self.features == "samples":
            raise ArgumentError(
                f"`vtlp` is for features 'filterbank' and 'mfcc'; of 'samples' it must be 0, not {self.vtlp}."
            )

    @classmethod
    def suits(cls, source: Any) -> int:
        if isinstance(source, Path):
            # The library reads more file formats than those listed.
            ending = source.suffix.lower()
            return 3 if ending in SOUNDS else 0 if ending in PICTURES else 2
        return 3 if isinstance(source, Sound) else 0

    @classmethod
    def fitted(cls, pairs: Sequence[tuple[Any, Any]]) -> Mapping[str, Any]:
        return {} if any(_measures(target) for _, target in pairs) else {"input": _AUGMENTED}

    def fit(self, sources: Iterable[Any]) -> SpeechEncoder:
        plain = SpeechEncoder(self._frames())
        if not self.standardise:
            return plain
        return SpeechEncoder(plain.frames, Standardise.fit([plain.vectors(_sound(source)) for source in sources]))

    def encoder(self, saved: Any) -> SpeechEncoder:
        return SpeechEncoder.from_json(saved)

    def item(self, encoder: SpeechEncoder, source: Any) -> Float[Tensor, "item width"]:
        return self._together(encoder.vectors(_sound(source)))

    def training_item(self, encoder: SpeechEncoder, source: Any) -> Any:
        if not self._augments:
            return self.item(encoder, source)
        sound = _sound(source)
        return _Recording(resample(Sound(sound.mono[None], sound.rate), self.rate), self._count(sound))

    def joined(self, one: Any, other: Any) -> Any:
        """Two recordings for training, one after the other."""
        if not isinstance(one, _Recording):
            return torch.cat([one, other])
        samples = torch.cat([one.sound.samples, other.sound.samples], dim=1)
        return _Recording(Sound(samples, self.rate), len(one) + len(other))

    def batch(self, encoder: SpeechEncoder, items: Sequence[Any]) -> Batch:
        items = [self._augmented(encoder, item) if isinstance(item, _Recording) else item for item in items]
        batch = super().batch(encoder, items)
        return replace(batch, whole=torch.stack([*map(item_statistics, items)])) if self.linear else batch

    def _augmented(self, encoder: SpeechEncoder, kept: "_Recording") -> Float[Tensor, "item width"]:
        """Augment a recording at random, and encode it."""
        samples = kept.sound.samples[0]
        if self.gain_db:
            samples = with_random_gain(samples, self.rate, self.gain_db)
        if self.noise_snr is not None and self._draws_noise():
            samples = with_random_noise(samples, self.noise_snr)
        if self.filter_db:
            samples = with_random_filter(samples, self.rate, self.filter_db)
        if self.clip_db:
            samples = with_random_clipping(samples, self.clip_db)
        warp = 1 + self.vtlp * (2 * float(torch.rand(())) - 1)
        vectors = encoder.vectors(Sound(samples[None], self.rate), warp=warp)
        return self._together(with_random_speed(vectors, self.speed) if self.speed else vectors)

    def _draws_noise(self) -> bool:
        return self.noise_probability == 1 or float(torch.rand(())) < self.noise_probability

    @property
    def _augments(self) -> bool:
        changes = (self.gain_db, self.filter_db, self.clip_db, self.vtlp, self.speed)
        return self.noise_snr is not None or any(change > 0 for change in changes)

    def _together(self, frames: Float[Tensor, "frame feature"]) -> Float[Tensor, "item width"]:
        missing = -len(frames) % self.together
        return nn.functional.pad(frames, (0, 0, 0, missing)).reshape(-1, self.together * frames.shape[1])

    def random_items(self, encoder: SpeechEncoder, lengths: Sequence[int]) -> list[Float[Tensor, "item width"]]:
        draws = torch.Generator().manual_seed(0)
        samples = (torch.rand(length * self.together * self.rate // 100, generator=draws) - 0.5 for length in lengths)
        return [self.item(encoder, Sound(each[None], self.rate)) for each in samples]

    def encoder_file(self, encoder: SpeechEncoder) -> str | None:
        return None if encoder.frames.features == "mfcc" else "speech"

    def numpy_example(self, encoder: SpeechEncoder) -> str:
        return f"np.zeros({encoder.frames.rate}, np.float32)"

    def embedding(self, encoder: SpeechEncoder, width: int) -> nn.Module:
        return SpeechEmbedding(
            encoder.frames.width,
            width,
            together=self.together,
            frame_dropout=self.frame_dropout,
            band_dropout=self.band_dropout,
            stretch=self.stretch,
        )

    def linear_part(self, encoder: SpeechEncoder, outputs: int) -> "LinearPart | None":
        if not self.linear:
            return None
        from regard.tasks.linear_features import LinearFeatures

        size = self.together * encoder.frames.width
        return LinearFeatures(size, len(item_statistics(torch.zeros(0, size))), outputs)

    def linear_inputs(self, encoder: SpeechEncoder, items: Sequence[Any]) -> Iterator[Batch]:
        # Of a few dozen recordings, augmented ones tell less; the network learns from those.
        return (self.batch(encoder, [self._plain(encoder, item)]) for item in items)

    def linear_key(self, encoder: SpeechEncoder, item: Any) -> Hashable:
        return super().linear_key(encoder, self._plain(encoder, item))

    def _plain(self, encoder: SpeechEncoder, item: Any) -> Float[Tensor, "item width"]:
        """The items of a recording without augmentation."""
        return self._together(encoder.vectors(item.sound)) if isinstance(item, _Recording) else item

    def names(self, encoder: SpeechEncoder, source: Any) -> list[str]:
        step = 0.01 * self.together
        return [f"{place * step:.2f} s" for place in range(self._count(_sound(source)))]

    def drawn(self, encoder: SpeechEncoder, source: Any) -> "DrawnSound":
        from regard.inspection import DrawnSound

        sound = _sound(source)
        heard = resample(Sound(sound.mono[None], sound.rate), self.rate).samples[0].clamp(-1, 1)
        frames = SpeechFrames(rate=self.rate, filters=self.filters, normalise=False, top_db=_DRAWN_DB)
        try:
            # From 0 for the loudest down to the quietest that is drawn.
            loudness = 1 + frames.frames(sound) / (_DRAWN_DB / 10 * math.log(10))
        except MissingExtraError:
            # A model that reads samples needs no library for their spectrum.
            loudness = torch.zeros(0, 0)
        return DrawnSound(
            (heard * 32768).round().clamp(max=32767).to(torch.int16).numpy(),
            self.rate,
            0.01 * self.together,
            (255 * loudness.clamp(0, 1)).round().to(torch.uint8).numpy(),
        )

    def _count(self, sound: Sound) -> int:
        """The number of items of a recording."""
        return -(-SpeechFrames.count(sound) // self.together)

    def _frames(self) -> SpeechFrames:
        return SpeechFrames(
            features=self.features,
            rate=self.rate,
            filters=self.filters,
            coefficients=self.coefficients,
            deltas=self.deltas,
            normalise=self.normalise,
            top_db=self.top_db,
        )


def _sound(source: Any) -> Sound:
    if isinstance(source, str | Path):
        source = read_sound(source)
    if not isinstance(source, Sound):
        raise ArgumentError(f"a source must be the path of a recording or a Sound, but is {source!r:.60}.")
    return source


def _measures(target: Any) -> bool:
    """Whether a target is a number, or numbers for items; the answers 1 and 0 to questions don't count."""
    if isinstance(target, list | tuple):
        return any(isinstance(number, float) for number in target)
    return Regression.accepts(target)
