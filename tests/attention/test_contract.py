"""The contract of the operator in its corners: nothing to see, lengths, ragged batches, heads, dtypes, engines.

The rest of it: test_product (every engine is the definition), test_poison, test_tiles, test_dropout, test_gradients.
"""

from dataclasses import dataclass

import pytest
import torch

from attention.cases import (
    BATCH,
    SELF,
    SIZES,
    WEIGHTS_EXAMPLES,
    Case,
    bias_table,
    each_part,
    kernels,
    rotation,
    seeded,
    tensors,
)
from attention.comparing import ROUNDING, Cut, gaps, moved, outcome, request_of
from regard.attention import (
    Additive,
    Bias,
    Bilinear,
    Causal,
    Cosine,
    Dot,
    Lengths,
    Position,
    Rotary,
    Window,
    attend,
    plan,
    summarise,
    weigh,
)
from regard.attention.engines import AUTO, ENGINES
from regard.attention.positions import RelativeKeys, Slopes
from regard.attention.request import Request
from regard.errors import ArgumentError, RefusedError

F64 = torch.float64


@dataclass(frozen=True)
class Squared:
    """A score of a user's own that is an inner product of other vectors."""

    gain: torch.Tensor

    def __call__(self, query, key):
        return self.gain * (query.square() @ key.square().mT)

    def reduce(self, query, key):
        return Dot(), self.gain * query.square(), key.square()


def _normal(*shape, seed):
    return torch.randn(shape, generator=seeded(seed))


# Parts that do something to the vectors before they are scored: their numbers, and the parts made of these.
REDUCING = {
    "bilinear": ([0.5 * _normal(8, 8, seed=1)], lambda matrix: {"score": Bilinear(matrix)}),
    "bilinear by head": ([0.5 * _normal(2, 8, 8, seed=2)], lambda matrix: {"score": Bilinear(matrix)}),
    "cosine": ([torch.tensor([10.0, 3.0])], lambda scale: {"score": Cosine(scale)}),
    "additive": (
        [_normal(8, seed=3), _normal(2, 8, seed=4)],
        lambda vector, bias: {"score": Additive(vector, bias)},
    ),
    "rotary": ([], lambda: {"position": Rotary()}),
    "rotary and a bias": ([_normal(2, seed=5)], lambda slopes: {"position": Rotary(size=4) + Slopes(slopes)}),
    "own reduction": ([torch.tensor(0.03)], lambda gain: {"score": Squared(gain)}),
}


def each_engine(arguments, **more):
    """The outputs of all engines that do it, by name; those that refuse nothing are among them."""
    found = {}
    for engine in ENGINES:
        try:
            found[engine] = arguments(attend, engine=engine, **more)
        except RefusedError:
            assert engine not in ("dense", "blocked")
    return found


@pytest.mark.parametrize("weights", WEIGHTS_EXAMPLES)
@pytest.mark.parametrize("score", ["scaled_dot", "additive", "cosine by head", "own part"])
def test_a_query_that_may_see_nothing_gives_zeros_and_takes_no_gradient(score, weights):
    case = Case(score, weights)
    for engine in (*ENGINES, Cut(rows=3, budget=40)):
        arguments = case.make()
        arguments.parts["mask"] = Lengths(query=[13] * BATCH, key=[0, 13, 5])
        try:
            output = engine(arguments) if isinstance(engine, Cut) else arguments(attend, engine=engine)
        except RefusedError:
            continue
        assert (output[0] == 0).all()
        assert (output[1:] != 0).any() or "relu" in weights
        above = torch.zeros_like(output)
        above[0] = torch.nan
        wanted = list(arguments.named.values())
        gradients = torch.autograd.grad(output, wanted, above, materialize_grads=True)
        assert all((gradient == 0).all() for gradient in gradients), engine
    seen = weigh(arguments.query, arguments.key, **{**arguments.parts, "position": None})
    assert (seen[0] == 0).all()


@dataclass(frozen=True)
class Nothing(Position):
    """A position scheme of a user's own that leaves the fourth query without a score."""

    def scores(self, scores, query, key, at):
        return scores.masked_fill(at.query == 3, -torch.inf)


def no_score(query, key):
    """A score of a user's own that is minus infinity for some queries."""
    return torch.where(query[..., :1] > 2, -torch.inf, query @ key.mT)


def _lowest(size, whole):
    """A bias whose fourth row is minus infinity, and another key's here and there."""
    table = bias_table(size, F64).detach().clone()
    table[:, :, :: 1 if whole else 2, 5] = -torch.inf
    table[:, :, 3] = -torch.inf
    return Bias(table.requires_grad_())


LOWEST = {
    "bias": lambda arguments: arguments.parts.update(position=_lowest(SELF, whole=False)),
    "bias by head": lambda arguments: arguments.parts.update(position=Rotary(size=4) + _lowest(SELF, whole=True)),
    "own position": lambda arguments: arguments.parts.update(position=Nothing()),
    "own score": lambda arguments: arguments.parts.update(score=no_score),
}


@pytest.mark.parametrize("mask", ["dense", "causal & lengths", "own function"])
@pytest.mark.parametrize("weights", WEIGHTS_EXAMPLES)
@pytest.mark.parametrize("by", LOWEST)
def test_a_query_whose_scores_are_all_minus_infinity_sees_nothing(by, weights, mask):
    """It gives zeros and takes no gradient, even of NaN: by every normaliser, in every engine."""
    results = {}
    for engine in (*ENGINES, "auto", Cut(rows=3, budget=40)):
        arguments = Case(weights=weights, mask=mask).make()
        LOWEST[by](arguments)
        if by == "own score":
            with torch.no_grad():
                arguments.query[:, :, :, 0].clamp_(max=1.9)
                arguments.query[:, :, 3, 0] = 3.0
        try:
            output = engine(arguments) if isinstance(engine, Cut) else arguments(attend, engine=engine)
        except RefusedError:
            continue
        assert (output[:, :, 3] == 0).all(), engine
        above = torch.linspace(-1, 1, output.numel()).view_as(output).to(output)
        above[:, :, 3] = torch.nan
        wanted = list(arguments.named.values())
        found = [output, *torch.autograd.grad(output, wanted, above, materialize_grads=True)]
        assert all(torch.isfinite(tensor).all() for tensor in found), engine
        assert (found[1][:, :, 3] == 0).all(), engine
        results[str(engine)] = found
    for found in results.values():
        for one, other in zip(found, results["dense"], strict=True):
            torch.testing.assert_close(one, other)
    seen = weigh(arguments.query, arguments.key, **arguments.parts)
    assert (seen[:, :, 3] == 0).all()
    summary = summarise(arguments.query, arguments.key, **arguments.parts, rows=[3])
    assert (summary.rows == 0).all()
    assert (summary.entropy[:, :, 3] == 0).all()


@pytest.mark.parametrize("length", [0, 1, 127, 128, 129])
@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"mask": "causal"},
        {"mask": "no_self"},
        {"score": "additive"},
        {"weights": "sparsemax", "mask": "window"},
        {"weights": "entmax 1.3", "mask": "edges"},
        {"weights": "sigmoid", "position": "relative both"},
        {"weights": "own part", "position": "own", "mask": "blocks"},
        {"score": "cosine by head", "position": "rotary + bucketed", "mask": "guided"},
    ],
    ids=lambda parts: " ".join(parts.values()) or "usual",
)
def test_lengths(length, parts):
    case, size = Case(**parts), SELF.of(length)
    expected = outcome(case.make(size=size), "dense")
    assert expected["output"].shape == (1, 4, length, 7)
    for engine in ENGINES:
        try:
            assert not gaps(outcome(case.make(size=size), engine), expected, F64), engine
        except RefusedError:
            assert engine not in ("dense", "blocked")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("queries", [0, 1, 5])
@pytest.mark.parametrize("keys", [0, 1, 5])
@pytest.mark.parametrize("batch", [0, 1])
def test_empty_axes(batch, queries, keys, engine):
    query, key, value = torch.ones(batch, 2, queries, 3), torch.ones(batch, 2, keys, 3), torch.ones(batch, 2, keys, 4)
    try:
        output = attend(query, key, value, engine=engine)
    except RefusedError:
        return
    assert output.shape == (batch, 2, queries, 4)
    assert torch.allclose(output, torch.full_like(output, 0.0 if keys == 0 else 1.0))


@pytest.mark.parametrize("weights", WEIGHTS_EXAMPLES)
def test_no_keys_give_zeros_whatever_the_weights(weights):
    part = WEIGHTS_EXAMPLES[weights](torch.float32)
    query, nothing = torch.ones(2, 4, 3, 5, requires_grad=True), torch.ones(2, 4, 0, 5)
    for engine in ("auto", "dense", "blocked"):
        output = attend(query, nothing, nothing, weights=part, engine=engine)
        assert torch.equal(output, torch.zeros(2, 4, 3, 5))
        if output.requires_grad:
            output.sum().backward()


@pytest.mark.parametrize("holds", [1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("score", ["dot", "bilinear", "cosine by head", "additive by head"])
def test_no_keys_give_no_gradient_whatever_queries_hold(score, holds):
    """And each tensor may be the only one that wants a gradient."""
    for engine in (*ENGINES, "auto"):
        count = len(Case(score, "sigmoid by head", position="relative").make().named)
        for alone in range(count + 1):
            arguments = Case(score, "sigmoid by head", position="relative").make()
            with torch.no_grad():
                arguments.query.fill_(holds)
            arguments.key, arguments.value = (
                t.detach()[:, :, :0].requires_grad_() for t in (arguments.key, arguments.value)
            )
            for place, tensor in enumerate(arguments.named.values()):
                tensor.requires_grad_(alone in (place, count))
            wanted = [tensor for tensor in arguments.named.values() if tensor.requires_grad]
            try:
                output = arguments(attend, engine=engine)
            except RefusedError:
                continue
            assert (output == 0).all()
            assert all((gradient == 0).all() for gradient in torch.autograd.grad(output.sum(), wanted)), engine


@pytest.mark.parametrize("engine", ["dense", "blocked", "auto"])
def test_what_has_no_part_in_the_output_has_a_gradient_of_zero(engine):
    query, key, value = tensors(SELF)
    gradients = torch.autograd.grad(
        attend(query, key, value.detach(), weights="hard", engine=engine).sum(), (query, key)
    )
    assert all((gradient == 0).all() for gradient in gradients)


def test_causal_is_aligned_at_the_end_so_that_a_cache_just_works():
    query, key, value = tensors(SELF)
    whole = attend(query, key, value, mask="causal")
    ends = torch.tensor(SELF.key_lengths)
    # Each item's own last query, and each item's own number of keys in the cache.
    last = torch.stack([query[item, :, end - 1 : end] for item, end in enumerate(ends)])
    for engine in ("auto", "blocked", "dense"):
        step = attend(query[:, :, -1:], key, value, mask="causal", engine=engine)
        torch.testing.assert_close(step, whole[:, :, -1:])
        some = attend(query[:, :, -3:], key, value, mask="causal", engine=engine)
        torch.testing.assert_close(some, whole[:, :, -3:])
        ragged = attend(last, key, value, mask=Causal() & Lengths(key=ends), engine=engine)
        for item, end in enumerate(ends):
            torch.testing.assert_close(ragged[item, :, 0], whole[item, :, end - 1])


@pytest.mark.parametrize("case", [case for case in rotation(61) if "own function" not in case.mask], ids=str)
def test_batched_is_one_by_one(case):
    """An item alone, without its padding, gives what it gives in a batch: outputs and gradients."""
    size = SIZES[case.size]
    for engine in ENGINES:
        together = case.make()
        together.parts["mask"] = together.parts["mask"] & size.lengths
        try:
            whole = outcome(together, engine)
        except RefusedError:
            continue
        upward = torch.linspace(-1, 1, whole["output"].numel(), dtype=F64).view_as(whole["output"])
        for item in range(BATCH):
            own = size.alone(item)
            arguments = case.make(size=own)
            arguments.parts["mask"] = arguments.parts["mask"] & own.lengths
            output = arguments(attend, engine="blocked" if engine == "fused" else engine)
            queries, keys = own.queries, own.keys
            torch.testing.assert_close(output[0], whole["output"][item, :, :queries])
            three = arguments.query, arguments.key, arguments.value
            above = upward[item : item + 1, :, :queries]
            found = torch.autograd.grad(output, three, above, allow_unused=True) if output.requires_grad else [None] * 3
            for name, end, gradient in zip(("query", "key", "value"), (queries, keys, keys), found, strict=True):
                inside = whole[f"gradient of {name}"][item, :, :end]
                torch.testing.assert_close(torch.zeros_like(inside) if gradient is None else gradient[0], inside)
                assert (whole[f"gradient of {name}"][item, :, end:] == 0).all()


@pytest.mark.parametrize("case", each_part()[:30], ids=str)
def test_permuting_keys_changes_nothing_and_permuting_all_permutes_the_output(case):
    order = torch.randperm(SELF.keys, generator=seeded(0))
    arguments = case.make()
    expected = each_engine(arguments)
    query = arguments.query
    arguments.key, arguments.value = arguments.key[:, :, order], arguments.value[:, :, order]
    for engine, output in each_engine(arguments).items():
        torch.testing.assert_close(output, expected[engine])
    arguments.query = query[:, :, order]
    for engine, output in each_engine(arguments).items():
        torch.testing.assert_close(output, expected[engine][:, :, order])


@pytest.mark.parametrize("mask", ["dense", "causal & lengths", "own function"])
@pytest.mark.parametrize("weights", ["softmax", "softmax by head", "sparsemax", "entmax", "entmax 1.3", "hard"])
def test_rows_sum_to_one_and_the_weights_make_the_output(weights, mask):
    arguments = Case(weights=weights, mask=mask).make()
    found = weigh(arguments.query, arguments.key, **arguments.parts)
    sums = found.sum(-1)
    assert (((sums - 1).abs() < 1e-12) | (sums == 0)).all()
    torch.testing.assert_close(found @ arguments.value, arguments(attend))


class TestDtypes:
    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    @pytest.mark.parametrize("case", [*each_part(size="long"), *kernels("even, long", step=9)], ids=str)
    def test_half_sums_in_float32(self, case, dtype):
        """The output is rounded once, and what each query and key alone is turned into, once; sums are not."""
        eps = torch.finfo(dtype).eps
        with torch.no_grad():
            exact = case.make().rounded(dtype)
            expected = exact(attend, engine="dense")
            moves = [moved(exact, eps / 2, seed)(attend, engine="dense") - expected for seed in range(4)]
            budget = eps * expected.abs().max() + max(move.abs().max() for move in moves)
            for engine, output in each_engine(case.make(dtype)).items():
                assert output.dtype == dtype
                error = (output.double() - expected).abs().max()
                assert error <= budget, f"{engine}: {error:.3g}, more than {budget:.3g}"

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    @pytest.mark.parametrize("mask", [None, "causal", Window(40, 0), Lengths([311, 400])], ids=str)
    @pytest.mark.parametrize(
        "name", ["bilinear", "bilinear by head", "cosine", "additive", "rotary", "rotary and a bias", "own reduction"]
    )
    def test_half_is_as_near_as_the_definition(self, name, mask, dtype):
        """Vectors that are changed before the tiles aren't rounded again: at most twice the definition's error."""
        query, key, value = (torch.randn(2, 2, 400, 8, generator=seeded(seed)).to(dtype) for seed in range(3))
        query = 4 * query
        parameters, parts = REDUCING[name]

        def found(wide, engine):
            three = [(t.double() if wide else t.clone()).requires_grad_() for t in (query, key, value)]
            numbers = [p.to(F64 if wide else torch.float32).requires_grad_() for p in parameters]
            output = attend(*three, **parts(*numbers), mask=mask, engine=engine)
            upward = torch.linspace(-1, 1, output.numel()).view(output.shape).to(dtype).to(output.dtype)
            return [output, *torch.autograd.grad(output, [*three, *numbers], upward)]

        exact = found(True, "dense")
        own = found(False, "dense")
        ran = 0
        for engine in (*ENGINES, "auto"):
            try:
                near = found(False, engine)
            except RefusedError:
                continue
            ran += 1
            for place, (one, definition, true) in enumerate(zip(near, own, exact, strict=True)):
                error, its = ((t.double() - true).abs().max() for t in (one, definition))
                # Parameters are float32, and so is all that is done with them.
                allowed = 1e-4 * true.abs().max() if place > 3 else 2 * its
                assert error <= allowed, f"{engine}: {place} is {error:.2g} off, more than {allowed:.2g}"
        assert ran >= 3

    @pytest.mark.parametrize("case", each_part(mask="causal & lengths"), ids=str)
    def test_half_has_gradients(self, case):
        for engine in ENGINES:
            arguments = case.make(torch.bfloat16)
            try:
                found = outcome(arguments, engine)
            except RefusedError:
                continue
            assert all(tensor.dtype == torch.bfloat16 and torch.isfinite(tensor).all() for tensor in found.values())

    @pytest.mark.parametrize("case", [*rotation(45, dropout=(0.0, 0.3))[::2], *kernels("even", step=13)], ids=str)
    def test_inputs_are_not_changed(self, case):
        for engine in ENGINES:
            arguments, copies = case.make(), case.make()
            try:
                outcome(arguments, engine)
            except RefusedError:
                continue
            for name, tensor in arguments.named.items():
                assert torch.equal(tensor, copies.named[name]), name

    @pytest.mark.parametrize("case", [*each_part(mask="causal & lengths")[::2], *kernels("even", step=13)], ids=str)
    def test_autocast_does_not_reach_inside(self, case):
        for engine in ENGINES:
            try:
                expected = outcome(case.make(torch.float32), engine)
            except RefusedError:
                continue
            arguments = case.make(torch.float32)
            with torch.autocast(arguments.query.device.type, dtype=torch.bfloat16):
                output = arguments(attend, engine=engine)
                assert weigh(*tensors(SELF, torch.float32)[:2]).dtype == torch.float32
            # As PyTorch advises, the backward pass is run outside.
            found = outcome(arguments, lambda arguments, output=output: output)
            for name, tensor in found.items():
                assert tensor.dtype == torch.float32
                torch.testing.assert_close(tensor, expected[name], rtol=ROUNDING[torch.float32], atol=1e-5)

    def test_a_large_half_precision_input_is_not_taken_for_infinite(self):
        x = torch.ones(1, 2, 2048, 64, dtype=torch.float16)
        assert plan(x, x, x, mask="causal").engine == "fused"

    @pytest.mark.parametrize("rows", [4, 64, 512])
    def test_operands_gradients_are_summed_wide(self, rows):
        x = torch.randn(1, 2, 512, 8, generator=seeded(0))
        gradients = []
        for dtype in (torch.bfloat16, torch.float32):
            table = torch.ones(3, 8, dtype=dtype, requires_grad=True)
            request = Request.of(
                *(x.to(dtype) for _ in range(3)),
                score="dot",
                weights="relu",
                mask=None,
                position=RelativeKeys(table),
                dropout=0.0,
                seed=0,
            )
            Cut(rows, 10**9).run(request).float().sum().backward()
            gradients.append(table.grad.float())
        assert (gradients[0] - gradients[1]).norm() < 0.01 * gradients[1].norm()


class TestGroupedQueries:
    @pytest.mark.parametrize("case", each_part(size="grouped"), ids=str)
    def test_heads_share_keys(self, case):
        """Keys written out for every head that shares them give the same; what they gave back adds up."""
        for engine in ENGINES:
            grouped, written = case.make(), case.make()
            key, value = written.key, written.value
            written.key, written.value = (tensor.repeat_interleave(2, dim=1) for tensor in (key, value))
            try:
                one, two = (arguments(attend, engine=engine) for arguments in (grouped, written))
            except RefusedError:
                continue
            torch.testing.assert_close(one, two)
            above = torch.linspace(-1, 1, one.numel(), dtype=F64).view_as(one)
            three, found = ((grouped.query, grouped.key, grouped.value), (written.query, key, value)), []
            for out, wanted in zip((one, two), three, strict=True):
                found.append(torch.autograd.grad(out, wanted, above, materialize_grads=True))
            for gradient, other in zip(*found, strict=True):
                torch.testing.assert_close(gradient, other)

    def test_which_heads_share(self):
        query, key, value = torch.randn(2, 6, 5, 4), torch.randn(2, 3, 7, 4), torch.randn(2, 3, 7, 4)
        output = attend(query, key, value)
        for head in range(6):
            alone = attend(query[:, head : head + 1], key[:, head // 2, None], value[:, head // 2, None])
            torch.testing.assert_close(output[:, head : head + 1], alone)


class TestEngines:
    def test_auto_never_chooses_quadratic_memory(self):
        assert "dense" not in AUTO

    def test_fused_runs_where_it_should(self):
        # On a GPU it has no kernel for float64.
        dtype = F64 if torch.get_default_device().type == "cpu" else torch.float32
        query, key, value = tensors(SELF, dtype)
        for mask in (None, "causal"):
            assert plan(query, key, value, mask=mask).engine == "fused"
        assert plan(query, key, value, mask=~~Causal() | Causal()).engine != "fused"

    def test_a_named_engine_never_falls_back(self):
        query, key, value = tensors(SELF)
        with pytest.raises(RefusedError, match=r"`engine` 'fused' can't do this request: its only normaliser"):
            attend(query, key, value, weights="relu", engine="fused")

    def test_an_unknown_engine(self):
        query, key, value = tensors(SELF)
        with pytest.raises(ArgumentError, match="Did you mean 'blocked'"):
            attend(query, key, value, engine="block")

    @pytest.mark.parametrize("case", rotation(45, dropout=(0.0, 0.3)), ids=str)
    def test_the_plan_says_what_runs_and_why_not_the_rest(self, case):
        chosen = case.make()(plan)
        assert chosen.engine in AUTO
        assert set(chosen.refused) >= {"dense"}
        assert chosen.engine not in chosen.refused
        assert all(reason and isinstance(reason, str) for reason in chosen.refused.values())
        assert f"-> {chosen.engine}" in str(chosen)
        request = request_of(case.make())
        for name in AUTO[: AUTO.index(chosen.engine)]:
            assert name in chosen.refused
            assert ENGINES[name].refuse(request) in (None, chosen.refused[name])

    def test_the_plan_counts_tiles(self):
        query = torch.zeros(1, 1, 1024, 4, device="cpu")
        # 4 blocks of 256 rows; the first row block of a causal mask sees 256 keys, all partly.
        assert plan(query, query, query, mask="causal").tiles["partial"] == 4
        half = plan(query, query, query, mask=Lengths([512]), engine="blocked")
        assert half.tiles["partial"] == 0
        assert half.tiles["full"] == 2
        assert half.work == 2 * 512 * 512 * 8

    @pytest.mark.usefixtures("only_on_a_cpu")
    def test_pytorchs_kernel_goes_over_the_padding_too(self):
        query = torch.zeros(1, 1, 1024, 4)
        half = plan(query, query, query, mask=Lengths([512]), engine="blocked")
        assert plan(query, query, query, mask=Lengths([512]), engine="fused").work == 4 * half.work

    @pytest.mark.usefixtures("only_on_a_cpu")
    def test_mostly_padding_is_left_to_tiles_that_skip_it(self):
        x = torch.zeros(4, 2, 2048, 64)
        assert plan(x, x, x, mask=Lengths([2048, 1600, 2048, 1200])).engine == "fused"
        assert plan(x, x, x, mask=Lengths([2048, 8, 8, 8])).engine == "blocked"
        assert plan(x, x, x, mask=Lengths([2048, 2048, 8, 2048]) & Causal()).engine == "fused"
