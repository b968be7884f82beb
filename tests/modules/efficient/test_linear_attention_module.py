"""Linear attention: equal to its formula over all pairs, to a recurrent network, and linear in the length."""

import numpy as np
import pytest
import torch

import regard
from modules.efficient.growth import is_linear, operations, saved_bytes
from regard.errors import ArgumentError, UnknownNameError
from regard.modules.efficient import APPROXIMATIONS
from regard.modules.efficient.linear import FEATURE_MAPS, LinearAttention

LENGTHS = [1, 2, 63, 64, 65, 128, 150]  # around the size of a block of the causal sums, and several blocks
BOTH = pytest.mark.parametrize("causal", [False, True])


def sequence(length, *, batch=2, heads=3, size=5, value_size=2, seed=0):
    random = torch.Generator().manual_seed(seed)
    shapes = (batch, heads, length, size), (batch, heads, length, size), (batch, heads, length, value_size)
    return [torch.randn(shape, generator=random, dtype=torch.float64) for shape in shapes]


def phi(vectors):
    return np.where(vectors > 0, vectors + 1, np.exp(np.minimum(vectors, 0)))


def over_all_pairs(query, key, value, causal):
    """The formula as it stands, with its (length x length) weights."""
    query, key, value = (tensor.numpy() for tensor in (query, key, value))
    weights = phi(query) @ phi(key).swapaxes(-1, -2)
    if causal:
        weights = np.tril(weights)
    return torch.from_numpy(weights / weights.sum(-1, keepdims=True) @ value)


def as_a_recurrent_network(query, key, value):
    query, key, value = (tensor.numpy() for tensor in (query, key, value))
    state = np.zeros((*key.shape[:2], key.shape[-1], value.shape[-1]))
    norm = np.zeros((*key.shape[:2], key.shape[-1]))
    outputs = []
    for i in range(key.shape[2]):
        state += np.einsum("bhf,bhv->bhfv", phi(key[:, :, i]), value[:, :, i])
        norm += phi(key[:, :, i])
        sums = np.einsum("bhf,bhfv->bhv", phi(query[:, :, i]), state)
        outputs.append(sums / np.einsum("bhf,bhf->bh", phi(query[:, :, i]), norm)[..., None])
    return torch.from_numpy(np.stack(outputs, axis=2))


@pytest.mark.parametrize("length", LENGTHS)
@BOTH
def test_it_equals_the_formula_over_all_pairs(length, causal):
    three = sequence(length)
    torch.testing.assert_close(LinearAttention()(*three, causal=causal), over_all_pairs(*three, causal))


@pytest.mark.parametrize("length", LENGTHS)
def test_the_causal_form_is_a_recurrent_network(length):
    three = sequence(length, seed=1)
    torch.testing.assert_close(LinearAttention()(*three, causal=True), as_a_recurrent_network(*three))


def test_three_items_by_hand():
    # phi of the keys: 1, 3 and 1/2; that of the query, 2, cancels.
    query = torch.full((1, 1, 3, 1), 1.0)
    key = torch.tensor([0.0, 2.0, -np.log(2)], dtype=torch.float32).view(1, 1, 3, 1)
    value = torch.tensor([4.0, 8.0, 2.0]).view(1, 1, 3, 1)
    expected = torch.tensor([4.0, 28 / 4, 29 / 4.5]).view(1, 1, 3, 1)
    torch.testing.assert_close(LinearAttention()(query, key, value, causal=True), expected)


@pytest.mark.parametrize("cut", [1, 64, 100])
def test_the_future_changes_nothing(cut):
    three = [tensor.requires_grad_() for tensor in sequence(150, seed=2)]
    output = LinearAttention()(*three, causal=True)[:, :, :cut]
    torch.testing.assert_close(output, LinearAttention()(*(t[:, :, :cut] for t in three), causal=True))
    changed = [torch.cat([t[:, :, :cut], torch.full_like(t[:, :, cut:], 1e4)], 2) for t in three]
    assert torch.equal(output, LinearAttention()(*changed, causal=True)[:, :, :cut])
    for grad in torch.autograd.grad(output.square().sum(), three):
        assert grad[:, :, :cut].any()
        assert not grad[:, :, cut:].any()


@BOTH
def test_the_gradients_are_those_of_the_formula(causal):
    # More than two blocks, so that states and their gradients pass through whole blocks.
    three = [tensor.requires_grad_() for tensor in sequence(150, batch=1, heads=2, seed=3)]
    found = torch.autograd.grad(LinearAttention()(*three, causal=causal).square().sum(), three)
    features = [torch.where(x > 0, x + 1, x.clamp(max=0).exp()) for x in three[:2]]
    weights = features[0] @ features[1].mT
    weights = weights.tril() if causal else weights
    expected = torch.autograd.grad((weights / weights.sum(-1, keepdim=True) @ three[2]).square().sum(), three)
    torch.testing.assert_close(found, expected)


@BOTH
def test_numerical_gradients_of_both_orders(causal, monkeypatch):
    monkeypatch.setattr("regard.modules.efficient.feature_sums.BLOCK", 2)
    three = [tensor.requires_grad_() for tensor in sequence(5, batch=1, heads=1, size=2, seed=4)]

    def attend(*tensors):
        return LinearAttention()(*tensors, causal=causal)

    assert torch.autograd.gradcheck(attend, three)
    assert torch.autograd.gradgradcheck(attend, three)


@BOTH
def test_what_padding_holds_cannot_matter(causal):
    lengths, results = [150, 70, 0, 1], []
    for poison in (0.0, torch.nan, torch.inf, 1e300):
        three = sequence(150, batch=4, seed=5)
        for tensor in three:
            for item, length in enumerate(lengths):
                tensor[item, :, length:] = poison
            tensor.requires_grad_()
        output = LinearAttention()(*three, lengths=lengths, causal=causal)
        results.append([output, *torch.autograd.grad(output.square().sum(), three)])
    assert all(tensor.isfinite().all() for tensor in results[0])
    for other in results[1:]:
        assert all(torch.equal(*pair) for pair in zip(results[0], other, strict=True))
    three = sequence(150, batch=4, seed=5)
    for item, length in enumerate(lengths):
        alone = LinearAttention()(*(tensor[item : item + 1, :, :length] for tensor in three), causal=causal)
        torch.testing.assert_close(results[0][0][item : item + 1, :, :length], alone)
        assert not results[0][0][item, :, length:].any()


@BOTH
@pytest.mark.parametrize("cost", [operations, saved_bytes])
def test_the_cost_is_linear_in_the_length(cost, causal):
    assert is_linear(cost, LinearAttention(), causal=causal)


def test_it_is_not_softmax():
    three = sequence(20, seed=6)
    assert (LinearAttention()(*three) - regard.attend(*three)).abs().max() > 0.05


def test_a_feature_map_of_ones_own():
    # One feature that is 1 for every vector: the weights are equal.
    three = sequence(9, seed=7)
    averages = LinearAttention(lambda vectors: torch.ones_like(vectors[..., :1]))(*three)
    torch.testing.assert_close(averages, three[2].mean(2, keepdim=True).expand_as(three[2]))


def test_features_of_large_negative_numbers_are_exact_in_float32():
    x = torch.tensor([-80.0, -20.0, -18.0, -17.0, -16.0, -1e-3, 0.0, 1e-3, 5.0], requires_grad=True)
    features = FEATURE_MAPS["elu"](x)
    wide = x.detach().double()
    torch.testing.assert_close(features.double(), torch.where(wide > 0, wide + 1, wide.exp()), rtol=1e-6, atol=0)
    (grad,) = torch.autograd.grad(features.sum(), x)
    torch.testing.assert_close(grad.double(), torch.where(wide > 0, 1, wide.exp()), rtol=1e-6, atol=0)


def test_negative_features_are_refused():
    three = sequence(9, seed=7)
    with pytest.raises(ArgumentError, match="`feature_map` must give features that are never negative, but gave -"):
        LinearAttention(lambda vectors: vectors)(*three)


@BOTH
def test_weights_that_are_all_zero_give_zeros(causal):
    three = [tensor.requires_grad_() for tensor in (torch.full((1, 1, 3, 2), -200.0) for _ in range(3))]
    output = LinearAttention()(*three, causal=causal)
    assert not output.any()
    assert all(grad.isfinite().all() for grad in torch.autograd.grad(output.sum(), three))


@BOTH
@pytest.mark.parametrize("shape", [(2, 3, 0), (0, 3, 4), (2, 3, 1)])
def test_short_and_empty_sequences(shape, causal):
    three = [torch.ones(*shape, 4, requires_grad=True) for _ in range(3)]
    output = LinearAttention()(*three, causal=causal)
    output.sum().backward()
    assert output.shape == (*shape, 4)
    assert (output == 1).all()


def test_narrow_inputs_are_summed_in_float32():
    three = [tensor.bfloat16() for tensor in sequence(150, seed=8)]
    output = LinearAttention()(*three, causal=True)
    assert output.dtype == torch.bfloat16
    expected = over_all_pairs(*(tensor.double() for tensor in three), True)
    torch.testing.assert_close(output.double(), expected, rtol=2**-8, atol=1e-4)


def test_its_name_and_its_errors():
    assert APPROXIMATIONS["linear"]().feature_map == "elu"
    assert str(LinearAttention()) == "LinearAttention(feature_map='elu')"
    with pytest.raises(UnknownNameError, match="Did you mean 'elu'"):
        LinearAttention("elo")
    with pytest.raises(ArgumentError, match="`feature_map` must be a name or a function of vectors, but is 3"):
        LinearAttention(3)
