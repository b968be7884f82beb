"""Gradients, first and second, against differences of the function itself, for every part that has numbers to train."""

import dataclasses

import pytest
import torch

from attention.cases import (
    POSITION_EXAMPLES,
    SCORE_EXAMPLES,
    WEIGHTS_EXAMPLES,
    Case,
    covering,
    each_part,
    kernels,
    numbers,
    rotation,
    seeded,
)
from attention.comparing import OTHERS, request_of
from regard.attention import Causal, Lengths, Softmax, Window, attend
from regard.attention.engines import ENGINES, fused
from regard.attention.parts import flatten_part, unflatten_part
from regard.errors import ArgumentError, RefusedError


def as_function(case: Case, engine: str):
    """The call as a function of its tensors, and those tensors."""
    arguments = case.make()
    spec, held = flatten_part(tuple(arguments.parts.values()))
    smooth = [i for i, tensor in enumerate(held) if tensor.is_floating_point()]

    def run(query, key, value, *changed):
        filled = list(held)
        for i, tensor in zip(smooth, changed, strict=True):
            filled[i] = tensor
        parts = dict(zip(arguments.parts, unflatten_part(spec, tuple(filled)), strict=True))
        return attend(query, key, value, **parts, **arguments.rest, engine=engine)

    tensors = arguments.query, arguments.key, arguments.value, *(held[i] for i in smooth)
    return run, tuple(tensor.detach().requires_grad_() for tensor in tensors)


def check(case, engine, second):
    run, tensors = as_function(case, engine)
    if second:
        assert torch.autograd.gradgradcheck(run, tensors, fast_mode=True)
    else:
        assert torch.autograd.gradcheck(run, tensors, fast_mode=True)


def able(engines, cases):
    """Each engine with each case that it doesn't refuse."""
    return [
        pytest.param(engine, case, id=f"{engine}-{case}")
        for engine in engines
        for case in cases
        if ENGINES[engine].refuse(request_of(case.make())) is None
    ]


@pytest.mark.parametrize(("engine", "case"), able(ENGINES, each_part(mask="causal & lengths", size="tiny")))
def test_first(engine, case):
    check(case, engine, second=False)


@pytest.mark.parametrize(("engine", "case"), able(OTHERS, each_part(mask="causal & lengths", size="tiny")))
def test_second(engine, case):
    check(case, engine, second=True)


@pytest.mark.parametrize("second", [False, True], ids=["first", "second"])
@pytest.mark.parametrize(("engine", "case"), able(["fused", "banded"], kernels("even, tiny", step=5)))
def test_kernels(engine, case, second):
    check(case, engine, second)


@pytest.mark.parametrize("second", [False, True], ids=["first", "second"])
@pytest.mark.parametrize("case", rotation(45, sizes=["tiny"], dropout=(0.0, 0.3))[::4], ids=str)
def test_in_company(case, second):
    check(case, "auto", second)


@pytest.mark.slow
@pytest.mark.parametrize("second", [False, True], ids=["first", "second"])
@pytest.mark.parametrize("weights", WEIGHTS_EXAMPLES)
def test_any_two_parts(weights, second):
    for score, own, position in covering(SCORE_EXAMPLES, WEIGHTS_EXAMPLES, POSITION_EXAMPLES):
        if own == weights:
            check(Case(score, weights, "causal & lengths", position, "tiny"), "auto", second)


@pytest.mark.exhaustive
@pytest.mark.parametrize("second", [False, True], ids=["first", "second"])
@pytest.mark.parametrize("weights", WEIGHTS_EXAMPLES)
@pytest.mark.parametrize("score", SCORE_EXAMPLES)
def test_any_three_parts(score, weights, second):
    for position in POSITION_EXAMPLES:
        check(Case(score, weights, "causal & lengths", position, "tiny"), "auto", second)


@pytest.mark.parametrize(
    "case", [*(case for case in rotation(45)[::3] if case.weights != "hard"), *kernels("even", step=5)], ids=str
)
def test_a_gradient_of_a_gradient_is_not_lost(case):
    """Every engine's second order is that of the definition, for every tensor at once."""
    results = []
    for engine in ("dense", *(name for name in ENGINES if name != "dense")):
        arguments = case.make()
        tensors = list(arguments.named.values())
        try:
            output = arguments(attend, engine=engine)
        except RefusedError:
            continue
        if not output.requires_grad:
            return
        first = torch.autograd.grad(output.square().sum(), tensors, create_graph=True, allow_unused=True)
        total = sum(g.square().sum() for g in first if g is not None)
        second = torch.autograd.grad(total, tensors, allow_unused=True)
        results.append([torch.zeros_like(t) if g is None else g for t, g in zip(tensors, second, strict=True)])
    assert len(results) > 1
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            torch.testing.assert_close(two, one, rtol=1e-9, atol=1e-9 * max(1.0, one.abs().max().item()))


@pytest.mark.parametrize(("engine", "case"), able(ENGINES, [Case(mask="causal", size="even")]))
def test_only_what_is_asked_for(engine, case):
    """A value that wants no gradient, a key that alone does: the others' are not needed for it."""
    expected = None
    for wanted in (("query", "key", "value"), ("key",), ("value",), ("query",)):
        arguments = case.make()
        for name in ("query", "key", "value"):
            getattr(arguments, name).requires_grad_(name in wanted)
        output = arguments(attend, engine=engine)
        found = torch.autograd.grad(output.square().sum(), [getattr(arguments, name) for name in wanted])
        expected = expected or dict(zip(wanted, found, strict=True))
        for name, gradient in zip(wanted, found, strict=True):
            torch.testing.assert_close(gradient, expected[name], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("engine", "case"), able(ENGINES, [Case(mask="causal", size="even")]))
def test_no_gradient_is_kept_where_none_is_wanted(engine, case):
    arguments = case.make()
    with torch.no_grad():
        assert not arguments(attend, engine=engine).requires_grad
    still = dataclasses.replace(
        arguments, query=arguments.query.detach(), key=arguments.key.detach(), value=arguments.value.detach()
    )
    assert not still(attend, engine=engine).requires_grad


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("mask", [None, "causal", Window(20, 0), Lengths([60])], ids=str)
@pytest.mark.parametrize("scale", [1.0, 1e2, 1e3, 1e5, 1e7])
def test_weights_sum_to_one_in_the_gradient_however_large_scores_are(scale, mask, dtype):
    """The gradient of a sum of outputs to the values is one of the weights: each row gives 1, whatever the scores."""
    query, key, value = (torch.randn(1, 1, 192, 8, generator=seeded(seed)).to(dtype) for seed in range(3))
    query = (scale * query.double()).to(dtype)
    ran = []
    for engine in (*ENGINES, "auto"):
        leaf = value.clone().requires_grad_()
        try:
            output = attend(query, key, leaf, mask=mask, engine=engine)
        except RefusedError:
            continue
        ran.append(engine)
        (gradient,) = torch.autograd.grad(output, leaf, torch.ones_like(output))
        rows = 60 if isinstance(mask, Lengths) else 192
        share = {torch.float32: 2e-5, torch.float64: 1e-13, torch.bfloat16: 4e-3}[dtype]
        assert abs(gradient.double().sum().item() / (rows * 8) - 1) < share, engine
    assert {"dense", "blocked", "auto"} <= {*ran}
    if query.is_cpu:
        assert ("banded" if isinstance(mask, Window) else "fused") in ran


@pytest.mark.parametrize("size", [8, 64, 100])
@pytest.mark.parametrize("large", [1.0, 1e2, 1e3, 1e4])
def test_weights_sum_to_one_in_the_gradient_where_large_terms_cancel(large, size):
    """Scores of a few, as sums of terms that aren't: the forward and the backward pass may round them otherwise."""
    query, key, value = (torch.randn(1, 1, 256, size, generator=seeded(seed)) for seed in range(3))
    query[..., :2], key[..., 0], key[..., 1] = large, large, -large
    for engine in ("fused", "auto", "blocked"):
        leaf = value.clone().requires_grad_()
        output = attend(query, key, leaf, engine=engine)
        (gradient,) = torch.autograd.grad(output, leaf, torch.ones_like(output))
        assert abs(gradient.double().sum().item() / (256 * size) - 1) < 2e-5, engine


def test_where_scores_are_large_the_gradient_is_that_of_tiles():
    """And where they aren't, PyTorch's: a bound that is always exceeded would cost every call its speed."""
    x = torch.randn(1, 1, 64, 8, generator=seeded(0))
    for scale, large in ((1.0, False), (1e4, True), (float("nan"), True)):
        request = request_of(Case().make())
        request = type(request).of(
            scale * x, x, x, score="dot", weights="softmax", mask=None, position=None, dropout=0.0, seed=0
        )
        assert fused.loses_precision(request.reduced()[0]) is large


def test_gradients_of_a_function_without_setup_context():
    """An `autograd.Function` as older packages write them works as a normaliser of one's own, to the second order."""
    for mask in (None, "causal"):
        results = []
        for engine in ("dense", "blocked", "auto"):
            query, key, value = (numbers(1, 2, 5, 3, seed=seed) for seed in range(3))
            output = attend(
                query, key, value, weights=lambda scores, allowed: OldSoftmax.apply(scores), mask=mask, engine=engine
            )
            first = torch.autograd.grad(output.square().sum(), (query, key, value), create_graph=True)
            second = torch.autograd.grad(sum(gradient.square().sum() for gradient in first), (query, key, value))
            results.append((output, *first, *second))
        for other in results[1:]:
            for one, definition in zip(other, results[0], strict=True):
                torch.testing.assert_close(one, definition)


class OldSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores):
        weights = scores.softmax(-1)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx, grad_weights):
        (weights,) = ctx.saved_tensors
        return weights * (grad_weights - (weights * grad_weights).sum(-1, keepdim=True))


@pytest.mark.parametrize("transform", [torch.func.grad, torch.func.jacrev, torch.vmap])
def test_a_function_without_setup_context_is_refused_under_transforms(transform):
    x = torch.randn(1, 1, 1, 4, 3)

    def call(query):
        output = attend(query[0], x[0], x[0], weights=lambda scores, allowed: OldSoftmax.apply(scores))
        return output if transform is torch.vmap else output.sum()

    with pytest.raises(ArgumentError, match=r"uses a torch\.autograd\.Function without setup_context"):
        transform(call)(x[None] if transform is torch.vmap else x)


@pytest.mark.parametrize("mask", [None, "causal", Lengths([5, 7]), Causal() & Lengths([7, 3])], ids=str)
@pytest.mark.parametrize("temperature", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_in_half_precision_a_row_of_one_key_is_as_near_as_the_definition(dtype, temperature, mask):
    """Where one key has almost all the weight, the rest cancels: what PyTorch rounds would be all that is left."""
    for seed, size in ((0, 4), (1, 8), (2, 64)):
        generator = seeded(seed)
        three = [
            (torch.randn(2, 2, 7, size, generator=generator) * each).to(dtype)
            for each in (14 / size**0.5, 4 / size**0.5, 1.0)
        ]
        upward = torch.randn(2, 2, 7, size, generator=generator).to(dtype)

        def found(wide, engine, three=three, upward=upward):
            given = [(each.double() if wide else each.clone()).requires_grad_() for each in three]
            output = attend(*given, score="dot", weights=Softmax(temperature), mask=mask, engine=engine)
            return torch.autograd.grad(output, given, upward.to(output.dtype))

        exact, own = found(True, "dense"), found(False, "dense")
        for one, definition, true in zip(found(False, "auto"), own, exact, strict=True):
            error, its = ((each.double() - true).abs().max() for each in (one, definition))
            assert error <= 3 * its + 1e-3 * true.abs().max(), f"{error:.2g}, {its:.2g} of {true.abs().max():.2g}"
