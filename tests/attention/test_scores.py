"""The scores: by hand, by law, and their gradients against autograd."""

import math

import pytest
import torch
from torch import nn

from attention.cases import seeded
from regard.attention import scores as module
from regard.attention.parts import flatten_part, operands, unflatten_part
from regard.attention.scores import (
    SCORES,
    Additive,
    Bilinear,
    Cosine,
    Dot,
    LearnedAdditive,
    LearnedBilinear,
    LearnedCosine,
    ScaledDot,
)
from regard.errors import ArgumentError

HEADS, QUERIES, KEYS, FEATURE, KEY_FEATURE = 3, 7, 11, 5, 2
DOUBLE = torch.float64


def draw(*shape, seed=0):
    generator = seeded(seed + sum(shape))
    return torch.randn(shape, generator=generator, dtype=DOUBLE)


def pair(lead=(HEADS,), key_feature=FEATURE):
    return draw(*lead, QUERIES, FEATURE).requires_grad_(), draw(*lead, KEYS, key_feature).requires_grad_()


def trained(*shape, seed=1):
    return draw(*shape, seed=seed).requires_grad_()


EXAMPLES = {
    "dot": lambda: Dot(),
    "dot with a scale": lambda: Dot(0.3),
    "scaled_dot": lambda: ScaledDot(),
    "additive": lambda: Additive(trained(FEATURE)),
    "additive with bias": lambda: Additive(trained(FEATURE), trained(FEATURE, seed=2)),
    "additive by head": lambda: Additive(trained(HEADS, FEATURE), trained(HEADS, FEATURE, seed=2)),
    "additive, bias by head": lambda: Additive(trained(FEATURE), trained(HEADS, FEATURE, seed=2)),
    "additive, leaky": lambda: Additive(trained(FEATURE), None, "leaky_relu"),
    "additive, leaky, by head": lambda: Additive(trained(HEADS, FEATURE), trained(FEATURE), "leaky_relu", 0.01),
    "bilinear": lambda: Bilinear(trained(FEATURE, FEATURE)),
    "bilinear by head": lambda: Bilinear(trained(HEADS, FEATURE, FEATURE)),
    "bilinear, sizes differ": lambda: Bilinear(trained(FEATURE, KEY_FEATURE)),
    "cosine": lambda: Cosine(),
    "cosine with a scale": lambda: Cosine(trained()),
    "cosine by head": lambda: Cosine(trained(HEADS)),
}
ADDITIVE = [name for name in EXAMPLES if name.startswith("additive")]


def example(name, lead=(HEADS,)):
    score = EXAMPLES[name]()
    return score, *pair(lead, KEY_FEATURE if "sizes" in name else FEATURE)


def broadcast_additive(score, query, key):
    """The definition, with every feature of every pair."""
    bias = 0.0 if score.bias is None else score.bias[..., None, None, :]
    sums = query.unsqueeze(-2) + key.unsqueeze(-3) + bias
    active = sums.tanh() if score.activation == "tanh" else nn.functional.leaky_relu(sums, score.slope)
    return (active * score.vector[..., None, None, :]).sum(-1)


def near(actual, expected, tolerance=1e-12):
    assert actual.shape == expected.shape
    gap = (actual - expected).abs().max().item()
    assert gap <= tolerance * max(1.0, expected.abs().max().item()), f"worst gap {gap:.3g}"


def test_additive_by_hand():
    query, key = torch.tensor([[0.0, 1.0]]), torch.tensor([[0.0, -1.0], [1.0, 1.0]])
    vector, bias = torch.tensor([2.0, -1.0]), torch.tensor([0.5, 0.0])
    expected = [[2 * math.tanh(0.5), 2 * math.tanh(1.5) - math.tanh(2)]]
    torch.testing.assert_close(Additive(vector, bias)(query, key), torch.tensor(expected))
    leaky = Additive(vector, bias, "leaky_relu", 0.1)(query, torch.tensor([[-1.5, -3.0]]))
    torch.testing.assert_close(leaky, torch.tensor([[2 * -0.1 - 1 * -0.2]]))


def test_bilinear_by_hand():
    matrix = torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]])
    # (3, 4) W = (3, 4, 6), and (3, 4, 6) . (1, -1, 1) = 5.
    assert Bilinear(matrix)(torch.tensor([[3.0, 4.0]]), torch.tensor([[1.0, -1.0, 1.0]])).item() == 5.0


def test_cosine_by_hand():
    query, key = torch.tensor([[3.0, 4.0], [0.0, 2.0]]), torch.tensor([[4.0, 3.0], [-6.0, -8.0]])
    torch.testing.assert_close(Cosine()(query, key), torch.tensor([[0.96, -1.0], [0.6, -0.8]]))


@pytest.mark.parametrize("at_once", [1, 97, 2**17])
@pytest.mark.parametrize("lead", [(HEADS,), (2, HEADS)], ids=["tile", "batch"])
@pytest.mark.parametrize("name", ADDITIVE)
def test_additive_is_its_definition_however_it_is_cut(name, lead, at_once, monkeypatch):
    monkeypatch.setattr(module, "_numbers_at_once", lambda tensor: at_once)
    score, query, key = example(name, lead)
    wanted = (query, key, *operands(score))
    actual, expected = score(query, key), broadcast_additive(score, query, key)
    near(actual, expected)
    upward = draw(*expected.shape)
    for one, two in zip(
        torch.autograd.grad(actual, wanted, upward), torch.autograd.grad(expected, wanted, upward), strict=True
    ):
        near(one, two)


@pytest.mark.parametrize("name", EXAMPLES)
def test_reduced_is_the_same(name):
    score, query, key = example(name)
    if hasattr(score, "reduce"):
        core, fewer, other = score.reduce(query, key)
        assert isinstance(core, (Dot, Additive))
        assert getattr(core, "bias", None) is None
        near(core(fewer, other), score(query, key))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_gradient_by_hand_is_that_of_autograd(name):
    score, query, key = example(name)
    if not hasattr(score, "vjp"):
        score, query, key = score.reduce(query, key)
        query, key = query.detach().requires_grad_(), key.detach().requires_grad_()
    output = score(query, key)
    upward = draw(*output.shape)
    wanted = (query, key, *operands(score))
    expected = torch.autograd.grad(output, wanted, upward)
    with torch.no_grad():
        actual = score.vjp(upward.clone(), query, key)
    for one, two in zip(actual, expected, strict=True):
        near(one, two)


@pytest.mark.parametrize("name", EXAMPLES)
def test_first_and_second_derivatives(name):
    score, query, key = example(name)
    spec, tensors = flatten_part(score)

    def run(query, key, *tensors):
        return unflatten_part(spec, tensors)(query, key)

    inputs = (query, key, *tensors)
    assert torch.autograd.gradcheck(run, inputs, fast_mode=True)
    assert torch.autograd.gradgradcheck(run, inputs, fast_mode=True)
    # The same through functions of functions, as the engine takes them tile by tile.
    upward = draw(HEADS, QUERIES, KEYS)
    bare = tuple(tensor.detach() for tensor in inputs)
    toward = tuple(draw(*tensor.shape, seed=9) for tensor in inputs)
    second = torch.func.vjp(lambda *all: torch.func.vjp(run, *all)[1](upward), *bare)[1](toward)
    first = torch.autograd.grad(run(*inputs), inputs, upward, create_graph=True)
    expected = torch.autograd.grad(first, inputs, toward, allow_unused=True, materialize_grads=True)
    for one, two in zip(second, expected, strict=True):
        near(one, two)


@pytest.mark.parametrize("name", EXAMPLES)
def test_vmap(name):
    score, query, key = example(name)
    queries = torch.stack([query, 2 * query]).detach()
    mapped = torch.func.vmap(lambda one: torch.func.grad(lambda q: score(q, key).square().sum())(one))(queries)
    for one, own in zip(mapped, queries, strict=True):
        near(one, torch.func.grad(lambda q: score(q, key).square().sum())(own))


@pytest.mark.parametrize("name", EXAMPLES)
def test_selecting_heads_is_taking_their_rows(name):
    score, query, key = example(name)
    heads = torch.tensor([2, 0, 2, 1])
    chosen = score.select(heads) if hasattr(score, "select") else score
    near(chosen(query[heads], key[heads]), score(query, key)[heads])


@pytest.mark.parametrize("name", EXAMPLES)
def test_permuting_keys_permutes_scores(name):
    score, query, key = example(name)
    order = torch.randperm(KEYS, generator=seeded(4))
    near(score(query, key[:, order]), score(query, key)[..., order])


def test_tanh_at_the_ends():
    """tanh is taken from the logistic function: to the same rounding, and without overflow."""
    query = torch.tensor([[-3e38], [-50.0], [-1e-4], [0.0], [1e-4], [9.0], [3e38]])
    actual = Additive(torch.ones(1))(query, torch.zeros(1, 1))
    torch.testing.assert_close(actual, query.double().tanh().float(), atol=3e-7, rtol=0)
    grads = Additive(torch.ones(1)).vjp(torch.ones(7, 1), query, torch.zeros(1, 1))
    assert all(torch.isfinite(grad).all() for grad in grads)


def test_cosine_of_nothing_and_of_huge_and_tiny():
    query = torch.tensor([[0.0, 0.0], [3e38, 3e38], [1e-40, 0.0]], requires_grad=True)
    key = torch.tensor([[1.0, 1.0], [0.0, 0.0], [0.0, -1e30]], requires_grad=True)
    scores = Cosine()(query, key)
    half = math.sqrt(0.5)
    expected = torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, -half], [half, 0.0, 0.0]])
    torch.testing.assert_close(scores, expected, atol=1e-6, rtol=0)
    grads = torch.autograd.grad(scores.sum(), (query, key), create_graph=True)
    assert (grads[0][0] == 0).all()
    assert (grads[1][1] == 0).all()
    assert torch.isfinite(grads[1]).all()
    again = torch.autograd.grad(Cosine()(query[:1], key).sum() + grads[0][:1].sum(), (query, key))
    assert all(torch.isfinite(grad[0]).all() for grad in again)


def test_cosine_ignores_length():
    query, key = pair()
    near(Cosine(3.0)(query * 7, key * 0.01), Cosine(3.0)(query, key))


def test_memory_of_additive_is_that_of_the_tile(monkeypatch):
    """Neither the scores nor their gradient, hand-written or not, ever hold as many numbers as feature x tile."""
    features, queries, keys = 61, 67, 1009
    query, key = torch.randn(1, queries, features), torch.randn(1, keys, features)
    vector = torch.randn(features, requires_grad=True)
    largest, at_once = 0, 2**17
    # A GPU takes more at once.
    monkeypatch.setattr(module, "_numbers_at_once", lambda tensor: at_once)

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            nonlocal largest
            result = function(*args, **(kwargs or {}))
            for tensor in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(tensor, torch.Tensor):
                    largest = max(largest, tensor.numel())
            return result

    with Watch():
        score = Additive(vector)
        output = score(query, key)
        (grad,) = torch.autograd.grad(output.square().sum(), vector, create_graph=True)
        grad.square().sum().backward()
        score.vjp(torch.ones_like(output).detach(), query, key)
    assert largest <= 2 * max(queries * keys, at_once)
    assert 8 * largest < features * queries * keys


@pytest.mark.parametrize("sizes", [(0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 1, 1)])
def test_empty_sizes(sizes):
    queries, keys, feature = sizes
    query, key = torch.ones(2, queries, feature), torch.ones(2, keys, feature)
    for score in (Additive(torch.ones(feature)), Cosine(), Bilinear(torch.ones(feature, feature)), Dot()):
        assert score(query, key).shape == (2, queries, keys)
    grads = Additive(torch.ones(feature)).vjp(torch.ones(2, queries, keys), query, key)
    assert [grad.shape for grad in grads] == [query.shape, key.shape, (feature,)]


def test_modules_give_their_parameters():
    torch.manual_seed(0)
    for made in (
        LearnedAdditive(FEATURE),
        LearnedAdditive(FEATURE, HEADS, activation="leaky_relu", slope=0.1),
        LearnedBilinear(FEATURE),
        LearnedBilinear(FEATURE, HEADS, key_size=KEY_FEATURE),
        LearnedCosine(),
        LearnedCosine(HEADS, scale=4.0),
    ):
        assert {id(parameter) for parameter in made.parameters()} == {id(tensor) for tensor in operands(made)}
        key_size = (
            KEY_FEATURE if getattr(made.part(), "matrix", torch.zeros(0)).shape[-1:] == (KEY_FEATURE,) else FEATURE
        )
        made.part().check(FEATURE, key_size, HEADS)
    assert LearnedAdditive(FEATURE, bias=False).bias is None


def test_modules_start_with_scores_of_about_one():
    torch.manual_seed(0)
    size = 64
    query, key = torch.randn(1, 53, size), torch.randn(1, 59, size)
    for made in (LearnedAdditive(size), LearnedBilinear(size)):
        assert 0.3 < made.part()(query, key).std().item() < 2.0


@pytest.mark.parametrize(
    ("score", "sizes", "message"),
    [
        (lambda: Additive(torch.ones(4)), (5, 5, 3), r"`score` must have a vector \(5,\), or \(3, 5\)"),
        (lambda: Additive(torch.ones(2, 5)), (5, 5, 3), r"\(3, 5\).*but its vector is \(2, 5\)"),
        (lambda: Additive(torch.ones(5), torch.ones(1)), (5, 5, 3), "must have a bias"),
        (lambda: Additive(torch.ones(5)), (5, 4, 3), "`key` must have the feature size"),
        (lambda: Bilinear(torch.ones(5, 4)), (5, 5, 3), r"must have a matrix \(5, 5\), or \(3, 5, 5\)"),
        (lambda: Cosine(torch.ones(2)), (5, 5, 3), r"scale \(\), or \(3,\)"),
        (lambda: Cosine(), (5, 4, 3), "`key` must have the feature size"),
    ],
)
def test_sizes_that_do_not_fit(score, sizes, message):
    with pytest.raises(ArgumentError, match=message):
        score().check(*sizes)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Additive(torch.ones(5), activation="relu"), "`activation` must be 'tanh' or 'leaky_relu'"),
        (lambda: LearnedAdditive(5, activation="gelu"), "`activation`"),
        (lambda: Additive(torch.ones(1, 2, 5)), r"`vector` must be \(feature,\) or \(head, feature\)"),
        (lambda: Additive(torch.ones(5), torch.ones(())), "`bias`"),
        (lambda: Bilinear(torch.ones(5)), "`matrix` must be"),
        (lambda: Cosine(torch.ones(1, 1)), "`scale` must be a number"),
    ],
)
def test_what_can_not_be_made(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_every_name_is_made_from_the_size_of_a_head():
    for make in SCORES.values():
        try:
            made = make()
        except TypeError:
            made = make(FEATURE)
        assert callable(made.part() if isinstance(made, nn.Module) else made)
