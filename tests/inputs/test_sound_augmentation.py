"""What training changes in recordings is what it says, and no more."""

import pytest
import torch

from regard.inputs.sound.sound_augmentation import (
    with_random_clipping,
    with_random_filter,
    with_random_gain,
    with_random_noise,
)

TONE = torch.sin(torch.arange(4001) / 8000 * 440 * 2 * torch.pi) / 3
CHANGES = {
    "noise": lambda samples: with_random_noise(samples, 0.0),
    "filter": lambda samples: with_random_filter(samples, 8000, 10.0),
    "clipping": lambda samples: with_random_clipping(samples, 26.0),
    "gain": lambda samples: with_random_gain(samples, 8000, 12.0),
}


def decibels(ratio: torch.Tensor) -> float:
    return float(10 * ratio.log10())


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_changes_follow_from_the_seed_and_leave_what_they_are_given(change):
    given = TONE.clone()
    torch.manual_seed(3)
    first = [change(given) for _ in range(8)]
    torch.manual_seed(3)
    again = [change(given) for _ in range(8)]
    assert all(map(torch.equal, first, again))
    assert torch.equal(given, TONE)
    assert all(each.shape == TONE.shape and each.dtype == TONE.dtype and each.isfinite().all() for each in first)
    # Another each time, most times.
    assert len({tuple(each.tolist()) for each in first}) >= 3


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("count", [0, 1, 2])
def test_hardly_any_samples(change, count):
    torch.manual_seed(0)
    for _ in range(5):
        assert change(torch.zeros(count)).tolist() == [0.0] * count
        assert change(torch.full((count,), 0.5)).isfinite().all()


def test_noise_is_as_strong_as_it_says_and_of_many_colours():
    torch.manual_seed(0)
    # As much silence as tone: silence doesn't count.
    given = torch.cat([TONE, torch.zeros(4001)])
    noises = [with_random_noise(given, 10.0) - given for _ in range(60)]
    ratios = [decibels(TONE.square().mean() / noise.square().mean()) for noise in noises]
    assert 9.9 < min(ratios) < 15
    assert 45 < max(ratios) < 50.1
    spectra = [torch.fft.rfft(noise).abs().square() for noise in noises]
    low = [float(each[: len(each) // 4].sum() / each.sum()) for each in spectra]
    # A quarter of the power of white noise, nearly all of brown noise.
    assert min(low) < 0.35
    assert max(low) > 0.9


def test_a_filter_bends_within_its_limits_or_takes_out_all_of_a_band():
    torch.manual_seed(0)
    click = torch.zeros(4000)
    click[100] = 1.0
    curves = torch.stack([torch.fft.rfft(with_random_filter(click, 8000, 6.0), n=8192).abs() for _ in range(40)])
    curves = 20 * curves.clamp(min=1e-9).log10()
    hertz = torch.arange(curves.shape[1]) * 8000 / 8192
    # Between all cuts.
    middle = curves[:, (hertz > 600) & (hertz < 2200)]
    assert middle.abs().max() < 7
    assert middle.min() < -3
    assert middle.max() > 3
    for band in (hertz < 30, hertz > 3900):
        gone = (curves[:, band].mean(1) < -25).float().mean()
        assert 0.25 < gone < 0.75


def test_clipping_cuts_peaks_alone():
    torch.manual_seed(0)
    cut = [with_random_clipping(TONE, 20.0) for _ in range(60)]
    untouched = [each for each in cut if torch.equal(each, TONE)]
    assert 15 <= len(untouched) <= 45
    for each in cut:
        assert torch.equal(each, TONE.clamp(-each.abs().max(), each.abs().max()))
    assert 1 / 30 <= min(float(each.abs().max()) for each in cut) < 1 / 20


def test_a_gain_varies_slowly_within_its_limits():
    torch.manual_seed(0)
    ones = torch.ones(40_000)
    curves = torch.stack([20 * with_random_gain(ones, 8000, 12.0).log10() for _ in range(40)])
    assert curves.abs().max() <= 12.001
    assert curves.min() < -11
    assert curves.max() > 11
    # From one limit to the other in half a second, at most; and it changes in each second.
    assert curves.diff(dim=1).abs().max() <= 24 / 4000 + 1e-4
    assert (curves.unflatten(1, (5, 8000)).amax(2) - curves.unflatten(1, (5, 8000)).amin(2)).min() > 0.1
    # No place is quieter or louder than others.
    assert curves.mean(0).abs().max() < 4
