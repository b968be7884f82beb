"""The log-sums of the rows: what they are, on every engine, with their gradients, and that parts of the keys merge."""

import math

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck
from torch.func import grad, vmap
from torch.testing import assert_close

from attention.cases import (
    ALL_SIZES,
    MASK_EXAMPLES,
    POSITION_EXAMPLES,
    RULES,
    SCORE_EXAMPLES,
    SIZES,
    WEIGHTS_EXAMPLES,
    Arguments,
    Case,
    covering,
    for_oracle,
    kernels,
)
from attention.comparing import OTHERS
from regard import watch
from regard.attention import Additive, Bias, Causal, Dot, Edges, Lengths, Softmax, Window, attend, plan
from regard.attention.request import Request
from regard.errors import ArgumentError, RefusedError
from regard.inspection import RemoveHead
from regard.inspection.capture.intervene import changed
from regard.jury import oracle

SOFTMAXES = [name for name in WEIGHTS_EXAMPLES if name.startswith("softmax")]
CASES = [Case(*row) for row in covering(SCORE_EXAMPLES, SOFTMAXES, MASK_EXAMPLES, POSITION_EXAMPLES, SIZES, (0.0, 0.3))]
KERNELS = kernels("self", "even", "grouped", "even", "even, long")
ENGINES = ["dense", *OTHERS]


def outcome(arguments: Arguments, engine: str) -> dict[str, Tensor]:
    """Output, log-sums and the gradients through both; an engine may take another way where none is wanted."""
    output, log_sums = arguments(attend, engine=engine, log_sums=True)
    with torch.no_grad():
        alone, log_sums_alone = arguments(attend, engine=engine, log_sums=True)
    upward = [
        torch.linspace(first, -1, result.numel(), dtype=result.dtype).view_as(result)
        for first, result in ((0.7, output), (1.3, log_sums))
    ]
    named = arguments.named
    found = {"output": output, "log-sums": log_sums, "output alone": alone, "log-sums alone": log_sums_alone}
    grads = torch.autograd.grad([output, log_sums], list(named.values()), upward, materialize_grads=True)
    return {name: t.detach() for name, t in found.items()} | dict(zip(named, grads, strict=True))


@pytest.mark.parametrize("case", [*CASES[::6], *kernels("self", "even", "grouped", step=5)], ids=str)
def test_the_definition_equals_the_oracle(case):
    arguments = case.make()
    output, found = arguments(attend, engine="dense", log_sums=True)
    rule = RULES[case.mask](ALL_SIZES[case.size])
    wanted = oracle.log_sums(arguments.query, arguments.key, **{**for_oracle(arguments.parts), "mask": rule})
    assert_close(found.detach(), wanted, rtol=1e-10, atol=1e-10)
    assert_close(output, arguments(attend, engine="dense"), rtol=0, atol=0)


@pytest.mark.parametrize("case", [*CASES, *KERNELS], ids=str)
def test_every_engine_equals_the_definition(case):
    expected = outcome(case.make(), "dense")
    for engine in OTHERS:
        try:
            found = outcome(case.make(), engine)
        except RefusedError:
            assert engine != "blocked", "blocked does everything"
            continue
        for name, wanted in expected.items():
            shown = wanted.isfinite()
            most = max(1.0, wanted[shown].abs().max().item() if shown.any() else 0.0)
            assert_close(found[name], wanted, rtol=0, atol=1e-11 * most, msg=lambda text: f"{engine}, {name}: {text}")  # noqa: B023


def three(*, queries: int = 6, keys: int = 7, size: int = 4, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    torch.manual_seed(5)
    shapes = (2, 4, queries, size), (2, 2, keys, size), (2, 2, keys, size)
    return [torch.randn(shape, dtype=torch.float64).to(dtype).requires_grad_() for shape in shapes]


def merged(*parts: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Outputs and log-sums over several sets of keys as those over all of them."""
    log_sums = torch.stack([each for _, each in parts]).logsumexp(0)
    finite = log_sums.clamp(min=torch.finfo(log_sums.dtype).min)
    return sum((own - finite).exp().unsqueeze(-1) * output for output, own in parts), log_sums  # pyright: ignore


SECOND = {
    "fused": {"mask": "causal"},
    "banded": {"mask": Window(1, 1)},
    "blocked": {"weights": Softmax(torch.tensor([0.6, 1.0, 1.3, 2.0], dtype=torch.float64)), "mask": "no_self"},
    "jit": {"score": Additive(torch.linspace(-1, 1, 4, dtype=torch.float64))},
}


@pytest.mark.parametrize("engine", SECOND)
def test_first_and_second_derivatives(engine):
    length = 70 if engine == "banded" else 5
    inputs = three(queries=length, keys=length)
    if engine == "banded":
        inputs = [tensor[:1, :1].detach().requires_grad_() for tensor in inputs]

    def run(*inputs: Tensor, engine: str = engine) -> tuple[Tensor, Tensor]:
        return attend(*inputs, **SECOND[engine], engine=engine, log_sums=True)

    if engine != "banded":
        assert gradcheck(run, inputs, fast_mode=True)
        assert gradgradcheck(run, inputs, fast_mode=True)
    found = []
    for name in (engine, "dense"):
        output, log_sums = attend(*inputs, **SECOND[engine], engine=name, log_sums=True)
        first = torch.autograd.grad((output * log_sums.unsqueeze(-1)).sin().sum(), inputs, create_graph=True)
        second = torch.autograd.grad(sum(each.cos().sum() for each in first), inputs)
        found.append([*first, *second])
    assert_close(*found)


@pytest.mark.parametrize("engine", ["dense", "blocked", "auto"])
@pytest.mark.parametrize("cut", [0, 1, 4, 7])
def test_parts_of_the_keys_merge_to_all_of_them(cut, engine):
    query, key, value = inputs = three()

    def after(start: int):
        return lambda batch, head, query, key: key + start <= query

    for masks in ((None, None, None), (after(0), after(0), after(cut))):
        whole = attend(*inputs, mask=masks[0], engine=engine, log_sums=True)
        parts = merged(
            attend(query, key[:, :, :cut], value[:, :, :cut], mask=masks[1], engine=engine, log_sums=True),
            attend(query, key[:, :, cut:], value[:, :, cut:], mask=masks[2], engine=engine, log_sums=True),
        )
        assert_close(parts, whole)
        grads = [torch.autograd.grad(o.sin().sum() + s.sin().sum(), inputs) for o, s in (parts, whole)]
        assert_close(*grads)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "parts",
    [
        {"mask": Lengths(query=[6, 4], key=[0, 5])},
        {"mask": Causal() & Lengths([6, 3])},
        {"mask": lambda batch, head, query, key: (key < 3) & (query != 2)},
        {"mask": "causal", "position": Bias(torch.full((6, 6), -math.inf))},
        {"position": Bias(torch.where(torch.arange(6).view(6, 1) == 1, -math.inf, 0.0))},
    ],
    ids=["lengths", "causal & lengths", "own function", "bias and mask", "bias"],
)
def test_a_row_without_a_score_has_minus_infinity_and_no_gradient(parts, engine):
    inputs = three(queries=6, keys=6)
    try:
        output, log_sums = attend(*inputs, **parts, engine=engine, log_sums=True)
    except RefusedError:
        assert engine not in ("dense", "blocked")
        return
    expected = attend(*inputs, **parts, engine="dense", log_sums=True)
    assert_close((output, log_sums), expected)
    empty = log_sums == -math.inf
    assert empty.any()
    assert (output[empty] == 0).all()
    # Of rows without a score nothing flows back, even from NaN.
    grads = torch.autograd.grad(
        [output, log_sums], inputs, [torch.ones_like(output), torch.where(empty, math.nan, 1.0)]
    )
    wanted = torch.autograd.grad(expected, inputs, [torch.ones_like(output), torch.where(empty, 0.0, 1.0)])
    assert_close(grads, wanted)


@pytest.mark.parametrize("engine", [*ENGINES, "auto"])
@pytest.mark.parametrize("sizes", [(3, 0), (0, 3), (0, 0), (1, 1)])
def test_few_queries_or_keys(sizes, engine):
    inputs = three(queries=sizes[0], keys=sizes[1])
    try:
        output, log_sums = attend(*inputs, engine=engine, log_sums=True)
    except RefusedError:
        return
    assert (output.shape, log_sums.shape) == ((2, 4, sizes[0], 4), (2, 4, sizes[0]))
    if not sizes[1]:
        assert (log_sums == -math.inf).all()
        assert (output == 0).all()
    grads = torch.autograd.grad(output.sum() + log_sums.sum(), inputs)
    assert all(torch.isfinite(each).all() for each in grads)


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf, 3e38])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("engine", [*ENGINES, "auto"])
def test_what_is_hidden_has_no_effect_and_what_is_seen_has(engine, dtype, poison):
    for mask, hidden in (("causal", slice(4, 7)), (Lengths(key=[4, 4]), slice(4, 7)), (Window(0, 0), slice(5, 7))):
        clean = three(queries=7, dtype=dtype)
        spoilt = [tensor.detach().clone().requires_grad_() for tensor in clean]
        with torch.no_grad():
            for tensor in spoilt[1:]:
                tensor[:, :, hidden] = poison
        rows = slice(0, 5) if isinstance(mask, Window) else slice(0, 4) if mask == "causal" else slice(0, 7)
        try:
            found, wanted = (attend(*inputs, mask=mask, engine=engine, log_sums=True) for inputs in (spoilt, clean))
        except RefusedError:
            continue
        assert_close([each[:, :, rows] for each in found], [each[:, :, rows] for each in wanted])
        pairs = zip((found, wanted), (spoilt, clean), strict=True)
        grads = [
            torch.autograd.grad(o[:, :, rows].sum() + s[:, :, rows].sin().sum(), inputs)[0][:, :, rows]
            for (o, s), inputs in pairs
        ]
        assert_close(*grads)
        if poison != poison and mask == "causal":
            assert found[1][:, :, 4:].isnan().all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("engine", [*ENGINES, "auto"])
def test_in_half_precision_they_are_in_float32(engine, dtype):
    for parts in ({}, {"mask": "causal"}, {"mask": Window(3, 3)}, {"score": "cosine"}, {"score": Dot(3.0)}):
        length = 300 if engine in ("fused", "banded") else 70
        inputs = three(queries=length, keys=length, dtype=dtype)
        exact = [tensor.detach().double().requires_grad_() for tensor in inputs]
        try:
            output, log_sums = attend(*inputs, **parts, engine=engine, log_sums=True)
        except RefusedError:
            continue
        wanted = attend(*exact, **parts, log_sums=True)
        assert (output.dtype, log_sums.dtype) == (dtype, torch.float32)
        assert_close(log_sums.double(), wanted[1], rtol=1e-4, atol=1e-4)
        up = torch.linspace(-1, 1, log_sums.numel()).view_as(log_sums)
        grads = torch.autograd.grad([output, log_sums], inputs, [output.detach(), up])
        exact_grads = torch.autograd.grad(wanted, exact, [output.detach().double(), up.double()])
        for found, true in zip(grads, exact_grads, strict=True):
            assert found.dtype == dtype
            assert (found.double() - true).abs().max() <= 2e-2 * true.abs().max()


@pytest.mark.parametrize("engine", ["fused", "banded", "auto"])
@pytest.mark.parametrize("scale", [2e3, 1e20, 1e36])
def test_large_scores(scale, engine):
    """The kernels leave the gradients of large scores to tiles."""
    length = 70 if engine == "banded" else 7
    inputs = three(queries=length, keys=length, dtype=torch.float32)
    with torch.no_grad():
        inputs[0].mul_(scale)
    found = []
    for name in (engine, "dense"):
        try:
            output, log_sums = attend(*inputs, mask=Window(1, 1) if length == 70 else None, engine=name, log_sums=True)
        except RefusedError:
            assert scale > 1e4
            return
        upward = torch.linspace(-1, 1, log_sums.numel()).view_as(log_sums)
        grads = torch.autograd.grad([output, log_sums], inputs, [torch.ones_like(output), upward])
        found.append([output.detach(), log_sums.detach() / scale, *(each / each.abs().max() for each in grads)])
    assert_close(*found, rtol=1e-4, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("engine", ["blocked", "auto"])
def test_what_is_seen_of_numbers_that_are_none(engine, poison):
    query, key, value = (tensor.detach() for tensor in three())
    key[:, :, 3] = poison
    query = query.abs()
    for row in (slice(0, 6), slice(0, 1)):
        found = attend(query[:, :, row], key, value, engine=engine, log_sums=True)
        assert_close(found, attend(query[:, :, row], key, value, engine="dense", log_sums=True), equal_nan=True)
        assert (found[1] == math.inf).all() if poison == math.inf else found[1].isnan().all() or poison == -math.inf


def test_a_temperature_divides_the_scores():
    query, key, value = three()
    for temperature in (0.5, torch.tensor(0.5)):
        found = attend(query, key, value, score="dot", weights=Softmax(temperature), log_sums=True)[1]
        scores = query @ key.repeat_interleave(2, 1).mT
        assert_close(found, (scores / 0.5).exp().sum(-1).log())


def test_dropout_leaves_them():
    inputs = three()
    assert_close(attend(*inputs, dropout=0.5, seed=1, log_sums=True)[1], attend(*inputs, log_sums=True)[1])


def test_what_has_none_says_so():
    inputs = three()
    for weights, name in (("relu", "Relu"), ("entmax", "Entmax"), (lambda scores, allowed: scores, "<lambda>")):
        with pytest.raises(ArgumentError, match=f"`log_sums` are those of softmax, but `weights` is {name}. Pass"):
            attend(*inputs, weights=weights, log_sums=True)
    with pytest.raises(ArgumentError, match="`log_sums` must be True or False, but is 1"):
        Case().make()(Request.of, log_sums=1)


def test_who_gives_none_says_so():
    query, key, value = three(queries=7)
    there = plan(query, key, value, mask=Edges(torch.tensor([[0, 1], [1, 1]])), log_sums=True)
    assert there.refused["jit"] == "its kernel along edges gives no log-sums"
    assert there.engine == "blocked"


def test_the_plan_is_that_of_the_call():
    query, key, value = three(queries=7)
    assert plan(query, key, value, log_sums=True).engine == "fused"
    assert plan(query, key, value, mask="no_self", log_sums=True).engine == "blocked"
    with pytest.raises(ArgumentError, match="softmax"):
        plan(query, key, value, weights="relu", log_sums=True)


def test_under_transforms():
    query, key, value = (tensor.detach() for tensor in three())

    def total(query: Tensor, engine: str = "auto") -> Tensor:
        output, log_sums = attend(query, key, value, mask="no_self", engine=engine, log_sums=True)
        return output.sin().sum() + log_sums.cos().sum()

    assert_close(grad(total)(query), grad(lambda query: total(query, "dense"))(query))
    samples = torch.stack([query, 2 * query, -query])
    found = vmap(lambda query: attend(query, key, value, log_sums=True))(samples)
    wanted = [attend(query, key, value, log_sums=True) for query in samples]
    assert_close(found, tuple(map(torch.stack, zip(*wanted, strict=True))))
    assert_close(vmap(grad(total))(samples), torch.stack([grad(total)(query) for query in samples]))


def test_shapes_without_numbers():
    inputs = [tensor.to("meta", torch.bfloat16).detach().requires_grad_() for tensor in three()]
    output, log_sums = attend(*inputs, log_sums=True)
    assert (output.shape, output.dtype) == ((2, 4, 6, 4), torch.bfloat16)
    assert (log_sums.shape, log_sums.dtype) == ((2, 4, 6), torch.float32)
    (output.float().sum() + log_sums.sum()).backward()
    assert inputs[1].grad is not None
    assert inputs[1].grad.shape == inputs[1].shape


class Split(torch.nn.Module):
    """A model whose attention is merged from two parts of the keys."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        halves = zip(key.chunk(2, dim=2), value.chunk(2, dim=2), strict=True)
        return merged(*(attend(query, *half, log_sums=True) for half in halves))[0]


def test_a_watched_call():
    inputs = [tensor.detach() for tensor in three()]
    model = Split()
    with watch(model) as seen:
        output = model(*inputs)
    assert_close(output, attend(*inputs))
    assert len(seen) == 2
    assert_close(seen[0].weights().sum(-1), torch.ones(2, 4, 6, dtype=torch.float64))
    with changed(model, [RemoveHead(1, 2)]):
        without = model(*inputs)
    assert_close(without[:, [0, 2, 3]], output[:, [0, 2, 3]])
    assert (without[:, 1] != output[:, 1]).any()
