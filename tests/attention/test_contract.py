"""The contract of the operator, in every engine, over the product of the parts."""

import subprocess
import sys

import pytest
import torch

from attention import cases
from attention.cases import (
    MASK_EXAMPLES,
    POSITION_EXAMPLES,
    SCORE_EXAMPLES,
    SELF,
    SIZES,
    WEIGHTS_EXAMPLES,
    tensors,
)
from regard.attention import MASKS, POSITIONS, SCORES, WEIGHTS, Causal, Lengths, attend, plan, weigh
from regard.attention.engines import AUTO, ENGINES, blocked
from regard.attention.masks import as_mask
from regard.attention.parts import operands
from regard.attention.positions import RelativeKeys
from regard.attention.request import Request
from regard.errors import ArgumentError, RefusedError

TOLERANCE = {torch.float64: 1e-11, torch.float32: 2e-4}
OTHERS = [name for name in ENGINES if name != "dense"]


def assert_near(actual, expected, dtype):
    """Equal up to rounding in that dtype, NaN never; a failure prints the worst gap."""
    gap = (actual.double() - expected.double()).abs().max().item() if expected.numel() else 0.0
    scale = max(1.0, expected.double().abs().max().item()) if expected.numel() else 1.0
    assert gap <= TOLERANCE[dtype] * scale, f"worst gap {gap:.3g} at scale {scale:.3g}"


def run(engine, size, score, weights, mask, position, dtype):
    """The output, and the gradients of the three tensors and of the position's operands."""
    query, key, value = tensors(size, dtype)
    part = POSITION_EXAMPLES[position](dtype)
    output = attend(
        query,
        key,
        value,
        score=SCORE_EXAMPLES[score],
        weights=WEIGHTS_EXAMPLES[weights],
        mask=MASK_EXAMPLES[mask](size),
        position=part,
        engine=engine,
    )
    wanted = [query, key, value, *(operands(part) if part is not None else ())]
    upward = torch.linspace(-1, 1, output.numel(), dtype=dtype).view_as(output)
    gradients = torch.autograd.grad(output, wanted, upward, allow_unused=True)
    return output.detach(), [torch.zeros_like(t) if g is None else g for t, g in zip(wanted, gradients, strict=True)]


def test_every_part_in_the_dicts_has_an_example():
    assert set(SCORES) <= set(SCORE_EXAMPLES)
    assert set(WEIGHTS) <= set(WEIGHTS_EXAMPLES)
    assert set(MASKS) <= set(MASK_EXAMPLES)
    assert set(POSITIONS) <= set(POSITION_EXAMPLES)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("position", POSITION_EXAMPLES)
@pytest.mark.parametrize("mask", MASK_EXAMPLES)
@pytest.mark.parametrize("weights", WEIGHTS_EXAMPLES)
@pytest.mark.parametrize("score", SCORE_EXAMPLES)
def test_every_engine_equals_the_definition(score, weights, mask, position, size, dtype):
    case = (SIZES[size], score, weights, mask, position, dtype)
    expected, expected_gradients = run("dense", *case)
    assert torch.isfinite(expected).all()
    for engine in OTHERS:
        try:
            output, gradients = run(engine, *case)
        except RefusedError:
            assert engine != "blocked", "blocked does everything"
            continue
        assert_near(output, expected, dtype)
        for gradient, expected_gradient in zip(gradients, expected_gradients, strict=True):
            assert_near(gradient, expected_gradient, dtype)


def test_fused_runs_where_it_should():
    query, key, value = tensors(SELF)
    for mask in (None, "causal", ~~Causal() | Causal()):
        chosen = plan(query, key, value, mask=mask).engine
        assert chosen == ("fused" if mask in (None, "causal") else "blocked")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("poison", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("position", ["none", "relative", "own"])
@pytest.mark.parametrize("mask", MASK_EXAMPLES)
def test_what_is_hidden_cannot_matter(mask, position, poison, engine):
    """A key, a value and a query that are hidden from everyone may hold anything, in values and in gradients."""
    for size in SIZES.values():
        column, row = size.keys // 2, size.queries // 2
        rule = as_mask(MASK_EXAMPLES[mask](size))
        no_key = rule & (lambda batch, head, query, key, column=column: key != column)
        no_query = rule & (lambda batch, head, query, key, row=row: query != row)
        part = POSITION_EXAMPLES[position](torch.float64)

        def run(hidden, poisoned, where, size=size, part=part):
            query, key, value = (tensor.detach() for tensor in tensors(size))
            for name, tensor in (("query", query), ("key", key), ("value", value)):
                if name in poisoned:
                    tensor[:, :, where] = poison
                tensor.requires_grad_()
            wanted = (query, key, value, *(operands(part) if part is not None else ()))
            output = attend(query, key, value, mask=hidden, position=part, engine=engine)
            return output, *torch.autograd.grad(output.sum(), wanted, allow_unused=True)

        for hidden, poisoned, where in ((no_key, ("key", "value"), column), (no_query, ("query",), row)):
            try:
                clean, dirty = run(hidden, (), where), run(hidden, poisoned, where)
            except RefusedError:
                assert engine == "fused"
                return
            for one, two in zip(clean, dirty, strict=True):
                if one is not None:
                    torch.testing.assert_close(one, two, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("engine", ["dense", "blocked"])
@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
@pytest.mark.parametrize("mask", [name for name in MASK_EXAMPLES if name != "dense"])
def test_a_row_that_may_not_see_it_is_untouched(mask, poison, engine):
    """A key that some queries see and others don't: the others give what they gave."""
    for size in SIZES.values():
        query, key, value = (tensor.detach() for tensor in tensors(size))
        rule = MASK_EXAMPLES[mask](size)
        column = size.keys // 2
        blind = weigh(query, key, weights=lambda scores, allowed: torch.ones_like(scores), mask=rule)[..., column] == 0
        clean = attend(query, key, value, mask=rule, engine=engine)
        key[:, :, column] = poison
        value[:, :, column] = poison
        dirty = attend(query, key, value, mask=rule, engine=engine)
        torch.testing.assert_close(clean[blind], dirty[blind], rtol=1e-12, atol=1e-12)
        assert not torch.isfinite(dirty[~blind]).all(-1).any()


@pytest.mark.parametrize("engine", ["dense", "blocked"])
@pytest.mark.parametrize("which", ["key", "value", "query"])
def test_what_is_seen_does_matter(which, engine):
    query, key, value = (tensor.detach() for tensor in tensors(SELF))
    {"query": query, "key": key, "value": value}[which][0, 0, 4, 0] = float("nan")
    output = attend(query, key, value, mask="causal", engine=engine)
    changed = torch.isnan(output[0, 0]).any(-1)
    expected = torch.arange(SELF.queries) == 4 if which == "query" else torch.arange(SELF.queries) >= 4
    assert torch.equal(changed, expected)
    assert torch.isfinite(output[0, 1]).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_query_that_may_see_nothing_gives_zeros(weights, engine):
    query, key, value = tensors(SELF)
    mask = Lengths(query=[SELF.queries] * 2, key=[0, SELF.keys])
    try:
        output = attend(query, key, value, weights=weights, mask=mask, engine=engine)
    except RefusedError:
        assert engine == "fused"
        return
    assert (output[0] == 0).all()
    assert (output[1] != 0).any()
    gradients = torch.autograd.grad(output, (query, key, value), torch.full_like(output, torch.nan))
    assert all((gradient[0] == 0).all() for gradient in gradients)
    assert (weigh(query, key, weights=weights, mask=mask)[0] == 0).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("length", [0, 1, 127, 128, 129])
@pytest.mark.parametrize("mask", ["dense", "causal", "no_self"])
def test_lengths(length, mask, engine):
    query, key, value = (torch.randn(2, 3, length, 7, dtype=torch.float64, requires_grad=True) for _ in range(3))
    try:
        output = attend(query, key, value, mask=mask, engine=engine)
    except RefusedError:
        assert engine == "fused"
        assert length == 0 or mask == "no_self"
        return
    assert output.shape == (2, 3, length, 7)
    expected = attend(query, key, value, mask=mask, engine="dense")
    assert_near(output, expected, torch.float64)
    output.sum().backward()


@pytest.mark.parametrize("queries", [0, 1, 5])
@pytest.mark.parametrize("keys", [0, 1, 5])
@pytest.mark.parametrize("batch", [0, 1])
def test_empty_axes(batch, queries, keys):
    query, key, value = torch.ones(batch, 2, queries, 3), torch.ones(batch, 2, keys, 3), torch.ones(batch, 2, keys, 4)
    output = attend(query, key, value)
    assert output.shape == (batch, 2, queries, 4)
    assert torch.allclose(output, torch.full_like(output, 0.0 if keys == 0 else 1.0))


def test_causal_is_aligned_at_the_end_so_that_a_cache_just_works():
    query, key, value = tensors(SELF)
    whole = attend(query, key, value, mask="causal")
    step = attend(query[:, :, -1:], key, value, mask="causal")
    torch.testing.assert_close(step, whole[:, :, -1:])
    ends = torch.tensor([13, 7])
    # Each item's own last query, and each item's own number of keys in the cache.
    last = torch.stack([query[item, :, end - 1 : end] for item, end in enumerate(ends)])
    ragged = attend(last, key, value, mask=Causal() & Lengths(key=ends))
    for item, end in enumerate(ends):
        torch.testing.assert_close(ragged[item, :, 0], whole[item, :, end - 1])


# A mask that reads the item's number in the batch changes when the item stands alone: those are left out.
@pytest.mark.parametrize("engine", ["dense", "blocked"])
@pytest.mark.parametrize("mask", [name for name in MASK_EXAMPLES if "own function" not in name])
@pytest.mark.parametrize("position", ["none", "relative"])
def test_batched_is_one_by_one(mask, position, engine):
    """An item alone, without its padding, gives what it gives in a batch."""
    query, key, value = tensors(SELF)
    part = POSITION_EXAMPLES[position](torch.float64)
    together = attend(query, key, value, mask=MASK_EXAMPLES[mask](SELF), position=part, engine=engine)
    for item in range(2):
        end = SELF.key_lengths[item] if "lengths" in mask and "~" not in mask else SELF.keys
        own = cases.Size(end, end, (SELF.query_lengths[item],) * 2, (SELF.key_lengths[item],) * 2)
        rule = MASK_EXAMPLES[mask](own)
        if "lengths" in mask:
            rule = MASK_EXAMPLES[mask](cases.Size(end, end, own.query_lengths[:1], own.key_lengths[:1]))
        alone = attend(
            *(tensor[item : item + 1, :, :end] for tensor in (query, key, value)),
            mask=rule,
            position=part,
            engine=engine,
        )
        torch.testing.assert_close(alone[0], together[item, :, :end])


@pytest.mark.parametrize("engine", ENGINES)
def test_permuting_keys_changes_nothing_and_permuting_all_permutes_the_output(engine):
    query, key, value = tensors(SELF)
    order = torch.randperm(SELF.keys)
    expected = attend(query, key, value, engine=engine)
    torch.testing.assert_close(attend(query, key[:, :, order], value[:, :, order], engine=engine), expected)
    permuted = attend(query[:, :, order], key[:, :, order], value[:, :, order], engine=engine)
    torch.testing.assert_close(permuted, expected[:, :, order])


@pytest.mark.parametrize("mask", ["dense", "causal & lengths", "own function"])
def test_softmax_rows_sum_to_one_and_the_weights_make_the_output(mask):
    query, key, value = tensors(SELF)
    weights = weigh(query, key, mask=MASK_EXAMPLES[mask](SELF))
    sums = weights.sum(-1)
    assert (((sums - 1).abs() < 1e-12) | (sums == 0)).all()
    torch.testing.assert_close(weights @ value, attend(query, key, value, mask=MASK_EXAMPLES[mask](SELF)))


@pytest.mark.parametrize("rows", [1, 3, 5, 256])
@pytest.mark.parametrize("budget", [1, 40, 10**9])
@pytest.mark.parametrize("mask", MASK_EXAMPLES)
def test_results_do_not_depend_on_tiles(mask, rows, budget):
    query, key, value = tensors(SELF)
    table = POSITION_EXAMPLES["relative"](torch.float64)
    rule = MASK_EXAMPLES[mask](SELF)
    arguments = {"score": "scaled_dot", "weights": "softmax", "mask": rule, "position": table}
    request = Request.of(query, key, value, **arguments, dropout=0.3, seed=11)
    expected = ENGINES["dense"].run(request)
    output = blocked.run(request, rows=rows, budget=budget)
    assert_near(output, expected, torch.float64)
    wanted = (query, key, value, table.table)
    upward = torch.ones_like(output)
    for gradient, other in zip(
        torch.autograd.grad(output, wanted, upward),
        torch.autograd.grad(expected, wanted, upward, allow_unused=True),
        strict=True,
    ):
        assert_near(gradient, torch.zeros_like(gradient) if other is None else other, torch.float64)


def test_backward_is_bitwise_repeatable():
    def gradients():
        query, key, value = tensors(SELF, torch.float32)
        table = POSITION_EXAMPLES["relative"](torch.float32)
        request = Request.of(
            query, key, value, score="dot", weights="softmax", mask="causal", position=table, dropout=0.1, seed=4
        )
        blocked.run(request, rows=4, budget=64).square().sum().backward()
        return [query.grad, key.grad, value.grad, table.table.grad]

    assert all(torch.equal(one, two) for one, two in zip(gradients(), gradients(), strict=True))


class TestDropout:
    def test_is_the_same_in_every_engine(self):
        query, key, value = tensors(SELF)
        outputs = [attend(query, key, value, dropout=0.4, seed=7, engine=engine) for engine in ("dense", "blocked")]
        torch.testing.assert_close(*outputs)
        assert not torch.allclose(outputs[0], attend(query, key, value, dropout=0.4, seed=8, engine="dense"))

    def test_drops_the_share_that_it_is_asked_for(self):
        query = torch.zeros(2, 2, 200, 1)
        identity = torch.eye(200).expand(2, 2, 200, 200)
        kept = attend(query, query, identity, dropout=0.3, seed=1) * 200
        assert ((kept == 0) | ((kept - 1 / 0.7).abs() < 1e-4)).all()
        assert abs((kept == 0).float().mean().item() - 0.3) < 0.005  # 160,000 draws: 4 standard errors
        # No two rows, heads or items drop the same keys.
        rows = (kept == 0).flatten(0, 2)
        assert len(torch.unique(rows, dim=0)) == len(rows)

    def test_a_plan_draws_nothing(self):
        query, key, value = tensors(SELF)
        before = torch.get_rng_state()
        plan(query, key, value, dropout=0.4)
        assert torch.equal(torch.get_rng_state(), before)

    def test_draws_a_seed_from_torch(self):
        query, key, value = tensors(SELF)
        torch.manual_seed(1)
        first, second = (attend(query, key, value, dropout=0.4) for _ in range(2))
        torch.manual_seed(1)
        again = attend(query, key, value, dropout=0.4)
        assert torch.equal(first, again)
        assert not torch.equal(first, second)

    def test_ends(self):
        query, key, value = tensors(SELF)
        assert (attend(query, key, value, dropout=1.0) == 0).all()
        assert torch.equal(attend(query, key, value, dropout=0.0, seed=1), attend(query, key, value))


class TestDtypes:
    @pytest.mark.parametrize("engine", ENGINES)
    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    def test_half_sums_in_float32(self, dtype, engine):
        query, key, value = (torch.randn(1, 2, 300, 16, dtype=torch.float64) for _ in range(3))
        exact = attend(query, key, value, engine="dense")
        half = tuple(tensor.to(dtype) for tensor in (query, key, value))
        output = attend(*half, engine=engine)
        assert output.dtype == dtype
        rounded = attend(*(tensor.double() for tensor in half), engine="dense")
        # An error budget from rounding the inputs alone: the sums may not add much to it.
        assert (output - exact).abs().max() <= 2 * (rounded - exact).abs().max() + torch.finfo(dtype).eps

    @pytest.mark.parametrize("engine", ENGINES)
    def test_inputs_are_not_changed(self, engine):
        query, key, value = (tensor.detach() for tensor in tensors(SELF))
        copies = [tensor.clone() for tensor in (query, key, value)]
        attend(query, key, value, mask="causal", engine=engine)
        assert all(torch.equal(one, two) for one, two in zip(copies, (query, key, value), strict=True))

    @pytest.mark.parametrize("engine", ENGINES)
    def test_autocast_does_not_reach_inside(self, engine):
        query, key, value = (torch.randn(1, 2, 31, 8, requires_grad=True) for _ in range(3))

        expected = attend(query, key, value, mask="causal", engine=engine)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output = attend(query, key, value, mask="causal", engine=engine)
            assert weigh(query, key).dtype == torch.float32
        # As PyTorch advises, the backward pass is run outside.
        results = [(out, *torch.autograd.grad(out.square().sum(), (query, key, value))) for out in (output, expected)]
        for one, two in zip(*results, strict=True):
            assert one.dtype == torch.float32
            torch.testing.assert_close(one, two)

    def test_a_huge_number_that_is_hidden_cannot_matter(self):
        """Finite, but its products overflow: infinity times a weight of 0 would be NaN in the gradients."""
        query, key, value = (torch.randn(1, 1, 8, 4) for _ in range(3))
        value[:, :, -1] = torch.finfo(torch.float32).max / 4 * torch.tensor([1.0, -1.0, 1.0, -1.0])
        query.requires_grad_()
        (3 * attend(query, key, value, mask="causal")[:, :, :-1]).sum().backward()
        assert torch.isfinite(query.grad).all()

    def test_a_large_half_precision_input_is_not_taken_for_infinite(self):
        x = torch.ones(1, 2, 2048, 64, dtype=torch.float16)
        assert plan(x, x, x, mask="causal").engine == "fused"

    @pytest.mark.parametrize("rows", [4, 64, 512])
    def test_operands_gradients_are_summed_wide(self, rows):
        x = torch.randn(1, 2, 512, 8, generator=torch.Generator().manual_seed(0))
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
            blocked.run(request, rows=rows).float().sum().backward()
            gradients.append(table.grad.float())
        assert (gradients[0] - gradients[1]).norm() < 0.01 * gradients[1].norm()


@pytest.mark.parametrize("engine", ["dense", "blocked"])
@pytest.mark.parametrize("position", POSITION_EXAMPLES)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("score", SCORES)
def test_gradcheck(score, weights, position, engine):
    size = cases.Size(3, 4, (3, 2), (4, 2))
    part = POSITION_EXAMPLES[position](torch.float64)
    inputs = tensors(size)
    mask = Causal() & size.lengths

    def run(query, key, value, *table):
        own = part
        if position.startswith("relative"):
            own = RelativeKeys(*table)
        elif position == "own":
            own = cases.AllHooks(*table)
        return attend(query, key, value, score=score, weights=weights, mask=mask, position=own, engine=engine)

    table = tuple(t.detach().clone().requires_grad_() for t in (operands(part) if part is not None else ()))
    assert torch.autograd.gradcheck(run, (*inputs, *table))


class TestGroupedQueries:
    @pytest.mark.parametrize("engine", ENGINES)
    def test_heads_share_keys(self, engine):
        query, key, value = torch.randn(2, 6, 5, 4), torch.randn(2, 3, 7, 4), torch.randn(2, 3, 7, 4)
        output = attend(query, key, value, engine=engine)
        for head in range(6):
            alone = attend(query[:, head : head + 1], key[:, head // 2, None], value[:, head // 2, None])
            torch.testing.assert_close(output[:, head : head + 1], alone)


class TestEngines:
    def test_auto_never_chooses_quadratic_memory(self):
        assert "dense" not in AUTO

    def test_a_named_engine_never_falls_back(self):
        query, key, value = tensors(SELF)
        with pytest.raises(RefusedError, match=r"`engine` 'fused' can't do this request: its only normaliser"):
            attend(query, key, value, weights="relu", engine="fused")

    def test_an_unknown_engine(self):
        query, key, value = tensors(SELF)
        with pytest.raises(ArgumentError, match="Did you mean 'blocked'"):
            attend(query, key, value, engine="block")

    def test_the_plan_says_what_runs_and_why_not_the_rest(self):
        query, key, value = tensors(SELF)
        chosen = plan(query, key, value, mask=cases.shifted)
        assert chosen.engine == "blocked"
        assert set(chosen.refused) == {"fused", "dense"}
        assert "-> blocked" in str(chosen)

    def test_the_plan_counts_tiles(self):
        query = torch.zeros(1, 1, 1024, 4)
        # 4 blocks of 256 rows; the first row block of a causal mask sees 256 keys, all partly.
        assert plan(query, query, query, mask="causal").tiles == {"skipped": 0, "partial": 4, "full": 0}
        half = plan(query, query, query, mask=Lengths([512]))
        assert half.tiles == {"skipped": 2, "partial": 0, "full": 2}
        assert half.work == 2 * 512 * 512 * 8


class TestTransforms:
    """What PyTorch can do to a function: it works, or it says plainly that it doesn't."""

    def test_func_grad(self):
        query, key, value = (tensor.detach() for tensor in tensors(SELF))

        def loss(query):
            return attend(query, key, value, weights="relu").square().sum()

        wanted = query.clone().requires_grad_()
        loss(wanted).backward()
        torch.testing.assert_close(torch.func.grad(loss)(query), wanted.grad)

    @pytest.mark.parametrize("engine", ["dense", "blocked"])
    @pytest.mark.parametrize("position", POSITION_EXAMPLES)
    def test_double_backward(self, position, engine):
        size = cases.Size(3, 3, (3, 2), (3, 2))
        part = POSITION_EXAMPLES[position](torch.float64)

        def run(*qkv):
            return attend(*qkv, mask=Causal() & size.lengths, position=part, engine=engine)

        assert torch.autograd.gradgradcheck(run, tensors(size))

    def test_gradient_of_a_gradient_is_not_lost(self):
        query, key, value = tensors(SELF)
        second = []
        for engine in ("dense", "blocked"):
            (first,) = torch.autograd.grad(attend(query, key, value, engine=engine).sum(), query, create_graph=True)
            second.append(torch.autograd.grad(first.square().sum(), key)[0])
        torch.testing.assert_close(*second)
        assert second[0].abs().max() > 1e-3

    def test_fused_says_that_it_has_no_double_backward(self):
        query, key, value = tensors(SELF)
        (first,) = torch.autograd.grad(attend(query, key, value, engine="fused").sum(), query, create_graph=True)
        with pytest.raises(RuntimeError, match="not implemented"):
            first.square().sum().backward()

    def test_hessian(self):
        query, key, value = (tensor.detach() for tensor in tensors(cases.Size(3, 3, (3, 3), (3, 3))))

        def loss(engine):
            return lambda q: attend(q, key, value, weights="relu", score="dot", engine=engine).square().sum()

        def second(engine):
            return torch.func.grad(lambda q: torch.func.grad(loss(engine))(q).square().sum())(query)

        torch.testing.assert_close(second("blocked"), second("dense"))

    def test_compile(self):
        """In a process of its own: the compiler can't see through the test suite's shape checks."""
        code = """if True:
            import torch
            from regard.attention import Relative, attend
            torch.manual_seed(0)
            inputs = [torch.randn(1, 2, 31, 8, requires_grad=True) for _ in range(3)]
            part = Relative(8, 4)
            def run(*qkv):
                return attend(*qkv, mask="no_self", position=part)
            results = []
            for function in (run, torch.compile(run, backend="aot_eager")):
                output = function(*inputs)
                results.append((output, *torch.autograd.grad(output.square().sum(), (*inputs, part.table))))
            for one, two in zip(*results):
                torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)
        """
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr

    def test_vmap_is_refused(self):
        query, key, value = (tensor.detach() for tensor in tensors(SELF))
        with pytest.raises(RuntimeError, match="vmap"):
            torch.vmap(lambda q: attend(q, key, value, weights="relu"))(query.unsqueeze(0))
