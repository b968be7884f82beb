import math

import pytest
import torch
from torch import nn

from regard.inspection import watch
from regard.modules import Encoder, MultiHeadAttention


class Layer(nn.Module):
    """Attention whose scores are 0, but for the first key."""

    def __init__(self, score):
        super().__init__()
        self.score = nn.Parameter(torch.tensor(score, dtype=torch.float64))

    def forward(self, vectors):
        query = torch.ones(1, 2, 3, 1, dtype=torch.float64) * self.score
        key = torch.tensor([1.0, 0, 0], dtype=torch.float64).view(1, 1, 3, 1).expand(1, 2, 3, 1)
        return nn.functional.scaled_dot_product_attention(query, key, key)


def test_layers_are_seen_in_order_with_their_dotted_names():
    model = nn.Sequential(nn.Sequential(Layer(0.0), nn.Identity()), Layer(math.log(2)))
    with watch(model) as seen:
        model(torch.zeros(1))
        model(torch.zeros(1))
    assert [sighting.name for sighting in seen] == ["0.0", "1", "0.0", "1"]
    assert [float(sighting.weights()[0, 0, 0, 0]) for sighting in seen] == pytest.approx([1 / 3, 0.5, 1 / 3, 0.5])
    assert seen[0].weights().dtype == torch.float64
    assert not seen[0].weights().requires_grad
    assert seen[0].normaliser == "softmax"


def test_nothing_stays_behind_whether_the_block_ends_well_or_not():
    model = nn.Sequential(Layer(0.5), Layer(0.5))
    with watch(model) as seen:
        model(torch.zeros(1))
    model(torch.zeros(1))
    assert len(seen) == 2
    with pytest.raises(RuntimeError, match="in the middle"), watch(model) as seen:
        raise RuntimeError("in the middle")
    model(torch.zeros(1))
    assert not seen.layers


def test_only_what_the_module_calls_itself_is_seen():
    model = nn.Sequential(Layer(0.5), Layer(0.5))
    with watch(model[1]) as seen:
        model(torch.zeros(1))
    assert [sighting.name for sighting in seen] == [""]


def test_the_real_encoder_is_seen_and_its_output_does_not_change():
    torch.manual_seed(0)
    model = Encoder(12, layers=2, heads=3, hidden=7).eval()
    vectors = torch.randn(2, 5, 12)
    expected = model(vectors)
    with watch(model) as seen:
        output = model(vectors)
    assert torch.equal(output, expected)
    assert [tuple(sighting.weights().shape) for sighting in seen] == [(2, 3, 5, 5)] * 2
    assert [sighting.normaliser for sighting in seen] == ["softmax"] * 2
    for sighting in seen:
        torch.testing.assert_close(sighting.weights().sum(-1), torch.ones(2, 3, 5))


def test_a_module_watched_twice_at_once_is_in_both_records():
    model = MultiHeadAttention(6, heads=2)
    with watch(model) as outer:
        with watch(model) as inner:
            model(torch.zeros(1, 3, 6))
        model(torch.zeros(1, 3, 6))
    assert (len(outer), len(inner)) == (2, 1)
