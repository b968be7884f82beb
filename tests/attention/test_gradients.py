"""Gradients, first and second, against differences of the function itself, for every part that has numbers to train."""

import dataclasses

import pytest
import torch

from attention.cases import POSITION_EXAMPLES, SCORE_EXAMPLES, WEIGHTS_EXAMPLES, Case, each_part, kernels, rotation
from attention.comparing import OTHERS, request_of
from regard.attention import attend
from regard.attention.engines import ENGINES
from regard.attention.parts import join, split
from regard.errors import RefusedError


def as_function(case: Case, engine: str):
    """The call as a function of its tensors, and those tensors."""
    arguments = case.make()
    spec, held = split(tuple(arguments.parts.values()))
    smooth = [i for i, tensor in enumerate(held) if tensor.is_floating_point()]

    def run(query, key, value, *changed):
        filled = list(held)
        for i, tensor in zip(smooth, changed, strict=True):
            filled[i] = tensor
        parts = dict(zip(arguments.parts, join(spec, tuple(filled)), strict=True))
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
@pytest.mark.parametrize("score", SCORE_EXAMPLES)
def test_whatever_meets(score, weights, second):
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
