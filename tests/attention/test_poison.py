"""What a mask hides cannot matter, whatever it holds: in values, in gradients, in every engine that says it can."""

import dataclasses

import pytest
import torch

from attention.cases import MASK_EXAMPLES, Case, covering, kernels, pairwise, pairwise_with, rotation, seeded
from attention.comparing import Cut, gaps, outcome
from regard.attention import Bias, Causal, Cosine, Dot, Lengths, Sigmoid, Softmax, Window, attend, weigh
from regard.attention.engines import ENGINES, fused
from regard.attention.pairs.masked_matmul import masked_matmul
from regard.attention.request import Request
from regard.errors import RefusedError
from regard.modules.huggingface import SoftCapped

# Large is finite, but no product with it is: infinity times a weight of 0 would be NaN.
POISONS = {"nan": float("nan"), "inf": float("inf"), "-inf": -float("inf"), "large": 1e300}
# On a GPU it refuses what isn't finite, as PyTorch's kernels there would lose it.
FUSED = ["fused"] if torch.get_default_device().type == "cpu" else []
PLACES = ("key and value", "query", "all three", "one number of a key", "one number of a value")


def poisoned(arguments, place, poison, row, column):
    """The same call, with something in the query `row` and the key `column`."""
    with torch.no_grad():
        if place in ("query", "all three"):
            arguments.query[:, :, row] = poison
        if place in ("key and value", "all three"):
            arguments.key[:, :, column] = poison
            arguments.value[:, :, column] = poison
        if place == "one number of a key":
            arguments.key[0, -1, column, 0] = poison
        if place == "one number of a value":
            arguments.value[0, -1, column, 0] = poison
    return arguments


def hidden(case, row, column, dtype=torch.float64):
    """The case's arguments, with a mask that hides that query and that key from all."""
    arguments = case.make(dtype)
    arguments.parts["mask"] = arguments.parts["mask"] & (
        lambda batch, head, query, key: (query != row) & (key != column)
    )
    return arguments


def hold(case, poison, place):
    row, column = 3, 4
    expected = outcome(hidden(case, row, column), "dense")
    assert all(torch.isfinite(tensor).all() for tensor in expected.values())
    ran = 0
    for engine in (*ENGINES, Cut(rows=7, budget=10**9)):
        try:
            actual = outcome(poisoned(hidden(case, row, column), place, POISONS[poison], row, column), engine)
        except RefusedError:
            assert engine not in ("dense", "blocked")
            continue
        far = gaps(actual, expected, torch.float64)
        assert not far, f"{engine}: {far}"
        ran += 1
    assert ran >= 3


@pytest.mark.parametrize(
    ("case", "poison", "place"),
    [(case, *what) for case, what in zip(rotation(60, dropout=(0.0, 0.3)), 3 * covering(POISONS, PLACES), strict=True)],
    ids=str,
)
def test_what_is_hidden_cannot_matter(case, poison, place):
    """A key, a value and a query that are hidden from everyone may hold anything."""
    hold(case, poison, place)


@pytest.mark.parametrize(
    ("case", "poison", "place"),
    [(case, *what) for case, what in zip(kernels("even", step=5), 5 * covering(POISONS, PLACES), strict=False)],
    ids=str,
)
def test_what_is_hidden_cannot_matter_to_a_kernel(case, poison, place):
    hold(case, poison, place)


@pytest.mark.slow
@pytest.mark.parametrize("poison", POISONS)
def test_what_is_hidden_cannot_matter_whatever_meets(poison):
    for case, (own, place) in pairwise_with(covering(POISONS, PLACES)):
        if own == poison:
            hold(case, poison, place)


@pytest.mark.exhaustive
@pytest.mark.parametrize("poison", POISONS)
@pytest.mark.parametrize("place", PLACES)
def test_what_is_hidden_cannot_matter_in_any_place_whatever_meets(place, poison):
    for case in pairwise():
        hold(case, poison, place)


@pytest.mark.parametrize(
    ("case", "poison"),
    [(case, list(POISONS)[i % 4]) for i, case in enumerate([*rotation(45), *kernels("even", step=5)])],
    ids=str,
)
def test_a_row_that_may_not_see_it_is_untouched(case, poison):
    """A key that some queries see and others don't: the others give what they gave, and get the gradient they got."""
    column = 4
    blind = ~visible(case)[..., column]
    expected = outcome(case.make(), "dense")
    for engine in ENGINES:
        arguments = poisoned(case.make(), "key and value", POISONS[poison], 0, column)
        try:
            actual = outcome(arguments, engine)
        except RefusedError:
            assert engine not in ("dense", "blocked")
            continue
        for name in ("output", "gradient of query"):
            far = gaps({name: actual[name][blind]}, {name: expected[name][blind]}, torch.float64)
            assert not far, f"{engine}: {far}"


@pytest.mark.parametrize("case", [*rotation(45), *kernels("even", step=5)], ids=str)
def test_a_key_that_does_not_see_it_is_untouched(case):
    """A query that some keys are hidden from: their gradients are what they were, and so are all other queries'."""
    row = 5
    case = dataclasses.replace(case, size="even" if case.size == "even" else "self")
    # Other queries that see the same keys get their own gradients; these keys, one that is not finite.
    unseen = ~visible(case)[:, :, row]
    expected = outcome(case.make(), "dense")
    for engine in ENGINES:
        try:
            actual = outcome(poisoned(case.make(), "query", float("nan"), row, 0), engine)
        except RefusedError:
            assert engine not in ("dense", "blocked")
            continue
        others = torch.arange(13) != row
        for name in ("output", "gradient of query"):
            far = gaps({name: actual[name][:, :, others]}, {name: expected[name][:, :, others]}, torch.float64)
            assert not far, f"{engine}: {far}"
        for name in ("gradient of key", "gradient of value"):
            # (batch, head, key) -> (batch, key_head, key): a key is untouched where no head of its own sees it.
            own = unseen.unflatten(1, (actual[name].shape[1], -1)).all(2)
            far = gaps({name: actual[name][own]}, {name: expected[name][own]}, torch.float64)
            assert not far, f"{engine}: {far}"


def visible(case):
    """Which pairs the mask allows, (batch, head, query, key)."""
    arguments = case.make()
    return weigh(
        arguments.query,
        arguments.key,
        weights=lambda scores, allowed: torch.ones_like(scores),
        mask=arguments.parts["mask"],
    ).bool()


@pytest.mark.parametrize("poison", ["nan", "inf"])
@pytest.mark.parametrize("mask", MASK_EXAMPLES)
@pytest.mark.parametrize("engine", ["dense", "blocked"])
def test_a_row_that_sees_it_says_so(engine, mask, poison):
    for size in ("self", "cross", "longer"):
        case = Case(mask=mask, size=size)
        arguments = poisoned(case.make(), "key and value", POISONS[poison], 0, 4)
        assert not torch.isfinite(arguments(attend, engine=engine)[visible(case)[..., 4]]).all(-1).any()


@pytest.mark.parametrize("engine", ["dense", "blocked"])
@pytest.mark.parametrize("which", ["key", "value", "query"])
def test_what_is_seen_does_matter(which, engine):
    arguments = Case(mask="causal").make()
    with torch.no_grad():
        getattr(arguments, which)[0, 0, 4, 0] = float("nan")
    output = arguments(attend, engine=engine)
    changed = torch.isnan(output[0, 0]).any(-1)
    expected = torch.arange(13) == 4 if which == "query" else torch.arange(13) >= 4
    assert torch.equal(changed, expected)
    assert torch.isfinite(output[0, 1:]).all()


@pytest.mark.parametrize("engine", ["dense", "blocked"])
def test_a_bias_may_hold_anything_where_it_is_hidden(engine):
    results = []
    for poison in (0.0, float("nan"), float("inf")):
        arguments = Case(mask="causal").make()
        table = torch.randn(13, 13, dtype=torch.float64, generator=seeded(0))
        table = table.masked_fill(torch.ones(13, 13).triu(1).bool(), poison).requires_grad_()
        arguments.parts["position"] = Bias(table)
        results.append(outcome(arguments, engine))
    for other in results[1:]:
        assert not gaps(other, results[0], torch.float64)


def test_a_huge_number_that_is_hidden_cannot_matter():
    """Finite, but its products overflow: infinity times a weight of 0 would be NaN in the gradients."""
    query, key, value = (torch.randn(1, 1, 8, 4) for _ in range(3))
    value[:, :, -1] = torch.finfo(torch.float32).max / 4 * torch.tensor([1.0, -1.0, 1.0, -1.0])
    query.requires_grad_()
    (3 * attend(query, key, value, mask="causal")[:, :, :-1]).sum().backward()
    assert torch.isfinite(query.grad).all()


def squashed(query, key):
    """A score of a user's own, differentiated on the tile: its slope is NaN where its product is."""
    return (query @ key.mT).tanh()


@pytest.mark.parametrize("engine", ["dense", "blocked", "auto"])
@pytest.mark.parametrize("score", [squashed, SoftCapped(1.0, 1.0)], ids=["own", "soft-capped"])
def test_a_huge_key_gives_no_gradient_to_a_row_that_does_not_see_it(score, engine):
    """By hand: s = tanh(-.2), w = sigmoid(s), and the gradient w (1 - w) (1 - s^2) k = .2380 k."""
    query = torch.tensor([[[[2.0, -2.0], [2.0, -2.0]]]], requires_grad=True)
    key = torch.tensor([[[[0.1, 0.2], [3e38, 3e38]]]], requires_grad=True)
    output = attend(query, key, torch.ones(1, 1, 2, 1), score=score, weights=Sigmoid(0.0), mask="causal", engine=engine)
    of_query, of_key = torch.autograd.grad(output[0, 0, 0, 0], (query, key))
    torch.testing.assert_close(of_query[0, 0, 0], torch.tensor([0.0238, 0.0476]), atol=1e-4, rtol=0)
    torch.testing.assert_close(of_key[0, 0, 0], torch.tensor([0.4759, -0.4759]), atol=1e-4, rtol=0)


@pytest.mark.parametrize("size", [1, 3])
def test_one_huge_number_is_huge_in_vectors_of_any_size(size):
    """The length of a vector of one number is found without a square; its product with another overflows."""

    def cancelling(query, key):
        return (2 * (query @ key.mT) - query @ key.mT).tanh()

    query, key = torch.full((1, 1, 2, size), 2.0, requires_grad=True), torch.ones(1, 1, 2, size)
    key[0, 0, 1] = 3e38
    output = attend(query, key, torch.ones(1, 1, 2, 1), score=cancelling, weights="sigmoid", mask="causal")
    (gradient,) = torch.autograd.grad(output[0, 0, 0, 0], query)
    assert (gradient[0, 0, 0] > 0).all()


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("mask", [None, "causal", Lengths([64]), Window(1, 0)], ids=str)
@pytest.mark.parametrize("what", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("size", [4, 64])
def test_a_diverged_encoder_shows(size, dtype, what, mask, grad):
    """Keys that are no numbers at all make outputs that are none, in every engine; scores of minus infinity, zeros."""
    query = torch.randn(1, 2, 64, size, generator=seeded(0)).to(dtype).requires_grad_(grad)
    key = torch.full((1, 2, 64, size), POISONS[what], dtype=dtype)
    value = torch.randn(1, 2, 64, size, generator=seeded(1)).to(dtype)
    lowest = (query @ key.mT == -torch.inf).all(-1, keepdim=True)
    ran = 0
    for engine in ("auto", *ENGINES):
        try:
            output = attend(query, key, value, mask=mask, engine=engine)
        except RefusedError:
            continue
        ran += 1
        assert torch.equal(torch.isnan(output), (~lowest).expand(output.shape)), engine
        assert (output == 0).masked_fill(~lowest, True).all(), engine
        if grad:
            (gradient,) = torch.autograd.grad(output.sum(), query)
            assert torch.isnan(gradient).all(), engine
    assert ran >= 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("keys", [3, 64])
def test_one_infinite_key_shows(keys, dtype):
    """As the definition has it: a score of infinity makes NaN of its row, one of minus infinity has no weight."""
    key = torch.randn(1, 1, keys, 4, generator=seeded(0)).to(dtype)
    value = torch.randn(1, 1, keys, 4, generator=seeded(1)).to(dtype)
    query = torch.ones(1, 1, 3, 4, dtype=dtype)
    query[:, :, 1] *= -1
    key[0, 0, 2, 0] = torch.inf
    expected = attend(query, key, value, engine="dense")
    assert torch.isnan(expected).any(-1).flatten().tolist() == [True, False, True]
    for engine in ("auto", *FUSED, "blocked"):
        output = attend(query, key, value, engine=engine)
        torch.testing.assert_close(output, expected, equal_nan=True, atol=0.02, rtol=0.02)


@pytest.mark.parametrize(
    ("number", "scale", "finite"),
    [(1.0, 1.0, True), (1e18, 1.0, True), (1e18, 1e3, False), (1e20, 1e-9, False), (torch.inf, 1.0, False),
     (torch.nan, 1.0, False)],
)  # fmt: skip
@pytest.mark.parametrize("score", [Dot, Cosine])
def test_where_its_kernels_would_lose_infinite_scores_fused_refuses_them(monkeypatch, score, number, scale, finite):
    """As on CUDA; what the values hold is left to the kernel, and found out by one look at queries and keys."""
    monkeypatch.setattr(fused, "_on_cuda_with_values", lambda request: True)
    query, key = torch.ones(1, 1, 3, 4), torch.ones(1, 1, 5, 4)
    query[0, 0, 1, 2] = key[0, 0, 1, 2] = number
    value = torch.ones(1, 1, 5, 4) if score is Cosine else torch.full((1, 1, 5, 4), torch.nan)
    request = Request.of(
        query, key, value, score=score(scale), weights="softmax", mask=None, position=None, dropout=0.0, seed=0
    )
    assert (fused.refuse(request) is None) == finite
    if score is Dot:
        monkeypatch.setattr(fused, "_longest_norm", None)
        assert (fused.refuse(request) is None) == finite


@pytest.mark.parametrize("engine", ["dense", "blocked", "auto"])
def test_infinite_values_that_are_seen_add_up(engine):
    """Row by row: nothing yet, infinity, less than it, both; and beside them a number that all rows see."""
    value = torch.tensor([[1.0, 1.0], [torch.inf, 1.0], [1.0, -torch.inf], [-torch.inf, 1.0]])[None, None]
    query = torch.zeros(1, 1, 4, 2)
    output = attend(query, query, value, mask="causal", engine=engine)[0, 0]
    expected = torch.tensor([[1.0, 1.0], [torch.inf, 1.0], [torch.inf, -torch.inf], [torch.nan, -torch.inf]])
    torch.testing.assert_close(output, expected, equal_nan=True)
    negative = attend(query, query, value, mask="causal", weights=lambda scores, allowed: scores - 1.0, engine=engine)
    expected = torch.tensor([[-1.0, -1.0], [-torch.inf, -2.0], [-torch.inf, torch.inf], [torch.nan, torch.inf]])
    torch.testing.assert_close(negative[0, 0], expected, equal_nan=True)


@pytest.mark.parametrize("engine", ["dense", "blocked", "auto"])
@pytest.mark.parametrize("place", ["value", "key", "query"])
@pytest.mark.parametrize("poison", POISONS)
def test_what_is_hidden_cannot_matter_to_the_second_order(poison, place, engine):
    results = []
    for held in (0.0, POISONS[poison]):
        arguments = Case(position="relative", mask="causal").make()
        arguments.parts["mask"] = arguments.parts["mask"] & (lambda batch, head, query, key: (key != 5) & (query != 5))
        with torch.no_grad():
            getattr(arguments, place)[:, :, 5] = held
        wanted = list(arguments.named.values())
        first = torch.autograd.grad(arguments(attend, engine=engine).square().sum(), wanted, create_graph=True)
        results.append((*first, *torch.autograd.grad(sum(gradient.square().sum() for gradient in first), wanted)))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize(
    "parts", [{"weights": "entmax by head"}, {"weights": "softmax by head"}, {"score": "cosine by head"}]
)
@pytest.mark.parametrize("mask", ["dense", "causal"])
def test_nan_in_one_head_stays_in_it(mask, parts):
    """In the gradient of parameters that each head has to itself, too."""
    for engine in ("dense", "blocked", "jit", "auto"):
        arguments = Case(mask=mask, **parts).make()
        with torch.no_grad():
            arguments.key[:, 1] = torch.nan
        parameter = list(arguments.named.values())[3]
        try:
            output = arguments(attend, engine=engine)
        except RefusedError:
            continue
        (gradient,) = torch.autograd.grad(output.sum(), parameter)
        assert torch.isnan(gradient).tolist() == [False, True, False, False], engine


def test_a_score_that_overflows_by_its_temperature_stays_in_its_row():
    """Finite vectors, and a finite product, that a small temperature makes infinite."""
    for engine in ("dense", "blocked", "auto"):
        query, key = (torch.full((1, 1, 200, 8), number) for number in (1e17, 1e-18))
        key[:, :, 100] = 1e18
        value = torch.randn(1, 1, 200, 8, generator=seeded(0)).requires_grad_()
        output = attend(query, key, value, mask=Window(3, 3), weights=Softmax(1e-4), engine=engine)
        (gradient,) = torch.autograd.grad(output.sum(), value)
        lost = torch.isnan(gradient).any(-1).flatten().nonzero().flatten()
        # Rows 97 to 103 see it; these rows see the keys 94 to 106.
        assert lost.tolist() == list(range(94, 107)), engine


def test_a_row_whose_logarithm_is_zero_is_not_taken_for_a_diverged_one():
    """A key with a score of 0 beside one of minus infinity has all the weight; the logarithm of the row's sum is 0."""
    key = torch.tensor([[[[-float("inf"), 0.0], [0.0, 0.0]]]])
    value = torch.tensor([[[[2.0, 3.0], [4.0, 5.0]]]])
    for engine in ("auto", *FUSED, "dense", "blocked"):
        output = attend(torch.ones(1, 1, 1, 2), key, value, score="dot", engine=engine)
        assert torch.equal(output, value[:, :, 1:]), engine


@pytest.mark.parametrize("engine", ["dense", "blocked"])
def test_a_key_of_minus_infinity_that_is_seen_has_no_weight(engine):
    key = torch.tensor([0.0, -float("inf"), 0.0]).view(1, 1, 3, 1)
    output = attend(
        torch.ones(1, 1, 1, 1), key, torch.ones(1, 1, 3, 1), mask=lambda batch, head, query, key: key < 2, engine=engine
    )
    assert output.item() == 1.0


ABOVE = {
    "fused": Case(mask="causal"),
    "banded": Case(mask="window", size="even, long"),
    "jit": Case(mask="edges"),
    "jit, zeros among the weights": Case("dot", "sparsemax", "edges"),
    "blocked": Case(weights="entmax", mask="causal & lengths"),
}


@pytest.mark.parametrize("name", ["named", "auto", "blocked", "dense"])
@pytest.mark.parametrize("engine", ABOVE)
@pytest.mark.parametrize("lost", [torch.nan, torch.inf])
def test_what_comes_from_above_reaches_nothing_that_is_hidden(lost, engine, name):
    """A loss of NaN in one row: its own gradient is NaN, and that of what it sees; no other's."""
    if name == "named" and engine != "blocked" and torch.get_default_device().type != "cpu":
        pytest.skip("the other engines are a CPU's, or refuse float64")
    row, case = 5, ABOVE[engine]
    arguments = case.make()
    output = arguments(attend, engine=engine.split(",")[0] if name == "named" else name)
    above = torch.ones_like(output)
    above[:, :, row] = lost
    seen = visible(case)[:, :, row]
    assert seen.any()
    assert not seen.all()
    of_query, of_key, of_value = torch.autograd.grad(output, (arguments.query, arguments.key, arguments.value), above)
    assert torch.isfinite(of_query[:, :, torch.arange(output.shape[2]) != row]).all()
    # (batch, head, key) -> (batch, key_head, key): heads that share a key see the same.
    seen = seen.unflatten(1, (of_key.shape[1], -1)).any(2)
    assert torch.isfinite(of_key[~seen]).all()
    assert torch.isfinite(of_value[~seen]).all()
    assert not torch.isfinite(of_key[seen]).any()
    assert not torch.isfinite(of_value[seen]).any()


@pytest.mark.parametrize("mask", [Lengths([3]), Causal() & Lengths([3])], ids=str)
def test_padding_that_overflows_when_it_is_scaled(mask):
    """Finite numbers, whose hidden scores aren't once they are divided by a small temperature."""
    three = [torch.randn(1, 1, 5, 4, generator=seeded(seed)) for seed in range(3)]
    three[0][:, :, 3:] = three[1][:, :, 3:] = 1e18
    results = []
    for engine in ("auto", "dense"):
        inputs = [each.clone().requires_grad_() for each in three]
        output = attend(*inputs, mask=mask, weights=Softmax(temperature=1e-3), engine=engine)
        results.append([output, *torch.autograd.grad(output.square().sum(), inputs)])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_the_gradient_of_a_hidden_weight_is_zero_by_itself():
    """Not only once the mask's own gradient has passed over it."""
    weights = torch.tensor([[[0.5, 0.0], [0.5, 0.5]]], requires_grad=True)
    value = torch.tensor([[[1.0], [torch.nan]]])
    allowed = torch.tensor([[[True, False], [True, True]]])
    masked_matmul(weights, value, allowed).sum().backward()
    torch.testing.assert_close(weights.grad, torch.tensor([[[1.0, 0.0], [1.0, torch.nan]]]), equal_nan=True)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("key_heads", [1, 2])
@pytest.mark.parametrize("engine", ["dense", *FUSED, "blocked", "auto"])
def test_scores_that_are_finite_though_products_are_not(engine, key_heads, grad):
    """The query is scaled before the product, as the definition does it, and not after."""
    query = torch.zeros(1, 2, 3, 4)
    query[..., 0] = torch.tensor([1.5, -1.5, 1e-3])
    key = torch.zeros(1, key_heads, 5, 4)
    key[..., 0] = 3e38
    value = torch.full((1, key_heads, 5, 4), 2.0)
    output = attend(query.requires_grad_(grad), key, value, engine=engine)
    torch.testing.assert_close(output, torch.full_like(output, 2.0))
