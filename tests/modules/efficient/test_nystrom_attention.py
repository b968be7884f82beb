"""Nystromformer: exact with a landmark for each vector, better with more landmarks, and linear in the length."""

from itertools import pairwise

import numpy as np
import pytest
import torch

import regard
from modules.efficient.growth import is_linear, operations, saved_bytes
from regard.errors import ArgumentError
from regard.modules.efficient import APPROXIMATIONS
from regard.modules.efficient.nystromformer import NystromAttention, pseudo_inverse, segment_weights


def sequence(length, *, batch=2, heads=3, size=5, value_size=2, seed=0, scale=1.0):
    random = torch.Generator().manual_seed(seed)
    shapes = (batch, heads, length, size), (batch, heads, length, size), (batch, heads, length, value_size)
    return [torch.randn(shape, generator=random, dtype=torch.float64) * scale for shape in shapes]


def softmax(scores):
    weights = np.exp(scores)
    return weights / weights.sum(-1, keepdims=True)


def by_the_formula(query, key, value, landmarks):
    """Of one sequence (length, size) each, with the exact pseudo-inverse."""
    length = len(query)
    landmarks = min(landmarks, length)
    groups = [[i for i in range(length) if i * landmarks // length == j] for j in range(landmarks)]
    query_means, key_means = (np.stack([vectors[group].mean(0) for group in groups]) for vectors in (query, key))
    root = np.sqrt(query.shape[-1])
    first, last = softmax(query @ key_means.T / root), softmax(query_means @ key.T / root)
    return first @ np.linalg.pinv(softmax(query_means @ key_means.T / root)) @ (last @ value)


@pytest.mark.parametrize("landmarks", [13, 20])
def test_with_a_landmark_for_each_vector_it_equals_full_attention(landmarks):
    three = sequence(13)
    found = NystromAttention(landmarks, iterations=40)(*three)
    torch.testing.assert_close(found, regard.attend(*three))


@pytest.mark.parametrize(("length", "landmarks"), [(12, 4), (13, 4), (7, 5), (5, 1)])
def test_it_equals_the_formula_with_the_exact_pseudo_inverse(length, landmarks):
    three = sequence(length, seed=1, scale=2.0)
    found = NystromAttention(landmarks, iterations=40)(*three)
    for b in range(2):
        for h in range(3):
            expected = by_the_formula(*(tensor[b, h].numpy() for tensor in three), landmarks)
            torch.testing.assert_close(found[b, h], torch.from_numpy(expected), rtol=1e-6, atol=1e-8)


def test_one_landmark_by_hand():
    # One landmark: its weights are 1 and, with a query of zeros on average, equal; so all outputs are the mean.
    query, value = torch.tensor([[[[1.0], [-1.0]]]]), torch.tensor([[[[2.0], [6.0]]]])
    torch.testing.assert_close(NystromAttention(1)(query, query, value), torch.full((1, 1, 2, 1), 4.0))


def test_segments_by_hand():
    found = segment_weights(torch.tensor([4, 3, 1, 0]), 4, 2)
    expected = torch.zeros(4, 2, 4)
    expected[0] = torch.tensor([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    expected[1] = torch.tensor([[0.5, 0.5, 0, 0], [0, 0, 1, 0]])
    expected[2, 0, 0] = 1
    assert torch.equal(found, expected)


def test_segments_differ_by_one_vector_at_most():
    for length in range(1, 40):
        sizes = (segment_weights(torch.tensor([length]), 40, 7)[0] > 0).sum(1)
        sizes = sizes[: min(length, 7)]
        assert sizes.sum() == length
        assert sizes.max() - sizes.min() <= 1


def test_the_error_falls_with_the_landmarks():
    _, key, value = sequence(96, size=4, seed=2)
    time = torch.linspace(0, 3, 96, dtype=torch.float64)
    waves = torch.stack([torch.sin(2 * time), torch.cos(3 * time), torch.sin(5 * time), time], -1).expand_as(key)
    exact = regard.attend(waves, waves, value)
    errors = [(NystromAttention(m, iterations=25)(waves, waves, value) - exact).square().mean() for m in (2, 6, 24, 96)]
    assert all(larger > 3 * smaller for larger, smaller in pairwise(errors))
    assert errors[-1] < 1e-10


def test_the_iterations_converge_to_the_pseudo_inverse():
    random = torch.Generator().manual_seed(3)
    regular = torch.softmax(3 * torch.randn(2, 3, 6, 6, generator=random, dtype=torch.float64), -1)
    torch.testing.assert_close(pseudo_inverse(regular, 40), torch.linalg.pinv(regular))
    # Of rank 2, where there is no inverse; more iterations would amplify what rounding adds to the rank.
    factors = [torch.rand(shape, generator=random, dtype=torch.float64) for shape in ((5, 2), (2, 5))]
    low_rank = factors[0] @ factors[1]
    torch.testing.assert_close(pseudo_inverse(low_rank, 12), torch.linalg.pinv(low_rank, rtol=1e-10))


def test_the_iterations_are_of_third_order():
    # Near the end, the error of one iteration is bounded by the cube of that before, in the residual I - A Z.
    matrix = torch.softmax(torch.randn(6, 6, generator=torch.Generator().manual_seed(4), dtype=torch.float64) * 3, -1)
    one = torch.eye(6, dtype=torch.float64)
    residuals = [torch.linalg.matrix_norm(one - matrix @ pseudo_inverse(matrix, j), 2).item() for j in range(30)]
    near = [(before, after) for before, after in pairwise(residuals) if 1e-4 < before < 0.3]
    assert near
    assert all(after <= 1.5 * before**3 + 1e-11 for before, after in near)


def test_the_iterations_start_from_the_transpose_over_both_norms():
    matrix = torch.tensor([[1.0, 2.0], [3.0, 4.0]])  # sums of columns: 4 and 6; of rows: 3 and 7
    torch.testing.assert_close(pseudo_inverse(matrix, 0), matrix.T / 42)


def test_padding_is_in_no_landmark():
    lengths, results, layer = [15, 7, 0, 1, 3], [], NystromAttention(4)
    for poison in (0.0, torch.nan, torch.inf, 1e300):
        three = sequence(15, batch=5, seed=5)
        for tensor in three:
            for item, length in enumerate(lengths):
                tensor[item, :, length:] = poison
            tensor.requires_grad_()
        output = layer(*three, lengths=lengths)
        results.append([output, *torch.autograd.grad(output.square().sum(), three)])
    assert all(tensor.isfinite().all() for tensor in results[0])
    for other in results[1:]:
        assert all(torch.equal(*pair) for pair in zip(results[0], other, strict=True))
    three = sequence(15, batch=5, seed=5)
    for item, length in enumerate(lengths):
        alone = layer(*(tensor[item : item + 1, :, :length] for tensor in three))
        torch.testing.assert_close(results[0][0][item : item + 1, :, :length], alone)
        assert not results[0][0][item, :, length:].any()


@pytest.mark.parametrize("lengths", [None, [3]])
def test_numerical_gradients_through_the_pseudo_inverse(lengths):
    layer, three = NystromAttention(3, 4), [t.requires_grad_() for t in sequence(5, batch=1, heads=2, size=2)]
    assert torch.autograd.gradcheck(lambda *tensors: layer(*tensors, lengths=lengths), three)


@pytest.mark.parametrize("cost", [operations, saved_bytes])
def test_costs_are_linear(cost):
    assert is_linear(cost, NystromAttention(16))


def test_the_convolution_adds_a_mixture_of_neighbouring_values():
    layer, plain, three = NystromAttention(4, kernel=3, heads=3).double(), NystromAttention(4), sequence(10, seed=6)
    kernel = layer.kernel.detach().numpy()[:, 0, :, 0]
    added = (layer(*three, lengths=[10, 6]) - plain(*three, lengths=[10, 6])).detach().numpy()
    for b, length in enumerate((10, 6)):
        for h in range(3):
            for feature in range(2):
                values = three[2][b, h, :length, feature].numpy()
                expected = np.convolve(values, kernel[h, ::-1], mode="same")
                np.testing.assert_allclose(added[b, h, :length, feature], expected, atol=1e-12)
    assert not added[1, :, 6:].any()
    assert list(dict(layer.named_parameters())) == ["kernel"]


@pytest.mark.parametrize("shape", [(2, 3, 0), (0, 3, 4), (2, 3, 1)])
def test_short_and_empty_sequences_too(shape):
    three = [torch.ones(*shape, 4, requires_grad=True) for _ in range(3)]
    output = NystromAttention()(*three)
    output.sum().backward()
    assert output.shape == (*shape, 4)
    torch.testing.assert_close(output, torch.ones_like(output))


def test_float32_with_the_numbers_of_the_paper_stays_finite_and_near():
    query, key, value = (tensor.float() for tensor in sequence(64, size=16, seed=7, scale=0.5))
    exact = regard.attend(query, key, value)
    assert (NystromAttention(64)(query, key, value) - exact).abs().max() < 0.1


def test_its_errors():
    assert str(APPROXIMATIONS["nystromformer"]()) == "NystromAttention(landmarks=64, iterations=6)"
    for keyword in ("landmarks", "iterations", "kernel"):
        with pytest.raises(ArgumentError, match=f"`{keyword}` must be the number .* but is 0"):
            NystromAttention(**{keyword: 0})
    with pytest.raises(ArgumentError, match="`heads` must be the number of heads, as there is a `kernel`"):
        NystromAttention(kernel=3)
    with pytest.raises(ArgumentError, match="`kernel` must be odd, to have a middle, but is 32"):
        NystromAttention(kernel=32, heads=2)
    with pytest.raises(ArgumentError, match="`value` must have 2 heads, as `heads` says, but has 3"):
        NystromAttention(kernel=3, heads=2)(*sequence(4))
    with pytest.raises(ArgumentError, match="`causal` must be False for NystromAttention"):
        NystromAttention()(*sequence(4), causal=True)
