"""Noise put into a sound, and how loud each of its frames is."""

from collections.abc import Sequence

import numpy as np
import torch

from regard.inputs.sound import Sound

__all__ = ["SILENT", "frame_levels", "with_noise"]

SILENT = -60.0
"""The level of a frame of zeros, in dB; what a level is measured above."""


def with_noise(sound: Sound, power: float, *, seed: Sequence[int]) -> Sound:
    """A sound with white noise of this power added: every sample has a normal draw of its own, times sqrt(power).

    Args:
        sound: the sound.
        power: the mean square of the noise, full scale being 1; that of the speech is a ratio of 0 dB.
        seed: of the draws, whole numbers.

    Example:
        >>> noise = with_noise(Sound(torch.zeros(1, 80_000), 8000), 0.25, seed=(1, 2))
        >>> round(float(noise.samples.square().mean()), 2)
        0.25
    """
    # NumPy promises that this generator, unlike its newer ones, draws the same in every version.
    draws = np.random.RandomState(list(seed)).standard_normal(sound.samples.shape)
    return Sound(sound.samples + power**0.5 * torch.from_numpy(draws).float(), sound.rate)


def frame_levels(sound: Sound) -> tuple[float, ...]:
    """The log energy of each frame of 10 ms, in dB: 10 log10(mean square of its samples + 10^-6).

    Frames are as many as `inputs.SpeechFrames` makes, and begin where its do; what a last one lacks is zeros. What is
    added keeps silence finite, at `SILENT`.

    Example:
        >>> [round(level, 2) for level in frame_levels(Sound(torch.tensor([[1.0] * 80 + [0.0] * 81]), 8000))]
        [0.0, -60.0, -60.0]
    """
    samples = sound.mono.double()
    count = -(-len(samples) * 100 // sound.rate)
    # At a rate that is no multiple of 100 frames differ by a sample.
    frame = torch.arange(len(samples)) * 100 // sound.rate
    energy = torch.zeros(count, dtype=torch.float64).index_add_(0, frame, samples.square())
    return tuple((10 * torch.log10(energy / (sound.rate / 100) + 10 ** (SILENT / 10))).tolist())
