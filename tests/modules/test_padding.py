"""Which items are real."""

import pytest
import torch

from regard.attention import Lengths, Window
from regard.errors import ArgumentError
from regard.modules import FrameSeq2Seq, TransformerSeq2Seq
from regard.modules.padding import padding_mask, real_items, zero_padding


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


def test_a_mask_of_full_items_has_no_lengths():
    """With lengths, `Strided` couldn't save work along edges."""
    items, mask = torch.zeros(2, 3), Window(1, 1)
    assert padding_mask(items, torch.tensor([3, 3]), mask) is mask
    assert str(padding_mask(items, torch.tensor([3, 2]), mask)) == str(Lengths(torch.tensor([3, 2])) & mask)


@pytest.mark.parametrize("kind", [TransformerSeq2Seq, FrameSeq2Seq])
def test_encoders_drop_full_lengths(kind):
    masks, mask = [], Window(1, 1)
    model = kind(11, 5, width=8, layers=1, heads=2, hidden=16, mask=mask).eval()
    model.encoder.register_forward_pre_hook(
        lambda module, args, options: masks.append(options["mask"]), with_kwargs=True
    )
    source = torch.full((2, 3), 4)
    full = model.encode(source, torch.tensor([3, 3])).part("keys")
    padded = model.encode(torch.full((2, 5), 4), torch.tensor([3, 3])).part("keys")
    assert masks[0] is mask
    assert isinstance(masks[1].left, Lengths)
    torch.testing.assert_close(padded[:, :3], full)
