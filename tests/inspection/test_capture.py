import pytest
import torch
from torch import nn

from regard.inspection import capture_attention
from regard.modules import Encoder, MultiHeadAttention


class Fake:
    """What an observer is called back with."""

    def __init__(self, weights):
        self.weights = weights


class Handle:
    def __init__(self, layer, callback):
        self.layer, self.callback = layer, callback

    def remove(self):
        self.layer.callbacks.remove(self.callback)


class Layer(nn.Module):
    """Anything that has `observe` counts, whatever it is called."""

    def __init__(self, value):
        super().__init__()
        self.value, self.callbacks = value, []

    def observe(self, callback):
        self.callbacks.append(callback)
        return Handle(self, callback)

    def forward(self, vectors):
        for callback in self.callbacks:
            callback(Fake(torch.full((1, 2, 3, 3), self.value, dtype=torch.float64, requires_grad=True)))
        return vectors


def test_layers_are_seen_in_order_with_their_dotted_names():
    model = nn.Sequential(nn.Sequential(Layer(0.25), nn.Identity()), Layer(0.75))
    with capture_attention(model) as seen:
        model(torch.zeros(1))
        model(torch.zeros(1))
    assert [sighting.source for sighting in seen] == ["0.0", "1", "0.0", "1"]
    assert [float(sighting.weights[0, 0, 0, 0]) for sighting in seen] == [0.25, 0.75, 0.25, 0.75]
    assert seen[0].weights.dtype == torch.float32
    assert not seen[0].weights.requires_grad
    assert seen[0].normaliser == ""


def test_nothing_stays_behind_whether_the_block_ends_well_or_not():
    model = nn.Sequential(Layer(0.5), Layer(0.5))
    with capture_attention(model) as seen:
        model(torch.zeros(1))
    model(torch.zeros(1))
    assert len(seen) == 2
    with pytest.raises(RuntimeError, match="in the middle"), capture_attention(model) as seen:
        raise RuntimeError("in the middle")
    model(torch.zeros(1))
    assert seen == []
    assert [layer.callbacks for layer in model] == [[], []]


def test_a_layer_that_cannot_be_observed_leaves_no_observer_on_the_others():
    class Broken(Layer):
        def observe(self, callback):
            raise RuntimeError("no")

    model = nn.Sequential(Layer(0.5), Broken(0.5))
    with pytest.raises(RuntimeError, match="no"), capture_attention(model):
        pass
    assert model[0].callbacks == []


def test_the_real_encoder_is_seen_and_its_output_does_not_change():
    torch.manual_seed(0)
    model = Encoder(12, layers=2, heads=3, hidden=7).eval()
    vectors = torch.randn(2, 5, 12)
    expected = model(vectors)
    with capture_attention(model) as seen:
        output = model(vectors)
    assert torch.equal(output, expected)
    assert [tuple(sighting.weights.shape) for sighting in seen] == [(2, 3, 5, 5)] * 2
    assert [sighting.normaliser for sighting in seen] == ["softmax"] * 2
    for sighting in seen:
        torch.testing.assert_close(sighting.weights.sum(-1), torch.ones(2, 3, 5))


def test_a_module_observed_twice_at_once_tells_both():
    model = MultiHeadAttention(6, heads=2)
    with capture_attention(model) as outer:
        with capture_attention(model) as inner:
            model(torch.zeros(1, 3, 6))
        model(torch.zeros(1, 3, 6))
    assert (len(outer), len(inner)) == (2, 1)
