"""The Fréchet distance and the coverage of samples, by hand and against closed forms."""

import pytest
import torch

from regard.errors import ArgumentError
from regard.lab.pictures.sample_quality import coverage, frechet_distance

DOUBLE = torch.float64


def with_covariance(scales, rotation, shift, seed):
    """Vectors whose mean is `shift` and whose covariance is exactly R diag(scales) R^T."""
    draw = torch.randn(101, len(scales), dtype=DOUBLE, generator=torch.Generator().manual_seed(seed))
    centred = draw - draw.mean(0)
    white = centred @ torch.linalg.inv(torch.linalg.cholesky(torch.cov(centred.T))).T
    return white * torch.tensor(scales, dtype=DOUBLE).sqrt() @ rotation.T + torch.tensor(shift, dtype=DOUBLE)


def test_one_number_by_hand():
    # Means 1 and 4, variances 2 and 8: (1 - 4)^2 + 2 + 8 - 2 sqrt(16) = 11
    assert frechet_distance(torch.tensor([[0.0], [2.0]]), torch.tensor([[2.0], [6.0]])) == pytest.approx(11)


def test_commuting_covariances():
    """With the same eigenvectors it is |m - n|^2 + sum_i (sqrt(c_i) - sqrt(d_i))^2."""
    rotation = torch.linalg.qr(torch.randn(3, 3, dtype=DOUBLE, generator=torch.Generator().manual_seed(1))).Q
    real = with_covariance([4.0, 9.0, 0.25], rotation, [1.0, 0.0, 2.0], 2)
    generated = with_covariance([1.0, 16.0, 1.0], rotation, [0.0, 2.0, 2.0], 3)
    assert frechet_distance(real, generated) == pytest.approx(1 + 4 + (1 + 1 + 0.25))


def test_covariances_that_do_not_commute():
    """tr (C D)^(1/2) is the sum of the roots of the eigenvalues of C D, which isn't symmetric."""
    draw = torch.Generator().manual_seed(4)
    real, generated = (
        torch.randn(50, 5, dtype=DOUBLE, generator=draw) @ torch.randn(5, 5, dtype=DOUBLE, generator=draw)
        for _ in range(2)
    )
    c, d = torch.cov(real.T), torch.cov(generated.T)
    trace = torch.linalg.eigvals(c @ d).real.sqrt().sum()
    right = (real.mean(0) - generated.mean(0)).square().sum() + c.trace() + d.trace() - 2 * trace
    assert frechet_distance(real, generated) == pytest.approx(float(right), rel=1e-9)
    assert frechet_distance(generated, real) == pytest.approx(float(right), rel=1e-9)


def test_equal_sets_and_sets_without_variance():
    here = torch.randn(7, 20)  # fewer vectors than features: a singular covariance
    assert frechet_distance(here, here) == pytest.approx(0, abs=1e-5)
    assert frechet_distance(torch.zeros(3, 4), torch.ones(2, 4)) == pytest.approx(4)


def test_coverage_by_hand():
    # The nearest other real vectors are at distances 1, 1, 3 and 3, so that near is -1..1, 0..2, 1..7 and 4..10.
    real = torch.tensor([[0.0], [1.0], [4.0], [7.0]])
    assert coverage(real, torch.tensor([[-1.0], [2.5]]), neighbours=1) == 0.5
    assert coverage(real, torch.tensor([[10.0]]), neighbours=1) == 0.25
    assert coverage(real, torch.tensor([[10.5]]), neighbours=1) == 0
    # The second nearest are at 4, 3, 3 and 6: -4..4, -2..4, 1..7 and 1..13.
    assert coverage(real, torch.tensor([[13.0]]), neighbours=2) == 0.25
    assert coverage(real, torch.tensor([[-3.0]]), neighbours=2) == 0.25
    assert coverage(real, torch.tensor([[3.0]]), neighbours=2) == 1


def test_coverage_of_one_distribution_and_of_a_missing_mode():
    draw = torch.Generator().manual_seed(0)
    modes = torch.tensor([[0.0, 0.0], [50.0, 0.0]]).repeat_interleave(600, dim=0)  # in more than one piece of rows
    real, same = (modes + torch.randn(1200, 2, generator=draw) for _ in range(2))
    assert coverage(real, real) == 1
    assert coverage(real, same) == pytest.approx(1 - 2**-5, abs=0.02)
    assert coverage(real, same, neighbours=1) == pytest.approx(0.5, abs=0.05)
    assert coverage(real, same[:600]) == pytest.approx((1 - 2**-5) / 2, abs=0.02)


def test_errors():
    good = torch.zeros(5, 3)
    with pytest.raises(ArgumentError, match="`generated` must hold vectors of 3 numbers, as `real` does, but has 2"):
        frechet_distance(good, torch.zeros(5, 2))
    with pytest.raises(ArgumentError, match="`real` must hold 2 vectors or more, but holds 1"):
        frechet_distance(good[:1], good)
    with pytest.raises(ArgumentError, match=r"`real` must be \(real, feature\)"):
        frechet_distance(good[0], good)
    with pytest.raises(ArgumentError, match="`generated` must hold finite numbers"):
        frechet_distance(good, good / 0)
    with pytest.raises(ArgumentError, match="`real` must hold 6 vectors or more, but holds 5"):
        coverage(good, good, neighbours=5)
    with pytest.raises(ArgumentError, match="`neighbours` must be"):
        coverage(good, good, neighbours=0)
