"""Sparsemax and entmax of rows: laws, hand-worked rows, a search by halving in float64, hostile rows."""

import pytest
import torch
from torch import Tensor

from attention.jit.closeness import assert_close
from regard.attention.engines.jit.entmax import entmax, vjp

DTYPES = [torch.float32, torch.float64]
ALPHAS = [2.0, 1.5, 1.05, 1.25, 1.75, 3.0]


def halved(scores: Tensor, alpha: float) -> Tensor:
    """The definition: tau by halving its bracket until it can't be halved."""
    scores = (alpha - 1) * scores.double()
    high = scores.amax(-1, keepdim=True)
    low = high - 1
    for _ in range(200):
        middle = (low + high) / 2
        enough = ((scores - middle).clamp(min=0) ** (1 / (alpha - 1))).sum(-1, keepdim=True) >= 1
        low, high = torch.where(enough, middle, low), torch.where(enough, high, middle)
    return (scores - low).clamp(min=0) ** (1 / (alpha - 1))


def drawn(dtype: torch.dtype, columns: int, scale: float) -> Tensor:
    generator = torch.Generator().manual_seed(columns)
    return (scale * torch.randn(11, columns, generator=generator, dtype=torch.float64)).to(dtype)


def test_rows_worked_by_hand():
    row = torch.tensor([[1.0, 0.5, -1.0]], dtype=torch.float64)
    # sparsemax: the support is the first two: tau = (1 + 0.5 - 1) / 2 = 0.25.
    assert torch.equal(entmax(row, 2.0), torch.tensor([[0.75, 0.25, 0.0]], dtype=torch.float64))
    # entmax 1.5 of (s, s): each (s/2 - tau)^2 = 1/2.
    assert torch.allclose(entmax(torch.full((1, 2), 3.0), 1.5), torch.tensor([[0.5, 0.5]]))
    # Of (2, 0): halves 1 and 0; tau = 0 gives 1 and 0 exactly, at the edge of the support.
    assert torch.equal(entmax(torch.tensor([[2.0, 0.0]]), 1.5), torch.tensor([[1.0, 0.0]]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("columns", [1, 2, 3, 17, 131, 1009])
def test_against_halving(dtype, alpha, scale, columns):
    scores = drawn(dtype, columns, scale)
    weights = entmax(scores, alpha)
    assert_close(weights, halved(scores, alpha), times=10)
    assert_close(weights.sum(-1), torch.ones(11, dtype=torch.float64))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_many_equal_scores_share(dtype, alpha):
    scores = torch.full((3, 1009), 7.25, dtype=dtype)
    assert_close(entmax(scores, alpha), torch.full((3, 1009), 1 / 1009, dtype=torch.float64))
    scores = drawn(dtype, 1009, 3.0).round()
    assert_close(entmax(scores, alpha), halved(scores, alpha), times=10)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_laws(alpha):
    scores = drawn(torch.float64, 131, 2.0)
    weights = entmax(scores, alpha)
    order = torch.randperm(131, generator=torch.Generator().manual_seed(0))
    assert_close(entmax(scores[:, order], alpha), weights[:, order])
    assert_close(entmax(scores + 1000, alpha), weights, times=100)
    hidden = torch.cat([scores, torch.full((11, 7), -torch.inf, dtype=torch.float64)], dim=1)
    assert_close(entmax(hidden, alpha)[:, :131], weights)
    assert not entmax(hidden, alpha)[:, 131:].any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("alpha", [2.0, 1.5, 1.25])
def test_large_scores_lose_no_digits(dtype, alpha):
    near = torch.tensor([[0.0, -0.25, -0.5, -3.0]], dtype=dtype)
    assert_close(entmax(near + 4096, alpha), halved(near, alpha))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_hostile_rows(dtype, alpha):
    scores = drawn(dtype, 17, 1.0)[:6]
    scores[0] = -torch.inf
    scores[1, 3] = torch.nan
    scores[2, 5] = torch.inf
    scores[3, 1:] = -torch.inf
    scores[4, 2] = torch.finfo(dtype).max
    weights = entmax(scores, alpha)
    assert not weights[0].any()
    assert weights[1].isnan().all()
    assert weights[2].isnan().all()
    assert weights[3].tolist() == [1.0] + [0.0] * 16
    assert weights[4].tolist() == [0.0] * 2 + [1.0] + [0.0] * 14
    assert_close(weights[5], halved(scores[5], alpha), times=10)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_search_ends_on_difficult_rows(alpha):
    # Steps of one rounding, rows of powers of two, denormals: where a search that trusts its steps may go in circles.
    rows = torch.stack(
        [
            1 + torch.arange(127) * torch.finfo(torch.float32).eps,
            -(2.0 ** torch.arange(-63, 64)),
            torch.arange(127) * 1e-44,
            -torch.arange(127) / 126,
            torch.cat([torch.zeros(1), torch.full((126,), -1 + 2**-24)]),
        ]
    )
    assert torch.allclose(entmax(rows, alpha).sum(1), torch.ones(5), atol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_gradient_by_formula(dtype, alpha):
    weights = entmax(drawn(dtype, 131, 1.0), alpha)
    grads = torch.randn(weights.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64).to(dtype)
    power = torch.where(weights > 0, weights.double() ** (2 - alpha), 0.0)
    mean = (power * grads).sum(-1, keepdim=True) / power.sum(-1, keepdim=True)
    assert_close(vjp(grads, weights, alpha), power * (grads - mean))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_gradient_by_differences(alpha):
    scores = drawn(torch.float64, 13, 1.0)
    grads = torch.randn(scores.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = vjp(grads, entmax(scores, alpha), alpha)
    step = 1e-6
    for column in range(13):
        shift = torch.zeros(13, dtype=torch.float64)
        shift[column] = step
        difference = (entmax(scores + shift, alpha) - entmax(scores - shift, alpha)) / (2 * step)
        assert torch.allclose((difference * grads).sum(1), found[:, column], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_gradients_of_hidden_weights_are_zero_whatever_stands_there(alpha):
    weights = entmax(torch.tensor([[1.0, 0.9, -torch.inf], [-torch.inf] * 3]), alpha)
    grads = torch.tensor([[1.0, 2.0, torch.nan], [torch.nan, torch.inf, 1.0]])
    found = vjp(grads, weights, alpha)
    assert found[0].isfinite().all()
    assert found[0, 2] == 0
    assert not found[1].any()


@pytest.mark.parametrize("alpha", [2.0, 1.5, 1.25])
def test_in_place_and_on_any_number_of_threads(alpha, on_threads):
    scores = drawn(torch.float32, 1009, 1.0).repeat(30, 1)
    grads = torch.randn(scores.shape, generator=torch.Generator().manual_seed(1))
    results = []
    for count in (1, 2, 3):
        on_threads(count)
        weights = scores.clone()
        assert entmax(weights, alpha, out=weights) is weights
        change = grads.clone()
        assert vjp(change, weights, alpha, out=change) is change
        results.append((weights, change))
    assert torch.equal(results[0][0], entmax(scores, alpha))
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 5), (2, 3, 5)])
@pytest.mark.parametrize("alpha", [2.0, 1.5, 1.25])
def test_shapes(shape, alpha):
    weights = entmax(torch.zeros(shape), alpha)
    assert weights.shape == shape
    assert vjp(torch.zeros(shape), weights, alpha).shape == shape
