"""The normalisers: by hand, by law, against the definition, their gradients against autograd, and hostile rows."""

import math

import pytest
import torch
from torch import nn

from attention.cases import seeded
from regard.attention import entmax
from regard.attention.parts import flatten_part, operands, unflatten_part
from regard.attention.weights import (
    WEIGHTS,
    Budget,
    Entmax,
    Hard,
    LearnedEntmax,
    LearnedSigmoid,
    LearnedSoftmax,
    Relu,
    Sigmoid,
    Softmax,
    Sparsemax,
    TopK,
)
from regard.errors import ArgumentError

HEADS, QUERIES, KEYS = 3, 7, 11
DOUBLE = torch.float64
ALPHAS = [1.01, 1.3, 1.5, 1.9, 2.0, 2.5, 3.0]


def draw(*shape, seed=0, scale=1.0):
    generator = seeded(seed + sum(shape))
    return scale * torch.randn(shape, generator=generator, dtype=DOUBLE)


def positive(*shape):
    return draw(*shape, seed=1).exp().requires_grad_()


EXAMPLES = {
    "softmax": lambda: Softmax(),
    "softmax at 0.7": lambda: Softmax(0.7),
    "softmax, trained": lambda: Softmax(positive()),
    "softmax by head": lambda: Softmax(positive(HEADS)),
    "relu": lambda: Relu(),
    "relu by 13": lambda: Relu(13.0),
    "sigmoid": lambda: Sigmoid(),
    "sigmoid at -1": lambda: Sigmoid(-1.0),
    "sigmoid, trained": lambda: Sigmoid(draw(seed=2).requires_grad_()),
    "sigmoid by head": lambda: Sigmoid(draw(HEADS, seed=2).requires_grad_()),
    "sparsemax": lambda: Sparsemax(),
    **{f"entmax {alpha}": lambda alpha=alpha: Entmax(alpha) for alpha in ALPHAS},
    "entmax, trained": lambda: Entmax(torch.tensor(1.4, dtype=DOUBLE, requires_grad=True)),
    "entmax by head": lambda: Entmax(torch.tensor([1.05, 1.5, 1.9], dtype=DOUBLE, requires_grad=True)),
    "budget 2.5": lambda: Budget(2.5),
    "budget 0.7": lambda: Budget(0.7),
    "top 3": lambda: TopK(3),
    "hard": lambda: Hard(),
}
SUMS = [name for name in EXAMPLES if not name.startswith(("relu", "sigmoid", "budget"))]
SMOOTH = [name for name in EXAMPLES if name != "hard"]


def hidden(scores, seed=5):
    """Some pairs hidden, all of one row among them and all but one of another: the scores, and what is allowed."""
    allowed = draw(*scores.shape, seed=seed) > -0.5
    allowed[..., 2, :] = False
    allowed[..., 3, :] = torch.arange(scores.shape[-1]) == 4
    return scores.masked_fill(~allowed, torch.nan), allowed


def weigh(part, scores, allowed):
    """As an engine does: what is hidden can't get in, and can't get out."""
    if allowed is None:
        return part(scores, None)
    return torch.where(allowed, part(torch.where(allowed, scores, -torch.inf), allowed), 0.0)


def near(actual, expected, tolerance=1e-12):
    assert actual.shape == expected.shape
    assert not actual.isnan().any()
    gap = (actual - expected).abs().max().item() if actual.numel() else 0.0
    assert gap <= tolerance * max(1.0, expected.abs().max().item()), f"worst gap {gap:.3g}"


def by_bisection(scores, alpha):
    """The definition of entmax in float64: halve the bracket of the threshold until no float is left inside."""
    scores = (alpha - 1) * (scores.double() - scores.double().amax(-1, keepdim=True))
    low, high = torch.full_like(scores[..., :1], -1.0), torch.zeros_like(scores[..., :1])
    while True:
        middle = (low + high) / 2
        if ((middle <= low) | (middle >= high)).all():
            weights = (scores - low).clamp(min=0) ** (1 / (alpha - 1))
            return weights / weights.sum(-1, keepdim=True)
        enough = ((scores - middle).clamp(min=0) ** (1 / (alpha - 1))).sum(-1, keepdim=True) >= 1
        low, high = torch.where(enough, middle, low), torch.where(enough, high, middle)


def test_by_hand():
    scores = torch.tensor([[1.0, 0.5, -1.0, 0.5]])
    all_but_last = torch.tensor([[True, True, True, False]])
    shown = torch.where(all_but_last, scores, -torch.inf)
    e = math.e
    total = e**2 + e + e**-2
    for part, expected in (
        (Softmax(0.5), [e**2 / total, e / total, e**-2 / total, 0]),
        (Relu(), [1 / 3, 0.5 / 3, 0, 0]),
        (Relu(4.0), [0.25, 0.125, 0, 0]),
        (Sigmoid(0.0), [1 / (1 + e**-1), 1 / (1 + e**-0.5), 1 / (1 + e), 0]),
        (Sigmoid(), [1 / (1 + 3 * e**-1), 1 / (1 + 3 * e**-0.5), 1 / (1 + 3 * e), 0]),
        # (1 + 0.5 - 1) / 2 = 0.25 is the threshold.
        (Sparsemax(), [0.75, 0.25, 0, 0]),
        # Of 0.5 and 0.25: (0.5 - t)^2 + (0.25 - t)^2 = 1 where t = 0.375 - sqrt(0.484375).
        (Entmax(1.5), [(0.125 + math.sqrt(0.484375)) ** 2, (-0.125 + math.sqrt(0.484375)) ** 2, 0, 0]),
        # 1 and (0.5 - t) make 1.5 where t = 0, and then 1 - t is 1; of three keys, -1 is left out.
        (Budget(1.5), [1, 0.5, 0, 0]),
        (Budget(2.0), [1, 1, 0, 0]),
        (Budget(3.0), [1, 1, 1, 0]),
        (TopK(2), [e / (e + e**0.5), e**0.5 / (e + e**0.5), 0, 0]),
        (TopK(1), [1, 0, 0, 0]),
        (Hard(), [1, 0, 0, 0]),
    ):
        near(weigh(part, shown, all_but_last), torch.tensor([expected], dtype=torch.float32), 1e-6)


def test_hard_takes_the_first_of_equals():
    assert Hard()(torch.tensor([[1.0, 3.0, 3.0, 3.0], [0.0, 0.0, 0.0, 0.0]]), None).argmax(-1).tolist() == [1, 0]


def test_top_k_takes_the_first_of_equals():
    weights = TopK(2)(torch.tensor([[1.0, 3.0, 3.0, 3.0], [0.0, 0.0, 0.0, 0.0], [5.0, 1.0, 1.0, 0.0]]), None)
    assert (weights > 0).tolist() == [
        [False, True, True, False],
        [True, True, False, False],
        [True, True, False, False],
    ]
    near(TopK(9)(draw(2, 4), None), Softmax()(draw(2, 4), None))


@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
@pytest.mark.parametrize("budget", [0.3, 1.0, 2.0, 2.5, 7.0, 61.0])
@pytest.mark.parametrize("scale", [0.0, 1e-3, 0.3, 1.0, 30.0, 1e30])
def test_a_budget_is_its_definition(budget, scale, dtype):
    """The sum is the budget, and the weights are max(0, min(s - t, 1)) with one t for a row."""
    for keys in (1, 3, 61, 257):
        scores = draw(31, keys, scale=scale).to(dtype)
        scores[:5] = scores[:5].round()  # Ties.
        scores[5:11, keys // 2] = scores[5:11, 0]
        weights = Budget(budget)(scores, None)
        near(weights.sum(-1), torch.full((31,), min(budget, keys), dtype=dtype), 64 * torch.finfo(dtype).eps)
        assert (weights >= 0).all()
        assert (weights <= 1).all()
        if keys > budget:
            threshold = (scores - weights).masked_fill((weights == 0) | (weights == 1), torch.nan)
            for row, found, above in zip(scores, weights, threshold, strict=True):
                # Strictly between 0 and 1 all say the same threshold; 1 is above it by 1 at least, 0 not above it.
                inside = above[~above.isnan()]
                low, high = row[found == 1], row[found == 0]
                bound = 16 * torch.finfo(dtype).eps * max(1.0, row.abs().max().item())
                if len(inside):
                    assert inside.max() - inside.min() <= bound
                    assert not len(low) or low.min() - inside.mean() >= 1 - bound
                    assert not len(high) or high.max() <= inside.mean() + bound
                elif len(low) and len(high):
                    assert low.min() - high.max() >= 1 - bound


@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
@pytest.mark.parametrize("budget", [0.5, 2.0, 3.0])
def test_hostile_rows_of_a_budget_end(budget, dtype):
    huge, nan, inf = torch.finfo(dtype).max, math.nan, math.inf
    rows = [[nan, 0, 0, 0], [inf, 0, 1, 2], [inf, inf, inf, nan], [-inf] * 4, [5, -inf, -inf, 1]]
    rows += [[huge, -huge, huge, 0], [1, 1, 1, 1], [1, 1 - 2.0**-23, 1 - 2.0**-22, 1]]
    weights = Budget(budget)(torch.tensor(rows, dtype=dtype), None)
    assert weights[:3].isnan().all()
    sums = [0.0, min(budget, 2.0), budget, budget, budget]
    near(weights[3:].sum(-1), torch.tensor(sums, dtype=dtype), 1e-6)


def test_a_budget_of_one_is_sparsemax():
    scores = draw(QUERIES, KEYS, scale=0.4)
    near(Budget(1.0)(scores, None), Sparsemax()(scores, None), 1e-14)


def test_alpha_as_a_tensor_is_alpha_as_a_number():
    scores = draw(len(ALPHAS), QUERIES, KEYS)
    together = Entmax(torch.tensor(ALPHAS, dtype=DOUBLE))(scores, None)
    for alpha, one, row in zip(ALPHAS, together, scores, strict=True):
        near(one, Entmax(alpha)(row, None), 1e-9 if alpha > 2 else 1e-12)
    assert Entmax(torch.tensor(1.0))(scores.float(), None).isnan().all()
    assert Entmax(torch.tensor(-3.0))(scores.float(), None).isnan().all()


@pytest.mark.parametrize("alpha", [1.001, 1.01, 1.3, 1.5, 2.0, 2.5])
def test_the_gradient_of_alpha_near_one_is_not_all_rounding(alpha):
    """By a difference of the weights in float64; two terms of about 1 / (alpha - 1)^2 cancel in it."""
    scores, upward = draw(5, KEYS), draw(5, KEYS, seed=8)
    step = 1e-6
    more, less = (by_bisection(scores, alpha + sign * step) for sign in (1, -1))
    expected = (upward * (more - less)).sum() / (2 * step)
    for dtype, share in ((DOUBLE, 1e-6), (torch.float32, 1e-4)):
        parameter = torch.tensor(alpha, dtype=dtype, requires_grad=True)
        (found,) = torch.autograd.grad(Entmax(parameter)(scores.to(dtype), None), parameter, upward.to(dtype))
        assert abs(found.item() - expected.item()) <= share * max(1.0, abs(expected.item()))


@pytest.mark.parametrize("alpha", [1.0001, *ALPHAS, 5.0])
@pytest.mark.parametrize("scale", [0.0, 1e-3, 0.3, 1.0, 30.0, 1e30])
def test_entmax_is_its_definition(alpha, scale):
    for keys in (1, 2, 3, 61, 613):
        scores = draw(31, keys, scale=scale)
        scores[:5] = scores[:5].round()  # Ties.
        scores[5:11, keys // 2] = scores[5:11, 0]
        scores[11:17, keys // 2 + 1 :] = -torch.inf
        expected = by_bisection(scores, alpha)
        # Above 2, a rounding of 1e-16 is 1e-16 ^ (1 / (alpha - 1)) in a weight near 0.
        near(entmax.entmax(scores, alpha), expected, max(4e-12, 60 * 2.0 ** (-53 / (alpha - 1))))
        single = entmax.entmax(scores.float(), alpha)
        expected = by_bisection(scores.float(), alpha)
        near(single.double(), expected, max(5e-6, 60 * 2.0 ** (-24 / (alpha - 1))))
        near(single.double().sum(-1), torch.ones(31, dtype=DOUBLE), 1e-6)


@pytest.mark.parametrize("alpha", [1.5, 2.0])
def test_exact_thresholds(alpha):
    """On the support that comes out, the closed form gives the weights; and off it, nothing would stand above."""
    for seed in range(20):
        scores = draw(101, 257, seed=seed, scale=2.0 ** (seed % 7 - 3))
        weights = entmax.entmax(scores, alpha)
        support = weights > 0
        values = (alpha - 1) * scores
        size = support.sum(-1, keepdim=True, dtype=DOUBLE)
        mean = (values * support).sum(-1, keepdim=True) / size
        spread = ((values - mean).square() * support).sum(-1, keepdim=True)
        threshold = mean - (1 / size if alpha == 2.0 else ((1 - spread) / size).sqrt())
        near((values - threshold).clamp(min=0) ** (1 / (alpha - 1)), weights, 1e-13)


@pytest.mark.parametrize("at_once", [1, 50])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_entmax_row_by_row_is_entmax_at_once(alpha, at_once, monkeypatch):
    scores = draw(HEADS, QUERIES, KEYS)
    together = entmax.entmax(scores, alpha)
    monkeypatch.setattr(entmax, "_AT_ONCE", at_once)
    near(entmax.entmax(scores, alpha), together, 1e-15)


def test_sparsemax_is_entmax_2_and_near_1_it_is_softmax():
    scores = draw(QUERIES, KEYS)
    assert torch.equal(Sparsemax()(scores, None), Entmax(2.0)(scores, None))
    near(Entmax(1 + 1e-9)(scores, None), Softmax()(scores, None), 1e-7)
    near(Entmax(1 + 1e-4)(scores.float(), None), Softmax()(scores.float(), None), 1e-3)
    near(Entmax(300.0)(scores, None), Hard()(scores, None), 1e-12)


@pytest.mark.parametrize("name", EXAMPLES)
def test_rows_without_a_key_give_zeros_and_the_hidden_do_not_count(name):
    part = EXAMPLES[name]()
    scores, allowed = hidden(draw(HEADS, QUERIES, KEYS))
    weights = weigh(part, scores, allowed)
    assert torch.isfinite(weights).all()
    assert (weights[:, 2] == 0).all()
    if name in SUMS:
        near(weights.sum(-1)[:, [0, 1, 3, 4, 5, 6]], torch.ones(HEADS, 6, dtype=DOUBLE))
        near(weights[:, 3, 4], torch.ones(HEADS, dtype=DOUBLE))
    # More hidden columns change nothing.
    wider = torch.cat([torch.full_like(scores, -torch.inf), scores], -1)
    widened = weigh(part, wider, torch.cat([torch.zeros_like(allowed), allowed], -1))
    near(widened[..., KEYS:], weights)
    # Nor does whether the hidden are there at all.
    row = allowed[0, 0]
    near(weigh(part, scores[:1, :1, row], None)[:1], weights[:1, :1, row])


@pytest.mark.parametrize("name", EXAMPLES)
def test_permuting_keys_permutes_weights(name):
    part, scores = EXAMPLES[name](), draw(HEADS, QUERIES, KEYS)
    order = torch.randperm(KEYS, generator=seeded(4))
    near(part(scores[..., order], None), part(scores, None)[..., order])


@pytest.mark.parametrize("name", SUMS)
def test_adding_to_a_row_changes_nothing(name):
    part, scores = EXAMPLES[name](), draw(HEADS, QUERIES, KEYS)
    near(part(scores + 128.0, None), part(scores, None), 1e-11 if name != "entmax 3.0" else 1e-9)


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in ("hard", "top 3") and "by head" not in name])
def test_equals_share_equally(name):
    weights = EXAMPLES[name]()(torch.tensor([[0.3, 0.1, 0.3, 0.3, 0.1]], dtype=DOUBLE), None)[..., :, :]
    weights = weights.reshape(5)
    near(weights[[0, 1]], weights[[2, 4]])
    near(weights[0], weights[3])


@pytest.mark.parametrize("masked", [False, True], ids=["all", "masked"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_gradient_by_hand_is_that_of_autograd(name, masked):
    part = EXAMPLES[name]()
    scores, allowed = hidden(draw(HEADS, QUERIES, KEYS)) if masked else (draw(HEADS, QUERIES, KEYS), None)
    scores.requires_grad_()
    weights = weigh(part, scores, allowed)
    upward = draw(HEADS, QUERIES, KEYS, seed=8)
    wanted = (scores, *operands(part))
    smooth = name != "hard"
    expected = torch.autograd.grad(weights, wanted, upward) if smooth else (torch.zeros_like(scores),)
    held = weights.detach().clone()
    actual = part.vjp(upward.clone(), held, allowed)
    assert torch.equal(held, weights), "the weights are not vjp's to change"
    # What comes from above at a hidden pair can't matter.
    for one, two in zip(actual, expected, strict=True):
        near(one, torch.where(allowed, two, 0.0) if masked and two.shape == scores.shape else two, 1e-11)


@pytest.mark.parametrize("name", SMOOTH)
def test_first_and_second_derivatives(name):
    spec, tensors = flatten_part(EXAMPLES[name]())
    scores = draw(HEADS, 2, KEYS).requires_grad_()

    def run(scores, *tensors):
        return unflatten_part(spec, tensors)(scores, None)

    inputs = (scores, *tensors)
    assert torch.autograd.gradcheck(run, inputs, fast_mode=True)
    assert torch.autograd.gradgradcheck(run, inputs, fast_mode=True)
    bare = tuple(tensor.detach() for tensor in inputs)
    upward, toward = draw(HEADS, 2, KEYS, seed=8), tuple(draw(*tensor.shape, seed=9) for tensor in inputs)
    second = torch.func.vjp(lambda *all: torch.func.vjp(run, *all)[1](upward), *bare)[1](toward)
    first = torch.autograd.grad(run(*inputs), inputs, upward, create_graph=True)
    if any(grad.requires_grad for grad in first):
        expected = torch.autograd.grad(first, inputs, toward, allow_unused=True, materialize_grads=True)
        for one, two in zip(second, expected, strict=True):
            near(one, two, 1e-11)


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_of_masked_rows_are_finite_twice(name):
    part = EXAMPLES[name]()
    scores, allowed = hidden(draw(HEADS, QUERIES, KEYS))
    scores.requires_grad_()
    (first,) = torch.autograd.grad(weigh(part, scores, allowed).square().sum(), scores, create_graph=True)
    (second,) = torch.autograd.grad(first.square().sum(), scores)
    assert torch.isfinite(first).all()
    assert torch.isfinite(second).all()
    assert (first[~allowed] == 0).all()


@pytest.mark.parametrize("name", EXAMPLES)
def test_vmap(name):
    part, scores = EXAMPLES[name](), draw(2, HEADS, QUERIES, KEYS)
    near(torch.func.vmap(lambda one: part(one, None))(scores), torch.stack([part(one, None) for one in scores]))
    if name != "hard":
        gradient = torch.func.grad(lambda one: part(one, None).square().sum())
        near(
            torch.func.vmap(gradient, in_dims=-1)(scores.movedim(0, -1)), torch.stack([gradient(one) for one in scores])
        )


@pytest.mark.parametrize("masked", [False, True], ids=["all", "masked"])
@pytest.mark.parametrize("name", [name for name in EXAMPLES if hasattr(EXAMPLES[name](), "normalise_")])
def test_in_place_is_the_same(name, masked):
    part = EXAMPLES[name]()
    scores, allowed = hidden(draw(HEADS, QUERIES, KEYS)) if masked else (draw(HEADS, QUERIES, KEYS), None)
    scores = scores if allowed is None else torch.where(allowed, scores, -torch.inf)
    rows = [row for row in range(QUERIES) if not (masked and row == 2)]
    with torch.no_grad():
        near(part.normalise_(scores.clone(), allowed)[:, rows], part(scores, allowed)[:, rows], 1e-15)


@pytest.mark.parametrize("name", EXAMPLES)
def test_selecting_heads_is_taking_their_rows(name):
    part, scores, heads = EXAMPLES[name](), draw(HEADS, QUERIES, KEYS), torch.tensor([2, 0, 2, 1])
    chosen = part.select(heads) if hasattr(part, "select") else part
    near(chosen(scores[heads], None), part(scores, None)[heads])
    batch = torch.stack([scores, 2 * scores])
    near(part(batch, None)[1], part(2 * scores, None))
    upward = draw(4, QUERIES, KEYS)
    grads = chosen.vjp(upward, chosen(scores[heads], None).detach(), None)
    assert [grad.shape for grad in grads[1:]] == [operand.shape for operand in operands(chosen)]


@pytest.mark.parametrize("name", SUMS)
def test_a_row_that_can_not_be_computed_is_nan_and_no_other(name):
    part = EXAMPLES[name]()
    scores = draw(HEADS, QUERIES, KEYS)
    scores[:, 0, 3] = torch.nan
    scores[:, 1, 3:5] = torch.inf
    weights = part(scores, None)
    assert weights[:, 0].isnan().all()
    assert name == "hard" or weights[:, 1].isnan().all()
    assert torch.isfinite(weights[:, 2:]).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("alpha", [1 + 1e-6, *ALPHAS, 10.0, 1000.0, 1e9])
def test_hostile_rows_end(alpha, dtype):
    huge = torch.finfo(dtype).max
    tiny = torch.finfo(dtype).tiny
    rows = torch.tensor(
        [
            [0.0] * 6,
            [huge] * 6,
            [-huge] * 6,
            [huge, -huge] * 3,
            [huge, huge * (1 - 2.0**-20), 0, 0, 0, 0],
            [1.0, 1.0 - 2.0**-23, 1.0 - 2.0**-22, 1, 1, 1],
            [tiny, 0.0, -tiny, tiny / 2, tiny / 4, 0],
            [0, -1, -1, -1, -1, -1],
            [0, -2, -2, -2, -2, -2],
            [-torch.inf] * 5 + [7.0],
            [1e30, 1.0, -1e30, 0.0, 1e-30, 1e30],
        ],
        dtype=dtype,
    )
    weights = entmax.entmax(rows, alpha)
    near(weights.sum(-1), torch.ones(len(rows), dtype=dtype), 1e-6)
    assert (weights >= 0).all()
    near(weights[0], torch.full((6,), 1 / 6, dtype=dtype), 1e-6)
    near(weights[1], weights[0], 1e-6)
    near(weights[3], torch.tensor([1 / 3, 0.0] * 3, dtype=dtype), 1e-6)
    near(weights[9], torch.tensor([0.0] * 5 + [1], dtype=dtype))
    near(weights[10], torch.tensor([0.5, 0, 0, 0, 0, 0.5], dtype=dtype), 1e-6)
    assert torch.isfinite(entmax.entmax_vjp(torch.ones_like(rows), weights, min(alpha, 3.0))).all()


@pytest.mark.every_case
@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (2, 0, 4), (3, 1)])
@pytest.mark.parametrize("name", [name for name in EXAMPLES if "head" not in name])
def test_empty_and_single(name, shape):
    part = EXAMPLES[name]()
    weights = part(torch.zeros(shape, dtype=DOUBLE), None)
    assert weights.shape == shape
    if name in SUMS and shape == (3, 1):
        near(weights, torch.ones(3, 1, dtype=DOUBLE), 1e-15)
    assert part.vjp(torch.ones_like(weights), weights.detach(), None)[0].shape == shape


def test_modules_give_their_parameters():
    softmax, sigmoid = LearnedSoftmax(HEADS, temperature=2.0), LearnedSigmoid(10)
    torch.testing.assert_close(softmax.part().temperature, torch.full((HEADS,), 2.0))
    assert sigmoid.part().bias is sigmoid.bias
    scores = draw(HEADS, QUERIES, KEYS).float()
    near(sigmoid.part()(torch.zeros(1, 10), None).sum(), torch.tensor(10 / 11), 1e-6)
    softmax.part()(scores, None).square().sum().backward()
    assert softmax.log_temperature.grad.abs().min() > 0
    assert isinstance(softmax, nn.Module)
    entmax = LearnedEntmax(HEADS, alpha=1.25)
    torch.testing.assert_close(entmax.part().alpha, torch.full((HEADS,), 1.25))
    entmax.part()(scores, None).square().sum().backward()
    assert entmax.logit.grad.abs().min() > 0
    with torch.no_grad():
        entmax.logit.fill_(-100.0)
    near(entmax.part().alpha, torch.full((HEADS,), 1.01))
    near(entmax.part()(scores, None).sum(-1), torch.ones(HEADS, QUERIES), 1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Softmax(0.0), "`temperature` must be above 0, but is 0.0. For 0, use Hard"),
        (lambda: Softmax(math.nan), "`temperature` must be above 0"),
        (lambda: LearnedSoftmax(temperature=-1.0), "`temperature` must be above 0"),
        (lambda: Softmax(torch.ones(1, 2)), r"`temperature` must be a number, \(\) or \(head,\)"),
        (
            lambda: Softmax(torch.ones(2)).check(3),
            r"`temperature` of the weights must be \(\), or \(3,\) for one to each head",
        ),
        (lambda: Sigmoid(torch.ones(1, 2)), "`bias` must be a number"),
        (lambda: Sigmoid(torch.ones(2)).check(3), r"`bias` of the weights .* but is \(2,\)"),
        (lambda: LearnedSigmoid(0), "`length` must be how many keys .*, 1 or more"),
        (lambda: Relu(0.0), "`divisor` must be above 0"),
        (lambda: Entmax(1.0), "`alpha` must be above 1, but is 1.0. For 1, use Softmax"),
        (lambda: Entmax(math.nan), "`alpha`"),
        (lambda: Entmax(torch.ones(2, 1)), r"`alpha` must be a number, \(\) or \(head,\)"),
        (
            lambda: Entmax(torch.ones(2)).check(3),
            r"`alpha` of the weights must be \(\), or \(3,\) for one to each head",
        ),
        (lambda: LearnedEntmax(alpha=2.0), "`alpha` must lie between 1.01 and 2, but is 2.0"),
        (lambda: Entmax(torch.tensor(2 + 0j)), "`alpha` must hold real numbers, but holds torch.complex64"),
        (lambda: Entmax(torch.tensor(True)), "`alpha` must hold real numbers, but holds torch.bool"),
        (lambda: LearnedSoftmax(0), "`heads` must be how many heads there are"),
        (lambda: Budget(0.0), "`budget` must be above 0, but is 0.0"),
        (lambda: Budget(torch.ones(())), "`budget` must be a number"),
        (lambda: TopK(0), "`keys` must be how many keys a query attends to at most, 1 or more"),
        (lambda: TopK(2.5), "`keys` must be how many keys"),
        (lambda: Entmax(math.inf), "`alpha`"),
    ],
)
def test_what_can_not_be_made(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_every_name_is_made_without_arguments():
    for make in WEIGHTS.values():
        near(make()(torch.zeros(2, 1), None), make()(torch.zeros(2, 1), torch.ones(2, 1, dtype=torch.bool)))


@pytest.mark.parametrize("temperature", [1.0, 0.3])
@pytest.mark.parametrize("keys", [1, 2, 15, 16, 17, 63, 64, 65])
@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float64, 1e-14), (torch.float32, 1e-6)])
def test_softmax_in_the_place_of_the_scores_is_softmax(keys, temperature, dtype, rtol):
    """Rows of every length that is computed in a way of its own; large scores, hidden ones, NaN and infinity."""
    scores = draw(5, 6, keys, scale=300.0).to(dtype)
    scores[:, :, 1::3] = -math.inf
    scores[0, 0], scores[0, 1, 0], scores[0, 2, 0] = -math.inf, math.nan, math.inf
    expected = (scores / temperature).softmax(-1)
    found = Softmax(temperature).normalise_(scores.clone(), None)
    torch.testing.assert_close(found, expected, rtol=rtol, atol=0, equal_nan=True)
