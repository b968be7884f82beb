"""Attention along edges against dense attention in float64, forward and backward."""

from dataclasses import fields, replace

import pytest
import torch
from torch import Tensor

import regard
from attention.jit.closeness import assert_close
from regard.attention import Edges, Entmax
from regard.attention.dropout import keep_scale
from regard.attention.engines.jit.edge_attention import PairIndices, Problem, attend, vjp, weigh
from regard.attention.engines.jit.entmax import entmax
from regard.attention.engines.jit.entmax import vjp as entmax_vjp
from regard.attention.pairs.csr import csr_of
from regard.attention.sizes import Sizes
from regard.errors import ArgumentError

DTYPES = [torch.float32, torch.float64]
SCORES = ["dot", "tanh", "leaky_relu"]
# Weights, alpha, whether there is a bias.
WEIGHTS = [
    ("softmax", 2.0, False),
    ("relu", 2.0, False),
    ("sigmoid", 2.0, False),
    ("sigmoid", 2.0, True),
    ("hard", 2.0, False),
    ("entmax", 2.0, False),
    ("entmax", 1.5, False),
    ("entmax", 1.3, False),
]
# Groups, queries, keys, features, value features, edges: one head and many, sizes that fill no lane, none at all.
SIZES = [
    (8, 23, 29, 8, 8, 200),
    (1, 23, 29, 64, 5, 200),
    (3, 7, 5, 5, 7, 20),
    (19, 11, 13, 7, 3, 60),
    (2, 5, 7, 1, 1, 9),
    (4, 3, 3, 4, 4, 0),
]


class _Entmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, alpha):
        weights = entmax(scores, alpha)
        ctx.save_for_backward(weights)
        ctx.alpha = alpha
        return weights

    @staticmethod
    def backward(ctx, grad):
        return entmax_vjp(grad, ctx.saved_tensors[0], ctx.alpha), None


def dense(problem: Problem, allowed: Tensor) -> tuple[Tensor, Tensor]:
    """The same over all pairs: the output and the weights."""
    if problem.score == "dot":
        scores = problem.scale * problem.query @ problem.key.mT
    else:
        x = problem.query[:, :, None] + problem.key[:, None]
        x = torch.tanh(x) if problem.score == "tanh" else torch.nn.functional.leaky_relu(x, problem.slope)
        scores = (x * problem.vector[:, None, None]).sum(-1)
    count = allowed.sum(-1, keepdim=True).clamp(min=1).to(scores.dtype)
    hidden = scores.masked_fill(~allowed, -torch.inf)
    if problem.weights == "softmax":
        weights = torch.softmax(hidden, -1)
    elif problem.weights == "relu":
        weights = scores.relu() / count
    elif problem.weights == "sigmoid":
        weights = torch.sigmoid(scores + (-count.log() if problem.bias is None else problem.bias[:, None, None]))
    elif problem.weights == "hard":
        weights = torch.nn.functional.one_hot(hidden.argmax(-1), hidden.shape[-1]).to(scores.dtype)
    else:
        weights = _Entmax.apply(hidden, problem.alpha)
    weights = torch.where(allowed, weights, 0.0)
    if problem.dropout:
        pair_indices = problem.pair_indices
        at = Sizes(1, 1, 1).index(
            pair_indices.batch.unsqueeze(-1),
            pair_indices.head.view(-1, 1, 1),
            pair_indices.query.view(1, -1, 1),
            pair_indices.key.view(1, 1, -1),
        )
        weights = weights * keep_scale(at, problem.dropout, problem.seed, weights.dtype)
    return weights @ problem.value, weights


def drawn(size, score="dot", weights=("softmax", 2.0, False), dropout=0.0) -> tuple[Problem, Tensor, Tensor]:
    """A problem in float64, which pairs are allowed, and a gradient of the output."""
    groups, queries, keys, features, values, edges = size
    generator = torch.Generator().manual_seed(sum(size))
    edge_index = torch.stack([torch.randint(0, side, (edges,), generator=generator) for side in (keys, queries)])
    allowed = torch.zeros(queries, keys, dtype=torch.bool)
    allowed[edge_index[1], edge_index[0]] = True

    def numbers(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    pair_indices = PairIndices(
        torch.randint(0, 9, (groups, queries), generator=generator),
        torch.randint(0, 9, (groups,), generator=generator),
        torch.arange(queries) + 3,
        torch.randint(0, 99, (keys,), generator=generator),
    )
    kind, alpha, biased = weights
    problem = Problem(
        csr_of(edge_index, queries, keys),
        numbers(groups, queries, features),
        numbers(groups, keys, features),
        numbers(groups, keys, values),
        score=score,
        weights=kind,
        scale=0.7 if score == "dot" else 1.0,
        slope=0.3,
        alpha=alpha,
        vector=None if score == "dot" else numbers(groups, features),
        bias=numbers(groups) if biased else None,
        dropout=dropout,
        seed=5,
        pair_indices=pair_indices,
    )
    return problem, allowed, numbers(groups, queries, values)


def cast(problem: Problem, dtype: torch.dtype, *, requires_grad: bool = False) -> Problem:
    """The same in another dtype, of tensors of its own."""
    changed = {
        name: getattr(problem, name).to(dtype, copy=True).requires_grad_(requires_grad)
        for name in ("query", "key", "value", "vector", "bias")
        if getattr(problem, name) is not None
    }
    return replace(problem, **changed)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_output_and_gradients_are_the_dense_ones(dtype, size, score, weights):
    problem, allowed, grad_output = drawn(size, score, weights, dropout=0.3 if size[0] % 2 else 0.0)
    wide = cast(cast(problem, dtype), torch.float64, requires_grad=True)
    narrow, grad_output = cast(problem, dtype), grad_output.to(dtype)
    output, dense_weights = dense(wide, allowed)
    assert_close(attend(narrow), output.detach())
    assert_close(weigh(narrow), dense_weights.detach()[:, allowed])
    output.backward(grad_output.double())
    grads = vjp(narrow, grad_output)
    for field in fields(grads):
        found, tensor = getattr(grads, field.name), getattr(wide, field.name)
        assert (found is None) == (tensor is None)
        if found is not None:
            assert_close(found, torch.zeros_like(tensor) if tensor.grad is None else tensor.grad, times=5, least=1.0)


def test_the_first_of_equal_maxima_is_taken():
    graph = csr_of(torch.tensor([[0, 1, 2, 1], [0, 0, 0, 1]]), 2, 3)
    query, key = torch.ones(1, 2, 1), torch.tensor([[[1.0], [2.0], [2.0]]])
    assert weigh(Problem(graph, query, key, key, weights="hard")).tolist() == [[0.0, 1.0, 0.0, 1.0]]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_what_no_edge_leads_to_cannot_matter(weights):
    problem, _, grad_output = drawn((3, 7, 5, 5, 7, 20), "dot", weights)
    graph = csr_of(torch.tensor([[0, 1, 3], [0, 0, 2]]), 7, 5)
    clean = replace(problem, graph=graph)
    poisoned = replace(clean, **{name: getattr(clean, name).clone() for name in ("query", "key", "value")})
    poisoned.query[:, [1, 3, 4, 5, 6]] = torch.nan
    poisoned.key[:, [2, 4]] = torch.inf
    poisoned.value[:, [2, 4]] = torch.nan
    assert torch.equal(attend(clean), attend(poisoned))
    spoiled = grad_output.clone()
    spoiled[:, [1, 3, 4, 5, 6]] = torch.nan
    for field in fields(found := vjp(poisoned, spoiled)):
        if getattr(found, field.name) is not None:
            assert torch.equal(getattr(found, field.name), getattr(vjp(clean, grad_output), field.name))
    assert not attend(clean)[:, [1, 3, 4, 5, 6]].any()


@pytest.mark.parametrize("weights", WEIGHTS)
def test_nan_that_an_edge_leads_to_is_seen(weights):
    problem, allowed, _ = drawn((3, 7, 5, 5, 7, 20), "dot", weights)
    problem.key[:, 2] = torch.nan
    seen = allowed[:, 2]
    assert seen.any()
    assert not seen.all()
    output = attend(problem)
    assert output[:, seen].isnan().all()
    assert output[:, ~seen].isfinite().all()


@pytest.mark.parametrize("score", SCORES)
def test_results_are_the_same_on_any_number_of_threads(score, on_threads):
    problem, _, grad_output = drawn((3, 501, 499, 4, 3, 20_000), score, ("sigmoid", 2.0, True), 0.1)
    results = []
    for count in (1, 2, 3, 2):
        on_threads(count)
        grads = vjp(problem, grad_output)
        results.append([attend(problem), *(getattr(grads, field.name) for field in fields(grads))])
    for other in results[1:]:
        assert all(a is b is None or torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize("weights", WEIGHTS)
def test_everything_dropped(weights):
    problem, _, grad_output = drawn((3, 7, 5, 5, 7, 20), "tanh", weights, dropout=1.0)
    assert not attend(problem).any()
    grads = vjp(problem, grad_output)
    assert not any(
        getattr(grads, field.name).any() for field in fields(grads) if getattr(grads, field.name) is not None
    )


def test_no_groups_and_no_features():
    graph = csr_of(torch.tensor([[0, 1], [0, 0]]), 2, 3)
    empty = Problem(graph, torch.ones(0, 2, 4), torch.ones(0, 3, 4), torch.ones(0, 3, 5))
    assert attend(empty).shape == (0, 2, 5)
    assert vjp(empty, torch.ones(0, 2, 5)).key.shape == (0, 3, 4)
    flat = Problem(graph, torch.ones(2, 2, 0), torch.ones(2, 3, 0), torch.ones(2, 3, 5))
    assert attend(flat)[:, 0].tolist() == [[1.0] * 5] * 2
    assert vjp(flat, torch.ones(2, 2, 5)).value[:, :, 0].tolist() == [[0.5, 0.5, 0.0]] * 2


def test_what_would_lead_out_of_bounds_is_refused():
    graph = csr_of(torch.tensor([[0, 1], [0, 0]]), 2, 3)
    query, key = torch.ones(1, 2, 4), torch.ones(1, 3, 4)
    with pytest.raises(ArgumentError, match="`graph` must connect as many queries and keys as there are, 3 and 2"):
        Problem(graph, key, query, query)
    with pytest.raises(ArgumentError, match="`graph`"):
        Problem(graph, query, key, query)
    with pytest.raises(ArgumentError, match="`pair_indices` must be given"):
        Problem(graph, query, key, key, dropout=0.5)


@pytest.mark.parametrize("alpha", [1.5, [1.3, 1.7], [1.3, torch.nan], [0.5, 1.7]], ids=str)
def test_a_trained_alpha_has_its_gradient(alpha):
    """A head whose alpha is out of range is NaN, and no other."""
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(1, 2, 9, 4, generator=generator, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    mask = Edges([[0, 1, 2, 5, 8], [1, 1, 0, 5, 3]])
    results = []
    for engine in ("jit", "dense"):
        parameter = torch.tensor(alpha, dtype=torch.float64, requires_grad=True)
        output = regard.attend(*inputs, mask=mask, weights=Entmax(parameter), engine=engine)
        results.append([output, *torch.autograd.grad(output.square().sum(), [*inputs, parameter])])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, equal_nan=True)
    gradient = results[0][-1]
    assert torch.equal(gradient.isfinite(), parameter > 1)
    assert gradient.any()


def test_the_gradient_of_a_sum_is_one_number_expanded():
    query, key, value = (torch.randn(1, 4, 9, 4, requires_grad=True) for _ in range(3))
    mask = Edges([[0, 1, 2, 5, 8], [1, 1, 0, 5, 3]])
    results = [
        torch.autograd.grad(regard.attend(query, key, value, mask=mask, engine=engine).sum(), (query, key, value))
        for engine in ("jit", "dense")
    ]
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)
