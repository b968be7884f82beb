"""Noise of the power that was asked for; levels by hand."""

import pytest
import torch

from regard.datasets.known.digit_strings import SILENCE_LEVEL, add_noise, frame_levels
from regard.inputs import SpeechFrames
from regard.inputs.sound.sound import Sound


def test_levels_by_hand():
    # A frame of amplitude 0.1 is -20 dB; one half of which is silent 3 dB less; then silence, and a sample over.
    samples = torch.cat([torch.full((80,), 0.1), torch.full((40,), -0.1), torch.zeros(121)])
    levels = frame_levels(Sound(samples[None], 8000))
    assert levels == pytest.approx([-20.0, -23.0103, SILENCE_LEVEL, SILENCE_LEVEL], abs=1e-3)
    assert frame_levels(Sound(torch.zeros(1, 0), 8000)) == ()
    # What is far below the floor is silence.
    assert frame_levels(Sound(torch.full((1, 80), 1e-6), 8000)) == pytest.approx([SILENCE_LEVEL], abs=1e-4)


@pytest.mark.parametrize(("rate", "samples"), [(8000, 8001), (11_025, 11_025), (44_100, 12_345), (1102, 3000)])
def test_there_are_as_many_as_frames(rate, samples):
    pytest.importorskip("librosa")
    sound = Sound(torch.full((1, samples), 0.5), rate)
    levels = frame_levels(sound)
    assert len(levels) == len(SpeechFrames(features="samples").frames(sound))
    # At a rate that is no multiple of 100 a frame may have a sample more or less than the others.
    assert levels[:-1] == pytest.approx([-6.02] * (len(levels) - 1), abs=0.5)


def test_noise_follows_from_the_seed_alone():
    sound = Sound(torch.linspace(-1, 1, 20_000)[None], 8000)
    first, again, other = (add_noise(sound, 0.04, seed=seed) for seed in ((1, 2), (1, 2), (2, 1)))
    assert torch.equal(first.samples, again.samples)
    assert not torch.equal(first.samples, other.samples)
    noise = first.samples - sound.samples
    assert float(noise.square().mean()) == pytest.approx(0.04, rel=0.03)
    assert float(noise.mean()) == pytest.approx(0, abs=0.01)
    assert torch.equal(add_noise(sound, 0.0, seed=(1,)).samples, sound.samples)
