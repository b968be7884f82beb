"""Which items are real."""

import pytest
import torch

from regard.errors import ArgumentError
from regard.modules.padding import real_items, zero_padding


def test_padding_is_zeros_whatever_it_held():
    items = torch.tensor([[1.0, torch.nan, torch.inf], [4.0, 5.0, 6.0], [torch.nan, 8.0, 9.0]])
    expected = [[1.0, 0.0, 0.0], [4.0, 5.0, 6.0], [0.0, 0.0, 0.0]]
    assert zero_padding(items, torch.tensor([1, 3, 0])).tolist() == expected


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 5), (2, 3, 5, 7)])
def test_items_of_any_shape(shape):
    zeroed = zero_padding(torch.ones(shape, dtype=torch.int64), torch.tensor([1, 2]))
    item = zeroed[0, 0].numel()
    assert [int(sequence.sum()) for sequence in zeroed] == [item, 2 * item]


def test_no_gradient_goes_to_padding():
    items = torch.tensor([[1.0, torch.nan]], requires_grad=True)
    zero_padding(items, torch.tensor([1])).sum().backward()
    assert items.grad.tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_nothing_at_all(shape):
    assert real_items(torch.zeros(shape), torch.zeros(shape[0], dtype=torch.int64)).shape == shape


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([4, 0], "`lengths` must lie between 0 and 3, .* but go from 0 to 4"),
        ([-1, 3], "but go from -1 to 3"),
    ],
)
def test_lengths_that_cannot_be(lengths, message):
    with pytest.raises(ArgumentError, match=message):
        real_items(torch.zeros(2, 3), torch.tensor(lengths))
