"""Additive scores and their gradients against plain PyTorch in float64."""

import pytest
import torch
from torch import Tensor

from attention.jit.closeness import assert_close
from regard.attention.engines.jit import additive

DTYPES = [torch.float32, torch.float64]
SLOPE = 0.3
# What the queries and keys are drawn from, (scale, shift of the queries, shift of the keys), and whether the
# exponentials fit: near 0; large but opposite; tails on one side; wide on both.
RANGES = {
    "usual": (1.0, 0.0, 0.0, True),
    "opposite": (1.0, 1000.0, -1000.0, True),
    "far off": (1.0, 1000.0, 1000.0, True),
    "wide": (1000.0, 0.0, 0.0, False),
}


def plain(query: Tensor, key: Tensor, vector: Tensor, activation: str) -> Tensor:
    x = query[:, :, None] + key[:, None]
    x = torch.tanh(x) if activation == "tanh" else torch.nn.functional.leaky_relu(x, SLOPE)
    return (x * (vector if vector.ndim == 1 else vector[:, None, None])).sum(-1)


def drawn(dtype: torch.dtype, features: int, by_group: bool, scale=1.0, query_shift=0.0, key_shift=0.0):
    generator = torch.Generator().manual_seed(3)
    query, key, vector = (
        torch.randn(shape, generator=generator, dtype=torch.float64)
        for shape in ((3, 17, features), (3, 29, features), (3, features) if by_group else (features,))
    )
    return (query * scale + query_shift).to(dtype), (key * scale + key_shift).to(dtype), vector.to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation", ["tanh", "leaky_relu"])
@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize(("features", "by_group"), [(7, False), (4, True), (1, True)])
def test_scores_and_gradients(dtype, activation, name, features, by_group):
    scale, query_shift, key_shift, _ = RANGES[name]
    tensors = drawn(dtype, features, by_group, scale, query_shift, key_shift)
    wide = [tensor.double().clone().requires_grad_() for tensor in tensors]
    true = plain(*wide, activation)
    grad = torch.randn(true.shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64).to(dtype)
    true.backward(grad.double())
    assert_close(additive.scores(*tensors, activation, SLOPE), true.detach())
    for found, tensor in zip(additive.vjp(grad, *tensors, activation, SLOPE), wide, strict=True):
        assert_close(found, tensor.grad, times=5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", RANGES)
def test_which_form_is_taken(dtype, name):
    scale, query_shift, key_shift, fits = RANGES[name]
    query, key, _ = drawn(dtype, 5, False, scale, query_shift, key_shift)
    assert (additive._powers(query, key) is not None) == fits


@pytest.mark.parametrize("dtype", DTYPES)
def test_both_forms_of_tanh_are_within_rounding_everywhere(dtype):
    reach = additive._REACH[dtype]
    for bound in (0.9 * reach, 1000.0):
        points = torch.linspace(-bound, bound, 211, dtype=dtype).view(1, -1, 1)
        true = torch.tanh(points.double() + points.double().mT)
        found = additive.scores(points, points, torch.ones(1, dtype=dtype), "tanh")
        assert float((found.double() - true).abs().max()) <= 4 * torch.finfo(dtype).eps


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("side", ["query", "key"])
@pytest.mark.parametrize("sign", [1, -1])
def test_an_outlier_is_cut_off_only_where_tanh_is_flat(dtype, side, sign):
    query, key, vector = drawn(dtype, 5, False)
    outlying, other = (query, key) if side == "query" else (key, query)
    other.clamp_(-1, 1)
    outlying[0, 3, 2] = 500.0 * sign  # meets what is near 0: all flat

    def assert_right(fits: bool) -> None:
        assert (additive._powers(query, key) is not None) == fits
        true = plain(query.double(), key.double(), vector.double(), "tanh")
        assert_close(additive.scores(query, key, vector, "tanh"), true)

    assert_right(fits=True)
    other[0, 5, 2] = -sign * (additive._REACH[dtype] - additive._FLAT[dtype] / 2)  # cut off, the sum would not be flat
    assert_right(fits=False)


@pytest.mark.parametrize("activation", ["tanh", "leaky_relu"])
def test_a_buffer_is_written_into(activation):
    query, key, vector = drawn(torch.float32, 5, False)
    buffer = torch.full((3, 17, 29), torch.nan)
    assert additive.scores(query, key, vector, activation, SLOPE, out=buffer) is buffer
    assert torch.equal(buffer, additive.scores(query, key, vector, activation, SLOPE))


@pytest.mark.parametrize("activation", ["tanh", "leaky_relu"])
@pytest.mark.parametrize("sizes", [(0, 3, 4, 5), (2, 0, 4, 5), (2, 3, 0, 5), (2, 3, 4, 0)])
def test_empty_sizes(activation, sizes):
    groups, rows, columns, features = sizes
    query, key, vector = torch.ones(groups, rows, features), torch.ones(groups, columns, features), torch.ones(features)
    scores = additive.scores(query, key, vector, activation, SLOPE)
    assert torch.equal(scores, torch.zeros(groups, rows, columns))
    grads = additive.vjp(torch.ones_like(scores), query, key, vector, activation, SLOPE)
    for grad, tensor in zip(grads, (query, key, vector), strict=True):
        assert torch.equal(grad, torch.zeros_like(tensor))


@pytest.mark.parametrize("activation", ["tanh", "leaky_relu"])
def test_results_are_the_same_on_any_number_of_threads(activation, on_threads):
    query, key, vector = drawn(torch.float32, 7, True)
    results = []
    for count in (1, 2, 3, 2):
        on_threads(count)
        scores = additive.scores(query, key, vector, activation, SLOPE)
        results.append((scores, *additive.vjp(scores, query, key, vector, activation, SLOPE)))
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_tensors_need_not_be_contiguous_and_are_left_alone():
    query, key, vector = drawn(torch.float64, 6, True)
    strided = query.mT.contiguous().mT, key.expand(3, -1, -1), vector.T.contiguous().T
    copies = [tensor.clone() for tensor in strided]
    assert torch.equal(additive.scores(*strided, "tanh"), additive.scores(query, key, vector, "tanh"))
    grad = torch.ones(3, 29, 17, dtype=torch.float64).mT
    for found, true in zip(
        additive.vjp(grad, *strided, "tanh"), additive.vjp(grad.contiguous(), query, key, vector, "tanh"), strict=True
    ):
        assert torch.equal(found, true)
    assert all(torch.equal(a, b) for a, b in zip(strided, copies, strict=True))
