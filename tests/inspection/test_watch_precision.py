"""`watch` of attention that is written out in half precision, in mixed precision and under autocast.

In half precision the rounding of scores moves weights by more than most weights are: what is done to weights must be
told from rounding all the same.
"""

import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional

from regard.attention import Sigmoid
from regard.inspection import PartlySeen, watch
from regard.inspection.capture.by_hand.fits import are_weights, same_weights

HEADS, SIZE = 4, 16
WIDTH = HEADS * SIZE
HALF = [torch.bfloat16, torch.float16]
LENGTHS = [8, 40, 200]


class Attention(nn.Module):
    """Attention by hand, with functions for the scores and for what becomes of the weights."""

    def __init__(self, normalised=lambda scores: scores.softmax(-1), then=lambda weights: weights, scale=SIZE**-0.5):
        super().__init__()
        self.inputs = nn.Linear(WIDTH, 3 * WIDTH)
        self.normalised, self.then, self.scale = normalised, then, scale
        self.used = None

    def forward(self, x):
        query, key, value = (each.unflatten(2, (HEADS, -1)).transpose(1, 2) for each in self.inputs(x).chunk(3, -1))
        weights = self.then(self.normalised(query @ key.mT * self.scale))
        self.used = weights.detach().clone()
        return (weights.to(value.dtype) @ value).transpose(1, 2).flatten(2)


def inputs(length, dtype, size=1.0, batch=2):
    return (size * torch.randn(batch, length, WIDTH, generator=torch.Generator().manual_seed(1))).to(dtype)


def watched(model, x):
    """The only layer of a model that goes on as it does unwatched."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", PartlySeen)
        with watch(model) as seen, torch.no_grad():
            output = model(x)
    with torch.no_grad():
        assert torch.equal(output, model(x))
    (layer,) = seen
    return layer


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def cut(weights):
    return torch.where(weights < 1 / weights.shape[-1], 0.0, weights)


CHANGED = {
    "heads mixed": lambda weights: torch.einsum(
        "gh,bhqk->bgqk", torch.eye(HEADS, dtype=weights.dtype).roll(1, 0), weights
    ),
    "gate": lambda weights: weights * 0.9,
    "another order": lambda weights: weights.flip(-1),
    "mean": lambda weights: weights.mean(-1, keepdim=True).expand_as(weights),
    "cut": cut,
    "cut in place": lambda weights: weights.masked_fill_(weights < 1 / weights.shape[-1], 0.0),
    "cut through a view": lambda weights: (weights.view(-1)[::7].zero_(), weights)[1],
    "one key": lambda weights: torch.cat([weights[..., :-1], 2 * weights[..., -1:]], -1),
}


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", [*HALF, torch.float32], ids=str)
@pytest.mark.parametrize("change", CHANGED)
def test_weights_that_are_changed_are_kept_as_they_are(change, dtype, length):
    model = Attention(then=CHANGED[change]).to(dtype)
    layer = watched(model, inputs(length, dtype))
    assert torch.equal(layer.weights().to(dtype), model.used)
    assert "as a table" in layer.notes[0]


HARMLESS = {
    "nothing": lambda weights: weights,
    "once more": lambda weights: weights * 1.0,
    "NaN": torch.nan_to_num,
    "float": lambda weights: weights.float().to(weights.dtype),
    "a mask of zeros": lambda weights: weights.masked_fill(weights == 0, 0.0),
    "clamp": lambda weights: weights.clamp(min=0, max=1),
}


@pytest.mark.parametrize("dtype", [*HALF, torch.float32], ids=str)
def test_scores_that_a_function_leaves_as_they_are_keep_their_rule(dtype):
    def normalised(scores):
        return torch.max(scores, torch.tensor(torch.finfo(dtype).min)).clamp(max=1e4).softmax(-1)

    assert not watched(Attention(normalised).to(dtype), inputs(20, dtype)).notes


@pytest.mark.parametrize("size", [1.0, 6.0])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", HALF, ids=str)
@pytest.mark.parametrize("function", HARMLESS)
def test_weights_that_only_rounding_moves_keep_their_rule(function, dtype, length, size):
    layer = watched(Attention(then=HARMLESS[function]).to(dtype), inputs(length, dtype, size))
    assert not layer.notes
    assert layer.normaliser == "softmax"
    assert layer.query.shape == (2, HEADS, length, SIZE)


BY_HAND = {
    "logsumexp": lambda scores: torch.exp(scores - scores.logsumexp(-1, keepdim=True)),
    "sum": lambda scores: (exp := torch.exp(scores - scores.amax(-1, keepdim=True))) / exp.sum(-1, keepdim=True),
}


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", [*HALF, torch.float32], ids=str)
@pytest.mark.parametrize("way", BY_HAND)
def test_weights_that_are_normalised_by_hand(way, dtype, length):
    model = Attention(BY_HAND[way]).to(dtype)
    layer = watched(model, inputs(length, dtype))
    assert layer.normaliser == "softmax"
    torch.testing.assert_close(layer.weights().float(), model.used.float(), rtol=0.1, atol=1e-4)


@pytest.mark.parametrize("dtype", [*HALF, torch.float32], ids=str)
@pytest.mark.parametrize("change", ["gate", "cut", "one key", "another order"])
@pytest.mark.parametrize("way", BY_HAND)
def test_weights_that_are_normalised_by_hand_and_then_changed(way, change, dtype):
    model = Attention(BY_HAND[way], CHANGED[change]).to(dtype)
    layer = watched(model, inputs(9, dtype))
    assert torch.equal(layer.weights().to(dtype), model.used)
    assert "as a table" in layer.notes[0]


class Elementwise(Attention):
    """Weights and values that are multiplied elementwise, which autocast leaves in their own precision."""

    def forward(self, x):
        query, key, value = (each.unflatten(2, (HEADS, -1)).transpose(1, 2) for each in self.inputs(x).chunk(3, -1))
        self.used = (query @ key.mT).softmax(-1)
        return (self.used.unsqueeze(-1) * value.unsqueeze(2)).sum(3)


def test_elementwise_under_autocast():
    with torch.autocast("cpu", torch.bfloat16):
        layer = watched(model := Elementwise(), inputs(12, torch.float32))
    assert not layer.notes
    torch.testing.assert_close(layer.weights().float(), model.used.float(), rtol=0.1, atol=1e-5)


@pytest.mark.parametrize("average", ["product", "elementwise"])
def test_keys_that_are_the_left_factor_of_weights_without_a_sum(average):
    class BySigmoid(nn.Module):
        def forward(self, x):
            self.used = torch.einsum("bkd,bqd->bqk", x[:, :5], x).sigmoid()
            if average == "product":
                return self.used @ x[:, :5]
            return (self.used.unsqueeze(-1) * x[:, None, :5]).sum(2)

    layer = watched(model := BySigmoid(), inputs(9, torch.float32))
    assert layer.normaliser == Sigmoid(0.0)
    torch.testing.assert_close(layer.weights()[0], model.used)


def test_more_precise_scores_than_values():
    model = Attention(lambda scores: scores.float().softmax(-1)).to(torch.bfloat16)
    layer = watched(model, inputs(30, torch.bfloat16))
    assert not layer.notes
    assert layer.verify() <= layer.tolerance


class Mixed(nn.Module):
    """Scores in float32, and values in half precision."""

    def forward(self, x):
        weights = (x.float() @ x.float().mT / 8).softmax(-1)
        self.used = weights
        return weights.to(x.dtype) @ x


@pytest.mark.parametrize("dtype", HALF, ids=str)
def test_queries_and_keys_of_another_dtype_than_values(dtype):
    layer = watched(model := Mixed(), inputs(20, dtype))
    assert not layer.notes
    assert layer.query.dtype == layer.value.dtype == torch.float32
    torch.testing.assert_close(layer.weights()[0], model.used, rtol=0, atol=1e-6)


@pytest.mark.parametrize("normalised", ["softmax", "float"])
def test_under_autocast(normalised):
    in_float = normalised == "float"
    model = Attention((lambda scores: scores.float().softmax(-1)) if in_float else (lambda scores: scores.softmax(-1)))
    x = inputs(50, torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        layer = watched(model, x)
    assert not layer.notes
    assert layer.query.dtype == torch.bfloat16
    torch.testing.assert_close(layer.weights().float(), model.used.float(), rtol=0.05, atol=1e-6)
    assert layer.verify() <= layer.tolerance


class Called(nn.Module):
    """Queries that a rotation left in float32, while keys and values are in half precision, as autocast makes them."""

    def forward(self, x):
        return functional.scaled_dot_product_attention(x, x.bfloat16(), x.bfloat16(), is_causal=True)


def test_a_call_under_autocast():
    with torch.autocast("cpu", torch.bfloat16):
        layer = watched(Called(), inputs(9, torch.float32).unsqueeze(1))
    assert layer.query.dtype == layer.key.dtype == torch.bfloat16
    assert layer.verify() <= layer.tolerance


def test_the_same_weights():
    weights = torch.tensor([[0.25, 0.75], [0.5, 0.5]], dtype=torch.bfloat16)
    assert same_weights(weights, weights.float())
    assert not same_weights(weights, weights[:1])
    assert not same_weights(weights, weights * torch.tensor([1.0, 0.98]))
    assert not same_weights(weights, weights * torch.tensor([1.0, torch.nan]))


def test_a_sum_of_many_keys_may_be_further_from_1_in_half_precision():
    rows = torch.full((3, 200), 1.03 / 200)
    assert are_weights(rows, torch.bfloat16)
    assert not are_weights(rows, torch.float32)
    assert not are_weights(-rows, torch.bfloat16)
