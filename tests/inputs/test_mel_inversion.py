"""Spectra from bands: exact where they say it all, near where they don't, and bounded whatever they say."""

import torch

from regard.inputs.sound.speech_frames import invert_mel

# Three triangles over seven frequencies; the last no band takes in.
FILTERS = torch.tensor(
    [[0.5, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0], [0.0] * 3]
)


def test_the_bands_are_met_over_twenty_orders_of_magnitude():
    generator = torch.Generator().manual_seed(3)
    true = (8 * torch.randn(11, 7, dtype=torch.float64, generator=generator)).exp()
    bands = true @ FILTERS.double()
    spectra = invert_mel(bands, FILTERS)
    assert (spectra >= 0).all()
    assert (spectra[:, 6] == 0).all()
    assert ((spectra @ FILTERS.double() / bands).log().abs() < 0.05).double().mean() > 0.9


def test_bands_that_no_spectrum_has_and_none_at_all():
    # What stands between two silent bands can't be loud alone: each neighbour takes in half of it.
    for bands in (torch.zeros(2, 3), torch.tensor([[0.0, 1e10, 0.0], [1e-30, 1e10, 1e-44]]), torch.zeros(0, 3)):
        spectra = invert_mel(bands, FILTERS)
        assert spectra.shape == (len(bands), 7)
        assert spectra.isfinite().all()
        assert (spectra >= 0).all()


def test_each_frame_is_as_alone():
    bands = torch.rand(5, 3, generator=torch.Generator().manual_seed(5))
    together = invert_mel(bands, FILTERS)
    for place in range(5):
        torch.testing.assert_close(invert_mel(bands[place : place + 1], FILTERS)[0], together[place])
