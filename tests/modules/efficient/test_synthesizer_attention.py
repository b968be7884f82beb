"""The Synthesizer: the oracle makes the whole matrix of weights in NumPy."""

import math

import numpy as np
import pytest
import torch

from modules.efficient.growth import Largest
from regard.errors import ArgumentError, UnknownNameError
from regard.modules.efficient import SynthesizerAttention

DOUBLE = torch.float64
KINDS = pytest.mark.parametrize("kind", ["random", "dense"])
CAUSAL = pytest.mark.parametrize("causal", [False, True])


def synthesizer(kind: str = "random", **others: int) -> SynthesizerAttention:
    torch.manual_seed(0)
    attention = SynthesizerAttention(2, 5, kind=kind, **{"max_length": 19, **others}).double()
    for parameter in attention.parameters():  # biases of 0 would hide that they are missing
        torch.nn.init.normal_(parameter)
    return attention


def vectors(*sizes: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(sizes, dtype=DOUBLE, generator=torch.Generator().manual_seed(seed))


def averaged(scores: np.ndarray, value: np.ndarray, causal: bool) -> np.ndarray:
    """softmax(scores) value for (..., length, length) scores."""
    if causal:
        scores = np.where(np.tril(np.ones_like(scores, dtype=bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ value


@CAUSAL
def test_equals_softmax_of_the_product_of_two_learned_tables(causal):
    attention, value = synthesizer(), vectors(3, 2, 13, 4)
    first, second = (table.detach().numpy()[:, :13] for table in (attention.query_table, attention.key_table))
    output = attention(vectors(3, 2, 13, 5), vectors(3, 2, 13, 5), value, causal=causal)
    expected = averaged(first @ second.transpose(0, 2, 1), value.numpy(), causal)
    assert np.abs(output.detach().numpy() - expected).max() < 1e-12


@CAUSAL
def test_dense_equals_two_layers_on_the_query(causal):
    attention, value, query = synthesizer("dense"), vectors(3, 2, 13, 4), vectors(3, 2, 13, 5, seed=2)
    weight, bias, table, key_bias = (
        parameter.detach().numpy()
        for parameter in (attention.weight, attention.bias, attention.key_table, attention.key_bias)
    )
    hidden = np.maximum(query.numpy() @ weight + bias, 0)
    scores = hidden @ table[:, :13].transpose(0, 2, 1) + key_bias[:, :13, 0][:, None]
    output = attention(query, vectors(3, 2, 13, 5), value, causal=causal)
    assert np.abs(output.detach().numpy() - averaged(scores, value.numpy(), causal)).max() < 1e-12


def test_a_hand_worked_case():
    """Scores 0 and ln 3 in both rows: weights 1/4 and 3/4."""
    attention = SynthesizerAttention(1, 2, rank=1, max_length=2)
    with torch.no_grad():
        attention.query_table[:] = 1.0
        attention.key_table[:] = torch.tensor([[0.0], [math.log(3)]])
    value = torch.tensor([4.0, 8.0]).view(1, 1, 2, 1)
    x = torch.randn(1, 1, 2, 2)
    torch.testing.assert_close(attention(x, x, value).flatten(), torch.tensor([7.0, 7.0]))
    torch.testing.assert_close(attention(x, x, value, causal=True).flatten(), torch.tensor([4.0, 7.0]))


def test_the_weights_do_not_depend_on_the_inputs():
    attention, value, other = synthesizer(), vectors(3, 2, 13, 4), vectors(3, 2, 13, 4, seed=2)
    query, key = vectors(3, 2, 13, 5, seed=3), vectors(3, 2, 13, 5, seed=4)
    output = attention(query, key, value)
    assert torch.equal(attention(-3 * key, query, value), output)
    # With fixed weights, the outputs are linear in the values.
    mixed = attention(query, key, 2 * value - other)
    torch.testing.assert_close(mixed, 2 * output - attention(key, query, other), rtol=0, atol=1e-12)
    dense = synthesizer("dense")
    assert torch.equal(dense(query, key, value), dense(query, -key, value))
    assert not torch.allclose(dense(query, key, value), dense(key, key, value))


@KINDS
def test_causal_attention_ignores_the_future(kind):
    attention, query, value = synthesizer(kind), vectors(1, 2, 13, 5), vectors(1, 2, 13, 3, seed=2)
    output = attention(query, query, value, causal=True)
    query[:, :, 7:], value[:, :, 7:] = 5.0, 5.0
    again = attention(query, query, value, causal=True)
    torch.testing.assert_close(again[:, :, :7], output[:, :, :7], rtol=0, atol=1e-12)


@KINDS
@CAUSAL
def test_padding_does_not_count_whatever_it_holds(kind, causal):
    """A padded item has the outputs and gradients that it has alone."""
    attention, lengths = synthesizer(kind), [9, 13, 0]
    query, value = vectors(3, 2, 13, 5), vectors(3, 2, 13, 3, seed=2)
    for item, length in enumerate(lengths):
        query[item, :, length:], value[item, :, length:] = math.nan, math.nan
    value.requires_grad_()
    output = attention(query, query, value, lengths=lengths, causal=causal)
    inputs = [value, *attention.parameters()]
    gradients = torch.autograd.grad(output.square().sum(), inputs)
    total = [torch.zeros_like(parameter) for parameter in attention.parameters()]
    for item, length in enumerate(lengths):
        alone, x = value.detach()[item : item + 1, :, :length].requires_grad_(), query[item : item + 1, :, :length]
        expected = attention(x, x, alone, causal=causal)
        torch.testing.assert_close(output[item : item + 1, :, :length], expected, rtol=0, atol=1e-12)
        assert output[item, :, length:].count_nonzero() == 0
        if length:
            own, *parameters = torch.autograd.grad(expected.square().sum(), [alone, *attention.parameters()])
            torch.testing.assert_close(gradients[0][item : item + 1, :, :length], own, rtol=0, atol=1e-12)
            for sum_of_all, one in zip(total, parameters, strict=True):
                sum_of_all += one
        assert gradients[0][item, :, length:].count_nonzero() == 0
    for gradient, expected in zip(gradients[1:], total, strict=True):
        torch.testing.assert_close(gradient, expected, rtol=0, atol=1e-11)


@KINDS
@CAUSAL
def test_gradients_reach_every_parameter(kind, causal):
    attention = synthesizer(kind, rank=3, max_length=8)
    query, value = vectors(2, 2, 6, 5).requires_grad_(), vectors(2, 2, 6, 2, seed=2).requires_grad_()
    inputs = (value, *attention.parameters(), *([query] if kind == "dense" else []))
    assert torch.autograd.gradcheck(lambda *_: attention(query, query, value, causal=causal), inputs)
    gradients = torch.autograd.grad(attention(query, query, value).square().sum(), inputs)
    assert all(gradient.abs().max() > 0 for gradient in gradients)


@KINDS
def test_memory_is_linear(kind):
    """No tensor has an entry for each pair of positions; that of the values of a head is the largest."""
    torch.manual_seed(0)
    attention, x = SynthesizerAttention(1, 16, kind=kind), torch.randn(1, 1, 2048, 16)
    with Largest() as mode:
        attention(x, x, x).sum().backward()
    assert mode.largest <= max(2048 * 256, attention.key_table.numel())


@torch.no_grad()
def test_the_scores_have_a_variance_of_one_at_the_start():
    torch.manual_seed(0)
    attention, x = SynthesizerAttention(4, 32, max_length=500), torch.randn(1, 4, 500, 32)
    scores = attention.query_table @ attention.key_table.mT
    assert abs(float(scores.std()) - 1) < 0.1
    dense = SynthesizerAttention(4, 32, kind="dense", max_length=500, rank=32)
    scores = torch.relu(x @ dense.weight + dense.bias) @ dense.key_table.mT
    assert abs(float(scores.std()) - 1) < 0.2


def test_refuses_what_it_cannot_use():
    x = torch.randn(1, 2, 9, 5)
    with pytest.raises(ArgumentError, match=r"at most `max_length` 8 positions, but has 9.*larger max_length"):
        SynthesizerAttention(2, 5, max_length=8)(x, x, x)
    with pytest.raises(ArgumentError, match="`query` must have 3 heads"):
        SynthesizerAttention(3, 5)(x, x, x)
    with pytest.raises(ArgumentError, match="`query` must be of size 4"):
        SynthesizerAttention(2, 4, kind="dense")(x, x, x)
    with pytest.raises(UnknownNameError, match="random"):
        SynthesizerAttention(2, 5, kind="randm")
    for name in ("rank", "max_length"):
        with pytest.raises(ArgumentError, match=f"`{name}` must be"):
            SynthesizerAttention(2, 5, **{name: 0})
