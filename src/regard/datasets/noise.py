"""Adding noise to a sound, and the level of its frames."""

from collections.abc import Sequence

import numpy as np
import torch

from regard.inputs.sound import Sound

__all__ = ["SILENCE_LEVEL", "add_noise", "frame_levels"]

SILENCE_LEVEL = -60.0
"""The level of a frame of zeros, in dB, which is the lowest possible level."""


def add_noise(sound: Sound, power: float, *, seed: Sequence[int]) -> Sound:
    """Add white Gaussian noise of this power to a sound.

    Args:
        sound: the sound.
        power: the mean square of the noise, relative to full scale; the power of the speech gives a ratio of 0 dB.
        seed: integers that seed the generator.

    Example:
        >>> noise = add_noise(Sound(torch.zeros(1, 80_000), 8000), 0.25, seed=(1, 2))
        >>> round(float(noise.samples.square().mean()), 2)
        0.25
    """
    # NumPy guarantees that this legacy generator draws the same numbers in every version.
    draws = np.random.RandomState(list(seed)).standard_normal(sound.samples.shape)
    return Sound(sound.samples + power**0.5 * torch.from_numpy(draws).float(), sound.rate)


def frame_levels(sound: Sound) -> tuple[float, ...]:
    """The log energy of each frame of 10 ms, in dB: 10 log10(mean square of its samples + 10^-6).

    The frames are those of `inputs.SpeechFrames`; the last one is filled up with zeros. The added constant keeps
    silence finite, at `SILENCE_LEVEL`.

    Example:
        >>> [round(level, 2) for level in frame_levels(Sound(torch.tensor([[1.0] * 80 + [0.0] * 81]), 8000))]
        [0.0, -60.0, -60.0]
    """
    samples = sound.mono.double()
    count = -(-len(samples) * 100 // sound.rate)
    # If the rate isn't a multiple of 100, the lengths of frames differ by one sample.
    frame = torch.arange(len(samples)) * 100 // sound.rate
    energy = torch.zeros(count, dtype=torch.float64).index_add_(0, frame, samples.square())
    return tuple((10 * torch.log10(energy / (sound.rate / 100) + 10 ** (SILENCE_LEVEL / 10))).tolist())
