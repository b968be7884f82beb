"""Speech as a sequence of vectors: a frame of 25 ms every 10 ms, which is 100 vectors a second."""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import torch
from jaxtyping import Float, Float64
from torch import Tensor
from torch.nn.functional import pad

from regard.errors import ArgumentError, UnknownNameError
from regard.extras import require
from regard.inputs.saved import Saved, check_types
from regard.inputs.sound.sound import Sound, resample

__all__ = ["FEATURES", "LOUDEST", "SpeechFrames", "invert_mel"]

FEATURES = ("samples", "filterbank", "mfcc")
"""The features of a frame: its samples, the log power in each mel band, or its cepstrum."""

LOUDEST = 25.0
"""The maximum log power of a filter, at any sampling rate."""

_FLOOR = 1e-10  # the least power, to keep the logarithm of silence finite; about the rounding error of 16 bits
_MOST_TOP_DB = 200
_LEAST_SPREAD = 1e-5  # the least standard deviation to divide by; the step of 16 bits is 3e-5
_FRAMES_AT_ONCE = 6000  # transformed at once; spectra are wide, and a recording may last for hours
_RATES = range(2_000, 192_001, 400)


@dataclass(frozen=True)
class SpeechFrames(Saved):
    """Turns a sound into vectors: 100 frames a second, each of 25 ms.

    The channels are averaged and the sound is resampled to `rate`. Frame i represents the 10 ms from i/100 s to
    (i+1)/100 s; its window extends 7.5 ms further on each side, from i/100 s - 7.5 ms to i/100 s + 17.5 ms. Before the
    beginning and after the end there are zeros. The number of frames is the duration in seconds times 100, rounded up,
    computed in integers: 1 s is 100 frames and 60 s are 6,000 at any rate.

    | features | the vector of a frame |
    |---|---|
    | samples | the samples of the window, rate / 40 of them: 200 at 8,000 Hz |
    | filterbank | the natural logarithm of the power (at least 1e-10) in each of `filters` mel bands |
    | mfcc | the first `coefficients` of the discrete cosine transform of those logarithms; with `deltas`, also |
    | | their first and second derivatives (the slope of a line through five frames) |

    The power is that of the Fourier transform with a Hann window, zero-padded to a power of two.

    Args:
        features: one of `FEATURES`.
        rate: the sampling rate (Hz) that sounds are resampled to, a multiple of 400 from 2,000 to 192,000.
        filters: the number of mel bands, at most 128 and at most rate / 50; for "filterbank" and "mfcc".
        coefficients: the number of cepstral coefficients, at most `filters`; for "mfcc".
        deltas: whether derivatives follow the coefficients; for "mfcc".
        normalise: whether each recording is shifted and scaled to mean 0 and variance 1: each feature over all frames,
            or for "samples" all samples together. Constant features, as in silence, become zeros.
        top_db: measure power relative to the maximum of the recording over all frames and filters, and clip it to at
            most this many dB below, so that the features don't depend on the volume. 0: absolute power, at least 1e-10.
            For "filterbank" and "mfcc"; as in `librosa.power_to_db`.

    Raises:
        ArgumentError: a number out of range.

    Example:
        >>> hum = Sound(torch.sin(torch.arange(44100) / 44100 * 440 * 2 * torch.pi)[None], rate=44100)
        >>> SpeechFrames().frames(hum).shape, SpeechFrames("mfcc", deltas=True).frames(hum).shape
        (torch.Size([100, 40]), torch.Size([100, 39]))

    Source: the notes, 001; S. Davis and P. Mermelstein, 1980, "Comparison of parametric representations for
    monosyllabic word recognition in continuously spoken sentences"; the mel scale is that of Slaney's Auditory
    Toolbox, the deltas are those of the HTK Book, section 5.9.
    """

    json_name: ClassVar[str] = "frames"
    json_defaults: ClassVar[bool] = True

    features: str = "filterbank"
    rate: int = 8000
    filters: int = 40
    coefficients: int = 13
    deltas: bool = False
    normalise: bool = True
    top_db: int = 0

    def __post_init__(self) -> None:
        check_types(self)
        if self.features not in FEATURES:
            raise UnknownNameError("features", self.features, FEATURES)
        if self.rate not in _RATES:
            nearest = min(_RATES, key=lambda rate: abs(rate - self.rate))
            raise ArgumentError(
                f"`rate` must be a multiple of 400 from {_RATES[0]:,} to {_RATES[-1]:,}, so that 10 ms and 25 ms are "
                f"integer numbers of samples, but is {self.rate}. Sounds of any rate are resampled; take {nearest}."
            )
        most_filters = min(128, self.rate // 50)
        if not 1 <= self.filters <= most_filters:
            raise ArgumentError(
                f"`filters` must be from 1 to {most_filters} at {self.rate} Hz (with more, some would be empty), "
                f"but is {self.filters}."
            )
        if self.features == "mfcc" and not 1 <= self.coefficients <= self.filters:
            raise ArgumentError(
                f"`coefficients` must be from 1 to {self.filters}, the number of filters, but is {self.coefficients}."
            )
        if self.deltas and self.features != "mfcc":
            raise ArgumentError(f"`deltas` are for features 'mfcc' alone, but `features` is {self.features!r}.")
        if not 0 <= self.top_db <= _MOST_TOP_DB:
            raise ArgumentError(f"`top_db` must be from 0 (absolute) to {_MOST_TOP_DB}, but is {self.top_db}.")
        if self.top_db and self.features == "samples":
            raise ArgumentError("`top_db` is for features 'filterbank' and 'mfcc', but `features` is 'samples'.")

    @property
    def step(self) -> int:
        """The number of samples between the starts of two frames: 10 ms."""
        return self.rate // 100

    @property
    def window(self) -> int:
        """The number of samples in the window of a frame: 25 ms."""
        return self.rate // 40

    @property
    def width(self) -> int:
        """The size of a vector.

        Example:
            >>> [SpeechFrames(features).width for features in FEATURES]
            [200, 40, 13]
        """
        return {
            "samples": self.window,
            "filterbank": self.filters,
            "mfcc": self.coefficients * (3 if self.deltas else 1),
        }[self.features]

    def frames(self, sound: Sound, *, warp: float = 1.0) -> Float[Tensor, "frame feature"]:
        """The vectors of a sound, 100 a second; none for a sound of no samples.

        Args:
            sound: the sound.
            warp: the factor by which the frequencies of the filters are multiplied, as if the vocal tract were shorter
                by that factor; not for "samples". Source: N. Jaitly and G. Hinton, 2013, "Vocal tract length
                perturbation (VTLP) improves speech recognition", section 3.

        Raises:
            ArgumentError: a warp for "samples".
            MissingExtraError: the library `librosa` is not installed.
        """
        count = self.count(sound)
        if not count:
            return torch.zeros(0, self.width, device="cpu")
        if warp != 1 and self.features == "samples":
            raise ArgumentError(
                f"`warp` is for features 'filterbank' and 'mfcc'; for 'samples' it must be 1, not {warp}."
            )
        samples = resample(Sound(sound.mono[None], sound.rate), self.rate).samples[0].float().cpu()
        if self.features == "samples" and self.normalise:
            samples = _normalised(samples[:, None])[:, 0]
        overlap = self.window - self.step
        zeros_before = overlap // 2
        zeros_after = count * self.step + overlap // 2 - len(samples)
        windows = pad(samples, (zeros_before, zeros_after)).unfold(0, self.window, self.step)
        if self.features == "samples":
            return windows.contiguous()
        power = torch.cat([self._filter_power(part, warp) for part in windows.split(_FRAMES_AT_ONCE)])
        vectors = self._log_power(power)
        if self.features == "mfcc":
            vectors = self._cepstra(vectors)
        return _normalised(vectors) if self.normalise else vectors

    @staticmethod
    def count(sound: Sound) -> int:
        """The number of frames of a sound.

        Example:
            >>> SpeechFrames.count(Sound(torch.zeros(1, 801), rate=8000))
            11
        """
        return -(-sound.samples.shape[1] * 100 // sound.rate)

    def times(self, count: int) -> Float64[Tensor, "frame 2"]:
        """The start and end in seconds of the 10 ms that each frame represents.

        Args:
            count: the number of frames.

        Example:
            >>> SpeechFrames().times(2).tolist()
            [[0.0, 0.01], [0.01, 0.02]]
        """
        if count < 0:
            raise ArgumentError(f"`count` must be at least 0, but is {count}.")
        bounds = torch.arange(count + 1, dtype=torch.float64, device="cpu") / 100
        return torch.stack([bounds[:-1], bounds[1:]], dim=1)

    def to_sound(self, log_mel: Float[Tensor, "frame feature"]) -> Sound:
        """Make a sound with approximately these filter bank features: the inverse of `frames`, for speech synthesis.

        The phases are found by Griffin-Lim from a fixed initial state, so that equal frames give equal sounds. A sound
        that would exceed full scale is scaled down.

        Args:
            log_mel: frames with features "filterbank" and without `normalise`.

        Raises:
            ArgumentError: other features, or numbers that can't be log powers.
            MissingExtraError: the library `librosa` is not installed.

        Source: D. Griffin and J. Lim, 1984, "Signal estimation from modified short-time Fourier transform".
        """
        if self.features != "filterbank" or self.normalise or self.top_db:
            raise ArgumentError(
                "a sound can be made only of frames with features='filterbank', normalise=False and top_db=0, but "
                f"these have features={self.features!r}, normalise={self.normalise} and top_db={self.top_db}, which "
                "loses information."
            )
        if log_mel.shape[1] != self.filters:
            raise ArgumentError(f"`log_mel` must have {self.filters} numbers a frame, but has {log_mel.shape[1]}.")
        # Comparisons with NaN are false, so NaN is refused, too.
        if not (log_mel <= LOUDEST).all():
            raise ArgumentError(f"`log_mel` must be logarithms of power, at most {LOUDEST:g}, but some are not.")
        if not len(log_mel):
            return Sound(torch.zeros(1, 0, device="cpu"), self.rate)
        librosa = require("librosa", extra="speech")
        size = _transform_size(self.rate)
        power = invert_mel(log_mel.detach().double().cpu().exp(), _mel_filters(self.rate, self.filters))
        samples = librosa.griffinlim(
            power.sqrt().float().T.numpy(),
            hop_length=self.step,
            win_length=self.window,
            n_fft=size,
            center=False,
            random_state=0,
        )
        # Without centring, griffinlim puts the middle of the first frame at sample size / 2; ours is at step / 2.
        start = (size - self.step) // 2
        samples = torch.from_numpy(samples[start : start + len(log_mel) * self.step])[None]
        return Sound(samples / samples.abs().max().clamp(min=1.0), self.rate)

    def _filter_power(self, windows: Float[Tensor, "frame sample"], warp: float) -> Float[Tensor, "frame filter"]:
        spectrum = torch.fft.rfft(windows * torch.hann_window(self.window, device="cpu"), n=_transform_size(self.rate))
        power = spectrum.abs().square()
        return (power if warp == 1 else _warped(power, warp)) @ _mel_filters(self.rate, self.filters)

    def _log_power(self, power: Float[Tensor, "frame filter"]) -> Float[Tensor, "frame filter"]:
        if not self.top_db:
            return power.clamp(min=_FLOOR).log()
        # In silence all power is clipped to the lower limit.
        loudest = power.max().clamp(min=torch.finfo(power.dtype).tiny)
        return (power / loudest).clamp(min=10 ** (-self.top_db / 10)).log()

    def _cepstra(self, log_mel: Float[Tensor, "frame filter"]) -> Float[Tensor, "frame feature"]:
        feature = require("librosa", extra="speech").feature
        stages = [feature.mfcc(S=log_mel.T.numpy(), n_mfcc=self.coefficients)]
        if self.deltas:
            for _ in range(2):
                stages.append(feature.delta(stages[-1], width=5, mode="nearest"))
        return torch.cat([torch.from_numpy(stage.T) for stage in stages], dim=1)


def _transform_size(rate: int) -> int:
    # The least power of two of at least twice the window: in a shorter transform, narrow filters could lie between two
    # frequencies.
    return 1 << (2 * (rate // 40) - 1).bit_length()


def _warped(power: Float[Tensor, "frame frequency"], warp: float) -> Float[Tensor, "frame frequency"]:
    """The power at `warp` times each frequency, interpolated; above the highest frequency, the power at the highest."""
    last = power.shape[1] - 1
    positions = (torch.arange(last + 1, device=power.device) * warp).clamp(max=last)
    below = positions.long().clamp(max=last - 1)
    return torch.lerp(power[:, below], power[:, below + 1], (positions - below).to(power.dtype))


@lru_cache(maxsize=16)
def _mel_filters(rate: int, filters: int) -> Float[Tensor, "frequency filter"]:
    mel = require("librosa", extra="speech").filters.mel
    return torch.from_numpy(mel(sr=rate, n_fft=_transform_size(rate), n_mels=filters)).T.contiguous()


def _normalised(vectors: Float[Tensor, "row column"]) -> Float[Tensor, "row column"]:
    """Each column with mean 0 and variance 1; a constant column becomes zeros."""
    # In float64 the mean of equal float32 numbers is exact. In float32 it has an error, which would be scaled up to 1.
    exact = vectors.double()
    spread = exact.std(0, correction=0).clamp(min=_LEAST_SPREAD)
    return ((exact - exact.mean(0)) / spread).to(vectors.dtype)


_ITERATIONS = 30  # for real speech, the remaining error of the bands is then below 0.1 %


def invert_mel(
    bands: Float[Tensor, "frame band"], filters: Float[Tensor, "frequency band"]
) -> Float64[Tensor, "frame frequency"]:
    """Non-negative power spectra with approximately these bands, found in a fixed number of iterations.

    There are more frequencies than bands. Starting from the power of each band spread evenly over its frequencies, each
    iteration scales all frequencies by the ratio of the wanted bands to the current ones. This decreases the divergence
    sum(b log(b / f) - b + f) of the wanted bands b from the current ones f, which is relative, so that quiet bands
    count like loud ones.

    Args:
        bands: the power in each band, 0 or more.
        filters: the weight of each frequency in each band, 0 or more; a frequency in no band becomes 0.

    Source: D. Lee and H. S. Seung, 2001, "Algorithms for non-negative matrix factorization", theorem 2.

    Example:
        >>> invert_mel(torch.tensor([[6.0, 1.0]]), torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 0.5], [0.0, 0.0]]))
        tensor([[3., 3., 2., 0.]], dtype=torch.float64)
    """
    wanted, filters = bands.double(), filters.double()
    least = torch.finfo(torch.float64).tiny
    taken = filters.sum(1).clamp(min=least)
    spectra = wanted @ (filters / filters.sum(0).clamp(min=least)).T
    for _ in range(_ITERATIONS):
        spectra = spectra * ((wanted / (spectra @ filters).clamp(min=least)) @ filters.T) / taken
    return spectra
