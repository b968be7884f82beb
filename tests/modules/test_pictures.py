"""Pictures: pixels as vectors, groups of channels as heads."""

import pytest
import torch

from regard.attention import Window
from regard.errors import ArgumentError
from regard.inspection import watch
from regard.modules import ChannelAttention, to_picture, to_vectors

DOUBLE = torch.float64


def test_a_picture_of_5_x_10_pixels_is_50_vectors_of_3():
    picture = torch.arange(150.0).view(1, 3, 5, 10)
    vectors = to_vectors(picture)
    assert vectors.shape == (1, 50, 3)
    assert vectors[0, 13].tolist() == picture[0, :, 1, 3].tolist()
    assert torch.equal(to_picture(vectors, 5, 10), picture)


@pytest.mark.parametrize("heads", [1, 2, 3, 6])
def test_equals_the_note_step_by_step(heads):
    """[B, C, H, W] -> M groups of K channels -> attention in each -> side by side -> one linear (002)."""
    attention = ChannelAttention(6, heads).double()
    inner, picture = attention.attention, torch.randn(2, 6, 5, 7, dtype=DOUBLE)

    def grouped(linear):
        # A linear over the channels of each pixel, then the channels in groups; M moves to the front.
        channels = torch.einsum("oc,bchw->bohw", linear.weight, picture) + linear.bias.view(1, -1, 1, 1)
        return channels.flatten(2).unflatten(1, (heads, 6 // heads)).transpose(0, 1)

    query, key, value = grouped(inner.query), grouped(inner.key), grouped(inner.value)
    scores = torch.einsum("mbkp,mbkr->mbpr", query, key) / (6 // heads) ** 0.5
    heads_out = torch.einsum("mbpr,mbkr->mbkp", scores.softmax(-1), value)
    channels = heads_out.transpose(0, 1).flatten(1, 2)
    mixed = torch.einsum("oc,bcp->bop", inner.output.weight, channels) + inner.output.bias.view(1, -1, 1)
    torch.testing.assert_close(attention(picture), mixed.view(2, 6, 5, 7))


def test_a_head_looks_at_its_own_channels_only():
    attention = ChannelAttention(6, heads=3, bias=False)
    with torch.no_grad():
        for linear in (attention.attention.query, attention.attention.key):
            linear.weight.copy_(torch.eye(6))
        picture = torch.randn(1, 6, 3, 4)
        changed = picture.clone()
        changed[:, 4:] += 1
        with watch(attention) as seen:
            attention(picture), attention(changed)
    before, after = (sight.weights()[0] for sight in seen)
    assert torch.equal(before[:2], after[:2])
    assert not torch.allclose(before[2], after[2])


def test_masks_count_pixels_row_by_row():
    attention = ChannelAttention(4, heads=2)
    picture, changed = torch.zeros(1, 4, 3, 5), torch.zeros(1, 4, 3, 5)
    changed[0, :, 2, 4] = 9.0
    same = attention(picture, mask=Window(1, 1)) == attention(changed, mask=Window(1, 1))
    assert same[0].all(0).flatten().tolist() == [True] * 13 + [False] * 2


def test_errors():
    with pytest.raises(ArgumentError, match="`heads` must divide"):
        ChannelAttention(6, heads=4)
    with pytest.raises(ArgumentError, match=r"`picture` must be \(batch, 6 channels, height, width\), but is \(2, 5"):
        ChannelAttention(6, heads=3)(torch.zeros(2, 5, 3, 3))
    with pytest.raises(ArgumentError, match="`vectors` must be one for each of 3 x 4 = 12 pixels, but are 11"):
        to_picture(torch.zeros(1, 11, 2), 3, 4)
