"""Augmentation of recordings: random gain, random noise, random filters, random clipping."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["with_random_clipping", "with_random_filter", "with_random_gain", "with_random_noise", "with_random_speed"]

_MOST_SNR = 50.0  # dB; weaker noise is inaudible
_STEEPEST = 2.0  # power falls with the frequency to this power: from white over pink to brown noise
_LOW_CUT = 400.0  # Hz; a telephone's line cuts at 300
_HIGH_CUT = 0.6  # of half the sampling rate; a telephone's line cuts at 3,400 of 4,000 Hz
_BENDS = 8  # the number of random points of a filter's curve
_GAINS = 2  # the number of random gains a second
_TAIL = 200  # the number of zeros after the end, so that a filter's response doesn't wrap around to the beginning
_SLOPE = 0.15  # the width of a cutoff's slope, as a fraction of its frequency


def with_random_gain(samples: Float[Tensor, " sample"], rate: int, most_db: float) -> Float[Tensor, " sample"]:
    """The samples with a gain that varies over time, as if the speaker came closer, turned away, or spoke up.

    The gain is a curve within `most_db` dB of 0, linear in dB between random points, two a second.

    Args:
        samples: of one channel.
        rate: samples a second (Hz).
        most_db: the largest gain and the largest attenuation, in dB.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> louder = with_random_gain(torch.ones(8000), 8000, 20.0)
        >>> bool((louder.log10() * 20).abs().max() <= 20)
        True
    """
    # The first point lies before the beginning by a random part of the distance to the second.
    device = samples.device
    positions = torch.arange(len(samples), device=device) * (_GAINS / rate) + torch.rand((), device=device)
    first = positions.long()
    curve = most_db * (2 * torch.rand(len(samples) * _GAINS // rate + 3, device=device) - 1)
    return samples * 10 ** (torch.lerp(curve[first], curve[first + 1], positions - first) / 20)


def with_random_noise(samples: Float[Tensor, " sample"], least_snr: float) -> Float[Tensor, " sample"]:
    """The samples with noise of a random colour, white to brown, at a random signal-to-noise ratio.

    The ratio is drawn uniformly in dB, from `least_snr` to 50. The power of the signal is the mean over the samples
    that aren't zero. If all are zero, no noise is added.

    Args:
        samples: of one channel.
        least_snr: the lowest ratio, in dB.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> noisy = with_random_noise(torch.ones(8000), 20.0)
        >>> bool((noisy - 1).square().mean() <= 0.0101)
        True
    """
    spoken = samples[samples != 0]
    if not len(spoken):
        return samples
    ratio = least_snr + (max(_MOST_SNR, least_snr) - least_snr) * float(torch.rand((), device="cpu"))
    size = _fast_size(len(samples))
    frequencies = torch.arange(1, size // 2 + 2, device=samples.device)
    spectrum = torch.randn(len(frequencies), dtype=torch.complex64, device=samples.device)
    colour = -_STEEPEST / 2 * torch.rand((), device=samples.device)
    noise = torch.fft.irfft(spectrum * frequencies**colour, n=size)[: len(samples)]
    power = spoken.square().mean() / 10 ** (ratio / 10)
    return samples + noise * (power / noise.square().mean()).sqrt()


def with_random_filter(samples: Float[Tensor, " sample"], rate: int, most_db: float) -> Float[Tensor, " sample"]:
    """The samples through a random filter, as another microphone or line would be.

    The gain is a curve within `most_db` dB of 0, linear between random points. With probability 1/2 a high-pass filter
    follows, with a cutoff of up to 400 Hz. With probability 1/2 a low-pass filter follows, with a cutoff of at least
    0.6 of half the rate.

    Args:
        samples: of one channel.
        rate: samples a second (Hz).
        most_db: the largest gain and the largest attenuation of the curve, in dB.
    """
    size = _fast_size(len(samples))
    frequencies = torch.linspace(0, rate / 2, size // 2 + 1, device=samples.device)
    bends = most_db * (2 * torch.rand(_BENDS, device=samples.device) - 1)
    # By the root of the frequency: like the mel scale, this puts more bends at low frequencies.
    positions = (frequencies / (rate / 2)).sqrt() * (_BENDS - 1)
    first = positions.long().clamp(max=_BENDS - 2)
    curve = torch.lerp(bends[first], bends[first + 1], positions - first)
    draws = torch.rand(4, device="cpu").tolist()
    if draws[0] < 0.5:
        curve = curve - _attenuation(_LOW_CUT * draws[1] + 1, frequencies)
    if draws[2] < 0.5:
        high = rate / 2 * (_HIGH_CUT + (1 - _HIGH_CUT) * draws[3])
        curve = curve - _attenuation(-high, -frequencies)
    return torch.fft.irfft(torch.fft.rfft(samples, n=size) * 10 ** (curve / 20), n=size)[: len(samples)]


def with_random_clipping(samples: Float[Tensor, " sample"], most_db: float) -> Float[Tensor, " sample"]:
    """The samples, clipped with probability 1/2 at a random level: up to `most_db` dB below the loudest sample.

    Args:
        samples: of one channel.
        most_db: how far the level may lie below the loudest sample, in dB.

    Example:
        >>> with_random_clipping(torch.tensor([0.5, -2.0]), 0.0)
        tensor([ 0.5000, -2.0000])
    """
    too_loud, by = torch.rand(2, device="cpu").tolist()
    if too_loud < 0.5 or not len(samples):
        return samples
    scale = float(samples.abs().max()) * 10 ** (-most_db * by / 20)
    return samples.clamp(-scale, scale)


def with_random_speed(frames: Float[Tensor, "frame feature"], most: float) -> Float[Tensor, "faster feature"]:
    """The frames of a recording, played at a random speed at the same pitch: linearly interpolated.

    The logarithm of the speed is drawn uniformly, from 1 / (1 + most) to 1 + most.

    Args:
        frames: the frames of all of the recording.
        most: how much faster or slower, as a fraction.

    Source: Ko et al. 2015, Audio augmentation for speech recognition (Interspeech), section 2.3, tempo perturbation.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> [len(with_random_speed(torch.zeros(100, 3), 0.4)) for _ in range(3)]
        [100, 83, 132]
    """
    speed = (1 + most) ** (2 * float(torch.rand((), device="cpu")) - 1)
    count = max(1, round(len(frames) / speed))
    if len(frames) < 2:
        return frames
    positions = torch.linspace(0, len(frames) - 1, count, device=frames.device)
    first = positions.long().clamp(max=len(frames) - 2)
    return torch.lerp(frames[first], frames[first + 1], (positions - first).unsqueeze(1).to(frames.dtype))


def _attenuation(cutoff: float, frequencies: Tensor) -> Tensor:
    """The attenuation of each frequency, in dB, of a filter that removes those below a cutoff."""
    return 60 * ((cutoff - frequencies) / (_SLOPE * math.fabs(cutoff))).clamp(0, 1)


def _fast_size(count: int) -> int:
    """A power of two that is large enough for the samples and the response of a filter after the last one."""
    return 1 << (count + _TAIL - 1).bit_length()
