"""Performer: an unbiased estimate of the exponential, better with orthogonal features and with more of them."""

import math

import numpy as np
import pytest
import torch

import regard
from modules.efficient.growth import is_linear, operations, saved_bytes
from regard.errors import ArgumentError
from regard.modules.efficient import APPROXIMATIONS
from regard.modules.efficient.performer import PerformerAttention, log_features, orthogonal_directions

BOTH = pytest.mark.parametrize("causal", [False, True])
SIZE = 8


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(11)


def sequence(length, *, batch=2, heads=3, size=SIZE, value_size=3, seed=0, scale=1.0):
    random = torch.Generator().manual_seed(seed)
    shapes = (batch, heads, length, size), (batch, heads, length, size), (batch, heads, length, value_size)
    return [torch.randn(shape, generator=random, dtype=torch.float64) * scale for shape in shapes]


def over_all_pairs(layer, query, key, value, causal):
    """The estimate as the paper writes it, with all weights, and no stabiliser."""
    directions, scale = layer.directions.double().numpy(), query.shape[-1] ** -0.25
    features = []
    for vectors in (query, key):
        x = vectors.numpy() * scale
        features.append(np.exp(x @ directions.T - (x**2).sum(-1, keepdims=True) / 2) / math.sqrt(len(directions)))
    weights = features[0] @ features[1].swapaxes(-1, -2)
    weights = np.tril(weights) if causal else weights
    return torch.from_numpy(weights / weights.sum(-1, keepdims=True) @ value.numpy())


def estimates(directions, query, key):
    """Of exp(q . k), by each set of directions (draws, features, size)."""
    exponents = directions @ query - query.square().sum() / 2 + directions @ key - key.square().sum() / 2
    return exponents.exp().mean(-1)


# Short vectors: the variance of the estimate grows as exp(|q + k|^2).
PAIR = (
    torch.tensor([0.5, -0.1, 0.2, 0.0, 0.1, -0.3, 0.2, 0.1], dtype=torch.float64),
    torch.tensor([0.2, -0.4, 0.1, 0.2, -0.2, 0.1, 0.3, 0.1], dtype=torch.float64),
)
DRAWS = 4000


def orthogonal(features):
    # Each draw is one group of SIZE rows or several whole ones, independent of those of the others.
    return orthogonal_directions(DRAWS * features, SIZE, dtype=torch.float64).view(DRAWS, features, SIZE)


@pytest.mark.parametrize("features", [8, 24])
def test_the_estimate_of_the_exponential_is_unbiased(features):
    found = estimates(orthogonal(features), *PAIR)
    standard_error = found.std() / math.sqrt(DRAWS)
    exact = math.exp(float(PAIR[0] @ PAIR[1]))
    assert standard_error < 0.02 * exact
    assert abs(found.mean() - exact) < 3.5 * standard_error


def test_the_features_of_the_module_estimate_the_exponential():
    query, key = PAIR
    directions = orthogonal_directions(40000, SIZE, dtype=torch.float64)
    found = (log_features(query[None], directions) + log_features(key[None], directions)).exp().mean()
    assert abs(found / math.exp(float(query @ key)) - 1) < 0.02


def test_orthogonal_features_have_less_error_than_independent_ones():
    draws, size = 150_000, 4
    query = torch.tensor([0.3, 0.1, -0.2, 0.0], dtype=torch.float64)
    key = torch.tensor([0.2, 0.2, -0.1, 0.1], dtype=torch.float64)
    sets = [
        orthogonal_directions(draws * size, size, dtype=torch.float64).view(draws, size, size),
        torch.randn(draws, size, size, dtype=torch.float64),
    ]
    errors = [(estimates(each, query, key) - math.exp(float(query @ key))).square() for each in sets]
    spread = math.hypot(*(float(error.std()) / math.sqrt(draws) for error in errors))
    gap = errors[1].mean() - errors[0].mean()
    assert gap > 4 * spread
    # Theorem 2: the mean squared error is smaller by this at least.
    norms = float(query.square().sum() + key.square().sum())
    least = 2 * (size - 1) / (size * (size + 2)) * (math.exp(float(query @ key)) - math.exp(-norms / 2)) ** 2
    assert gap > least - 4 * spread


def test_each_direction_is_a_standard_normal_vector():
    found = orthogonal_directions(19998, 3, dtype=torch.float64)
    assert found.mean(0).abs().max() < 0.03
    torch.testing.assert_close(found.T @ found / len(found), torch.eye(3, dtype=torch.float64), atol=0.04, rtol=0)
    squares = found.square().sum(1)  # chi-squared with 3 degrees of freedom: variance 6
    assert abs(squares.var() - 6) < 0.5
    # Each row by itself, too: the first of each rotation has no preferred sign.
    assert found.view(-1, 3, 3).mean(0).abs().max() < 0.05
    products = (found.view(-1, 3, 3) @ found.view(-1, 3, 3).mT).triu(1)
    assert products.abs().max() < 1e-10


def test_the_error_falls_as_one_over_the_root_of_the_features():
    three = sequence(40, scale=0.4)
    exact = regard.attend(*three)
    errors = []
    for features in (64, 256, 1024, 4096):
        runs = [PerformerAttention(SIZE, features)(*three) - exact for _ in range(6)]
        errors.append(torch.stack(runs).square().mean().sqrt().item())
    slope = np.polyfit(np.log([64, 256, 1024, 4096]), np.log(errors), 1)[0]
    assert -0.6 < slope < -0.4


@BOTH
def test_with_many_features_it_is_close_to_softmax_attention(causal):
    three = sequence(50, scale=0.4)
    exact = regard.attend(*three, mask="causal" if causal else None)
    found = PerformerAttention(SIZE, 16384)(*three, causal=causal)
    mean = three[2].mean(2, keepdim=True)  # what weights that are all equal would give
    assert (found - exact).abs().max() < 0.1
    if not causal:
        assert (found - exact).square().mean() < 0.01 * (mean - exact).square().mean()


@BOTH
@pytest.mark.parametrize("length", [1, 2, 64, 65, 150])
def test_it_equals_the_estimate_over_all_pairs(length, causal):
    layer, three = PerformerAttention(SIZE, 20), sequence(length, seed=1)
    torch.testing.assert_close(layer(*three, causal=causal), over_all_pairs(layer, *three, causal))


@BOTH
def test_the_weights_are_positive_and_sum_to_one(causal):
    query, key, _ = sequence(50, seed=2)
    one_hot = torch.eye(50, dtype=torch.float64).expand(2, 3, 50, 50)
    weights = PerformerAttention(SIZE, 32)(query, key, one_hot, causal=causal)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 50, dtype=torch.float64))
    seen = torch.ones(50, 50, dtype=torch.bool)
    assert (weights[..., seen.tril() if causal else seen] > 0).all()
    assert not causal or not weights[..., seen.triu(1)].any()


@pytest.mark.parametrize("cut", [1, 64, 100])
def test_the_future_has_no_influence(cut):
    layer, three = PerformerAttention(SIZE, 20), [tensor.requires_grad_() for tensor in sequence(150, seed=3)]
    output = layer(*three, causal=True)[:, :, :cut]
    torch.testing.assert_close(output, layer(*(tensor[:, :, :cut] for tensor in three), causal=True))
    for tensor, grad in zip(three, torch.autograd.grad(output.square().sum(), three), strict=True):
        # A single key has a weight of 1, whatever the query and the key are.
        assert grad[:, :, :cut].any() or (cut == 1 and tensor is not three[2])
        assert not grad[:, :, cut:].any()


@BOTH
def test_numerical_gradients(causal):
    layer, three = PerformerAttention(3, 5), [t.requires_grad_() for t in sequence(5, batch=1, heads=2, size=3)]
    assert torch.autograd.gradcheck(lambda *tensors: layer(*tensors, causal=causal), three)
    assert torch.autograd.gradcheck(lambda *tensors: layer(*tensors, lengths=[3], causal=causal), three)


@pytest.mark.parametrize("scale", [30.0, 1000.0])
def test_large_vectors_neither_overflow_nor_vanish(scale):
    three = [tensor.float().requires_grad_() for tensor in sequence(40, scale=scale, seed=4)]
    one = torch.ones(2, 3, 40, 1)
    for causal in (False, True):
        sums = PerformerAttention(SIZE)(*three[:2], one, causal=causal)
        torch.testing.assert_close(sums, one)
        output = PerformerAttention(SIZE)(*three, causal=causal)
        grads = torch.autograd.grad(output.sum(), three)
        assert all(tensor.isfinite().all() for tensor in (output, *grads))


@pytest.mark.parametrize("times", [5.0, 30.0, 1000.0])
@pytest.mark.parametrize("where", [0, 3, 63, 64, 127, 128, 149])
def test_a_large_key_takes_no_weight_from_earlier_queries(where, times):
    query, key, value = (tensor.float() for tensor in sequence(150, size=64, seed=6))
    layer = PerformerAttention(64, 64)
    before = layer(query, key, value, causal=True)
    torch.testing.assert_close(before[:, :, 0], value[:, :, 0])
    key[:, :, where] *= times
    output = layer(query, key, value, causal=True)
    torch.testing.assert_close(output[:, :, :where], before[:, :, :where])
    torch.testing.assert_close(output[:, :, 0], value[:, :, 0])
    torch.testing.assert_close(layer(query, key, torch.ones_like(value), causal=True), torch.ones_like(value))


def test_causal_gradients_are_those_of_the_formula():
    # More than two blocks, so that states and their gradients pass through whole blocks.
    layer, three = PerformerAttention(SIZE, 12), [t.requires_grad_() for t in sequence(300, batch=1, heads=2, seed=7)]
    found = torch.autograd.grad(layer(*three, causal=True).square().sum(), three)
    directions, scale = layer.directions.double(), SIZE**-0.25
    query, key = ((x * scale @ directions.T - (x * scale).square().sum(-1, keepdim=True) / 2).exp() for x in three[:2])
    weights = (query @ key.mT).tril()
    expected = torch.autograd.grad((weights / weights.sum(-1, keepdim=True) @ three[2]).square().sum(), three)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("block", [1, 4])
def test_causal_numerical_gradients_of_both_orders(block, monkeypatch):
    monkeypatch.setattr("regard.modules.efficient.log_feature_sums.BLOCK", block)
    layer, three = PerformerAttention(2, 3), [t.requires_grad_() for t in sequence(5, batch=1, heads=1, size=2)]
    assert torch.autograd.gradcheck(lambda *tensors: layer(*tensors, causal=True), three)
    assert torch.autograd.gradgradcheck(lambda *tensors: layer(*tensors, causal=True), three)


@BOTH
def test_padding_has_no_influence(causal):
    lengths, results, layer = [150, 70, 0, 1], [], PerformerAttention(SIZE, 20)
    for poison in (0.0, torch.nan, torch.inf, 1e300):
        three = sequence(150, batch=4, seed=5)
        for tensor in three:
            for item, length in enumerate(lengths):
                tensor[item, :, length:] = poison
            tensor.requires_grad_()
        output = layer(*three, lengths=lengths, causal=causal)
        results.append([output, *torch.autograd.grad(output.square().sum(), three)])
    assert all(tensor.isfinite().all() for tensor in results[0])
    for other in results[1:]:
        assert all(torch.equal(*pair) for pair in zip(results[0], other, strict=True))
    three = sequence(150, batch=4, seed=5)
    for item, length in enumerate(lengths):
        alone = layer(*(tensor[item : item + 1, :, :length] for tensor in three), causal=causal)
        torch.testing.assert_close(results[0][0][item : item + 1, :, :length], alone)


@BOTH
@pytest.mark.parametrize("cost", [pytest.param(operations, marks=pytest.mark.slow), saved_bytes])
def test_twice_the_length_costs_twice_as_much(cost, causal):
    assert is_linear(cost, PerformerAttention(16, 32), causal=causal)


def test_a_seed_repeats_the_directions_and_the_state_keeps_them():
    torch.manual_seed(1)
    layer = PerformerAttention(SIZE)
    torch.manual_seed(1)
    assert torch.equal(layer.directions, PerformerAttention(SIZE).directions)
    other = PerformerAttention(SIZE)
    assert not torch.equal(layer.directions, other.directions)
    other.load_state_dict(layer.state_dict())
    assert torch.equal(layer.directions, other.directions)
    assert list(layer.state_dict()) == ["directions"]


def test_directions_are_drawn_anew_in_training_only():
    layer, three = PerformerAttention(SIZE, 20, redraw=3), sequence(4)
    drawn = []
    for _ in range(7):
        layer(*three)
        drawn.append(layer.directions)
    assert [torch.equal(drawn[0], each) for each in drawn] == [True, True, True, False, False, False, False]
    assert [torch.equal(drawn[3], each) for each in drawn[3:]] == [True, True, True, False]
    # A training that goes on from the saved state draws after as many calls as it would have without the break.
    resumed = PerformerAttention(SIZE, 20, redraw=3)
    resumed.load_state_dict(layer.state_dict())
    changed = []
    for _ in range(3):
        resumed(*three)
        changed.append(not torch.equal(resumed.directions, layer.directions))
    assert changed == [False, False, True]
    layer.eval()
    for _ in range(4):
        layer(*three)
    assert torch.equal(layer.directions, drawn[-1])
    layer.draw()
    assert not torch.equal(layer.directions, drawn[-1])


def test_a_draw_between_forward_and_backward_leaves_the_gradient():
    # In float32, in which the directions themselves are saved, and no copy of them.
    layer, three = PerformerAttention(SIZE, 20, redraw=1), [tensor.float().requires_grad_() for tensor in sequence(4)]
    first = layer(*three)
    expected = torch.autograd.grad(first.sum(), three, retain_graph=True)
    layer(*three)
    torch.testing.assert_close(torch.autograd.grad(first.sum(), three), expected)


@BOTH
@pytest.mark.parametrize("shape", [(2, 3, 0), (0, 3, 4), (2, 3, 1)])
def test_short_and_empty(shape, causal):
    three = [torch.ones(*shape, 4, requires_grad=True) for _ in range(3)]
    output = PerformerAttention(4)(*three, causal=causal)
    output.sum().backward()
    assert output.shape == (*shape, 4)
    torch.testing.assert_close(output, torch.ones_like(output))


def test_name_and_errors():
    assert str(APPROXIMATIONS["performer"](4)) == "PerformerAttention(4, features=256, redraw=None)"
    for keyword, says in (("head_size", "the size of a query"), ("features", "the number"), ("redraw", "after how")):
        with pytest.raises(ArgumentError, match=f"`{keyword}` must be {says}.* but is 0"):
            PerformerAttention(**{"head_size": 4, keyword: 0})
    with pytest.raises(ArgumentError, match="vectors of `head_size` 4, but are of size 5"):
        PerformerAttention(4)(*(torch.zeros(1, 1, 2, 5) for _ in range(3)))
