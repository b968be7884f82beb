"""Dropout: the share that it says, the same for the same seed, and nothing outside of training."""

import pytest
import torch

from regard.modules.dropout import Dropout


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_so_many_are_left_out_and_the_others_make_up_for_it(share, dtype):
    torch.manual_seed(0)
    left = Dropout(share)(torch.ones(301, 997, dtype=dtype))
    assert left.dtype == dtype
    assert left.unique().tolist() == pytest.approx([0, 1 / (1 - share)])
    # Four standard deviations of a mean of so many.
    assert (left == 0).double().mean().item() == pytest.approx(
        share, abs=4 * (share * (1 - share) / left.numel()) ** 0.5
    )
    # Neighbours are drawn from one number, and must not know of each other.
    flat = (left.flatten() == 0).double()
    for step in range(1, 6):
        together = (flat[step:] * flat[:-step]).mean().item()
        assert together == pytest.approx(share**2, abs=0.003)


def test_the_seed_says_it_all():
    dropout, numbers = Dropout(0.3), torch.ones(7, 11)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(dropout(numbers))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
    assert not torch.equal(dropout(numbers), dropout(numbers))


def test_the_gradient_goes_where_the_numbers_went():
    numbers = torch.full((5, 13), 2.0, requires_grad=True)
    left = Dropout(0.4)(numbers)
    left.sum().backward()
    torch.testing.assert_close(numbers.grad * 2, left.detach())


def test_nothing_is_left_out_outside_of_training_or_of_nothing():
    numbers = torch.randn(5, 3)
    assert torch.equal(Dropout(0.9).eval()(numbers), numbers)
    assert torch.equal(Dropout(0.0)(numbers), numbers)
    assert torch.equal(Dropout(1.0)(numbers), torch.zeros(5, 3))
    assert Dropout(0.5)(torch.zeros(0, 3)).shape == (0, 3)
    assert Dropout(0.5)(torch.ones(())).shape == ()
    # Not in memory as it is in order.
    assert Dropout(0.5)(numbers.T).shape == (3, 5)
