"""A user's own parts: a few lines each, with gradients, on every engine that takes them; and parts made of others."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from attention.cases import Case
from attention.comparing import Cut, gaps, outcome
from regard.attention import (
    Additive,
    Alibi,
    Bilinear,
    Causal,
    Cosine,
    Dense,
    Documents,
    Dot,
    Edges,
    Entmax,
    Lengths,
    Mask,
    Position,
    ScaledDot,
    Sigmoid,
    Softmax,
    Sparsemax,
    Window,
    attend,
    weigh,
)
from regard.attention.positions import Buckets, RelativeKeys, Slopes
from regard.errors import ArgumentError, RefusedError

X = torch.ones(2, 3, 5, 7)


# The three that the documents show, 10 lines each.


@dataclass(frozen=True)
class Laplace:
    """A score: minus the distance along the axes, over a width that each head has to itself."""

    width: Tensor

    def __call__(self, query, key):
        distance = (query.unsqueeze(-2) - key.unsqueeze(-3)).abs().sum(-1)
        return -distance / self.width[:, None, None]

    def select(self, heads):
        return Laplace(self.width[heads])


@dataclass(frozen=True)
class Strided(Mask):
    """A mask: of the keys before, those that lie a whole number of strides back."""

    stride: int

    def allows(self, at):
        return (at.key <= at.position) & ((at.position - at.key) % self.stride == 0)


@dataclass(frozen=True)
class Power:
    """A normaliser: powers of what is above 0, shared out; the exponent is trained."""

    exponent: Tensor

    def __call__(self, scores, allowed):
        hidden = torch.zeros_like(scores, dtype=torch.bool) if allowed is None else ~allowed
        # At minus infinity the power has no second derivative.
        above = torch.nn.functional.softplus(scores.masked_fill(hidden, 0.0)) ** self.exponent
        above = above.masked_fill(hidden, 0.0)
        return above / (above.sum(-1, keepdim=True) + 1e-6)


@dataclass(frozen=True)
class Decay(Position):
    """A position scheme: scores fall with the square of the distance."""

    rate: Tensor

    def scores(self, scores, query, key, at):
        return scores - self.rate * at.offset.square()


OWN = {
    "score": lambda: Laplace(torch.tensor([0.5, 1.0, 1.5, 2.0], dtype=torch.float64, requires_grad=True)),
    "weights": lambda: Power(torch.tensor(1.7, dtype=torch.float64, requires_grad=True)),
    "mask": lambda: Strided(3),
    "position": lambda: Decay(torch.tensor(0.1, dtype=torch.float64, requires_grad=True)),
}


def equal_everywhere(case, parts):
    """The same outcome in every engine, in tiles of several sizes, as `dense` gives; which is returned."""

    def made():
        arguments = case.make()
        for kind, make in parts.items():
            arguments.parts[kind] = make()
        return arguments

    expected = outcome(made(), "dense")
    for engine in ("auto", "fused", "blocked", Cut(rows=5, budget=40)):
        try:
            assert not gaps(outcome(made(), engine), expected, torch.float64), engine
        except RefusedError:
            assert engine not in ("auto", "blocked")
    return expected


@pytest.mark.parametrize("size", ["self", "longer", "grouped"])
@pytest.mark.parametrize("kinds", [*((kind,) for kind in OWN), tuple(OWN)], ids=" ".join)
def test_own_parts_work_with_their_gradients(kinds, size):
    found = equal_everywhere(Case(mask="causal & lengths", size=size), {kind: OWN[kind] for kind in kinds})
    for kind in kinds:
        if kind != "mask":
            assert found[f"gradient of {kind} operand 0"].abs().max() > 1e-3


def test_own_parts_are_what_they_say():
    query, key, value = (tensor.detach() for tensor in (Case().make().query, Case().make().key, Case().make().value))
    widths = torch.tensor([0.5, 1.0, 1.5, 2.0], dtype=torch.float64)
    scores = -(query.unsqueeze(3) - key.unsqueeze(2)).abs().sum(-1) / widths.view(4, 1, 1)
    row, column = torch.arange(13).view(13, 1), torch.arange(13)
    scores = (scores - 0.1 * (row - column) ** 2).masked_fill((column > row) | ((row - column) % 3 != 0), -torch.inf)
    above = torch.nn.functional.softplus(scores) ** 1.7
    expected = above / (above.sum(-1, keepdim=True) + 1e-6) @ value
    torch.testing.assert_close(attend(query, key, value, **{kind: make() for kind, make in OWN.items()}), expected)


def test_a_gradient_of_ones_own_is_used_and_scattered_to_the_heads():
    calls = []

    @dataclass(frozen=True)
    class Scaled:
        scale: Tensor

        def __call__(self, query, key):
            return self.scale[:, None, None] * (query @ key.mT)

        def vjp(self, grad_scores, query, key):
            calls.append(1)
            scale = self.scale[:, None, None]
            grad = scale * grad_scores
            return grad @ key, grad.mT @ query, (grad_scores * (query @ key.mT)).sum((1, 2))

        def select(self, heads):
            return Scaled(self.scale[heads])

    scale = torch.tensor([0.5, 1.0, -1.5, 2.0], dtype=torch.float64, requires_grad=True)
    equal_everywhere(Case(mask="causal & lengths", size="grouped"), {"score": lambda: Scaled(scale)})
    assert calls


@pytest.mark.parametrize("engine", ["auto", "dense", "blocked"])
def test_a_module_declares_by_its_part(engine):
    class Temperature(nn.Module):
        def __init__(self):
            super().__init__()
            self.log = nn.Parameter(torch.zeros(()))

        def part(self):
            return Sharpened(self.log)

    module = Temperature()
    x = torch.randn(2, 3, 5, 7)
    attend(x, x, x, weights=module, engine=engine).square().sum().backward()
    assert module.log.grad.abs() > 0
    torch.testing.assert_close(weigh(x, x, weights=module), weigh(x, x))


@dataclass(frozen=True)
class Sharpened:
    log: Tensor

    def __call__(self, scores, allowed):
        return torch.softmax(scores * self.log.exp(), -1)


class Hooked(Position):
    """A position scheme that hides a tensor in its hooks."""

    def __init__(self, heads=None, outputs=None):
        self._heads, self._outputs = heads, outputs

    def heads(self, query, key, query_position, key_position):
        return (query, key) if self._heads is None else (query * self._heads, key)

    def outputs(self, output, weights, at):
        return output if self._outputs is None else output * self._outputs


@pytest.mark.parametrize("engine", ["auto", "blocked"])
@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("score", lambda hidden: lambda query, key: hidden * (query @ key.mT)),
        ("score", lambda hidden: lambda query, key: (hidden if key.shape[-2] > 1 else 1) * (query @ key.mT)),
        ("weights", lambda hidden: lambda scores, allowed: torch.softmax(scores * hidden, -1)),
        ("weights", lambda hidden: lambda scores, allowed: scores.softmax(-1) * (1 if allowed is None else hidden)),
        ("position", lambda hidden: Hooked(heads=hidden)),
        ("position", lambda hidden: Hooked(outputs=hidden)),
    ],
)
def test_a_captured_tensor_that_wants_gradients_is_refused(kind, make, engine):
    """It would get none from tiles that are computed again; the definition gives it its gradient."""
    hidden = torch.ones((), requires_grad=True)
    with pytest.raises(ArgumentError, match=f"`{kind}` computes with a tensor that requires grad"):
        attend(X, X, X, **{kind: make(hidden)}, mask="causal", engine=engine)
    attend(X, X, X, **{kind: make(hidden.detach())}, mask="causal", engine=engine)
    with torch.no_grad():
        attend(X, X, X, **{kind: make(hidden)}, mask="causal", engine=engine)
    attend(X, X, X, **{kind: make(hidden)}, mask="causal", engine="dense").sum().backward()
    assert hidden.grad is not None


@pytest.mark.parametrize("engine", ["dense", "blocked"])
def test_a_score_without_derivative_at_the_padding(engine):
    """This cosine has none at zero, and zeros are what padding is made of."""

    def cosine(query, key):
        return (query / query.norm(dim=-1, keepdim=True)) @ (key / key.norm(dim=-1, keepdim=True)).mT

    x = torch.randn(2, 1, 5, 4)
    x[1, :, 3:] = 0
    x.requires_grad_()
    attend(x, x, x, score=cosine, mask=Lengths([5, 3]), engine=engine).square().sum().backward()
    assert torch.isfinite(x.grad).all()
    assert (x.grad[1, :, 3:] == 0).all()
    assert (x.grad[1, :, :3] != 0).all()


@dataclass(frozen=True)
class Louder:
    """A normaliser: softmax times a gain that is trained. Of a row of minus infinities softmax makes NaN."""

    gain: Tensor

    def __call__(self, scores, allowed):
        return self.gain * scores.softmax(-1)


@pytest.mark.parametrize("make", [Louder, Power])
@pytest.mark.parametrize("engine", ["dense", "blocked", "auto"])
def test_a_normaliser_is_spared_rows_that_see_nothing(make, engine):
    """Whatever it would make of them, what it trains has a gradient, and one of that."""
    x = torch.randn(2, 1, 5, 4, dtype=torch.float64, requires_grad=True)
    for mask in (Lengths([5, 3]), Lengths([5, 0]), Causal()):
        number = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
        output = attend(x, x, x, weights=make(number), mask=mask, engine=engine)
        first = torch.autograd.grad(output.square().sum(), (number, x), create_graph=True)
        second = torch.autograd.grad(first[0] + first[1].square().sum(), (number, x))
        assert all(torch.isfinite(gradient).all() for gradient in (*first, *second))


CARELESS = {
    "keeps and gives what it got": {"weights": lambda scores, allowed: scores.nan_to_num(neginf=0.0)},
    "gives a view": {"weights": lambda scores, allowed: torch.ones_like(scores[..., :1]).expand(scores.shape)},
    "is not finite where hidden": {"weights": lambda scores, allowed: scores},
    "hides by a number": {"mask": lambda batch, head, query, key: torch.ones((), dtype=torch.bool)},
    "hides by the head alone": {"mask": lambda batch, head, query, key: head != 1},
    "hides by the item alone": {"mask": lambda batch, head, query, key: batch != 1},
}


@pytest.mark.parametrize("what", CARELESS)
@pytest.mark.parametrize("mask", ["dense", "causal & lengths"])
def test_careless_parts_are_safe(what, mask):
    """What a function may do without a thought for how it is called."""
    if "mask" in CARELESS[what]:
        rule = CARELESS[what]["mask"]
        equal_everywhere(Case(mask=mask), {"mask": lambda: Case(mask=mask).make().parts["mask"] & rule})
    else:
        equal_everywhere(Case(mask=mask), {kind: lambda part=part: part for kind, part in CARELESS[what].items()})


# Subclasses of the package's own parts: what they inherit was written for something else than what they compute.


def per_head():
    return torch.tensor([0.5, 1.0, 1.5, 2.0], dtype=torch.float64, requires_grad=True)


def halved(base, *made):
    """A subclass whose scores are half of its parent's."""

    @dataclass(frozen=True)
    class Half(base):
        def __call__(self, query, key):
            return 0.5 * super().__call__(query, key)

    return lambda: Half(*(make() for make in made))


def sharpened(base, *made):
    @dataclass(frozen=True)
    class Sharp(base):
        def __call__(self, scores, allowed):
            return super().__call__(4 * scores, allowed)

    return lambda: Sharp(*(make() for make in made))


def vector():
    return torch.linspace(-1, 1, 5, dtype=torch.float64).requires_grad_()


SCORES_CHANGED = {
    "dot": (halved(Dot), Dot()),
    "scaled_dot": (halved(ScaledDot), ScaledDot()),
    "additive": (halved(Additive, vector), Additive(vector())),
    "bilinear": (
        halved(Bilinear, lambda: torch.eye(5, dtype=torch.float64).requires_grad_()),
        Bilinear(torch.eye(5, dtype=torch.float64)),
    ),
    "cosine": (halved(Cosine, per_head), Cosine(per_head())),
}
WEIGHTS_CHANGED = {
    "softmax": (sharpened(Softmax), Softmax()),
    "softmax by head": (sharpened(Softmax, per_head), Softmax(per_head())),
    "sigmoid": (sharpened(Sigmoid), Sigmoid()),
    "sigmoid by head": (sharpened(Sigmoid, per_head), Sigmoid(per_head())),
    "sparsemax": (sharpened(Sparsemax), Sparsemax()),
    "entmax": (sharpened(Entmax), Entmax()),
}


@pytest.mark.parametrize("name", SCORES_CHANGED)
def test_a_score_that_changes_a_built_in(name):
    make, plain = SCORES_CHANGED[name]
    arguments = Case().make()
    query, key = arguments.query.detach(), arguments.key.detach()

    def raw(score):
        return weigh(query, key, score=score, weights=lambda scores, allowed: scores)

    torch.testing.assert_close(raw(make()), 0.5 * raw(plain))
    equal_everywhere(Case(mask="causal & lengths"), {"score": make})


@pytest.mark.parametrize("name", WEIGHTS_CHANGED)
def test_a_normaliser_that_changes_a_built_in(name):
    make, plain = WEIGHTS_CHANGED[name]
    arguments = Case().make()
    query, key = arguments.query.detach(), arguments.key.detach()
    torch.testing.assert_close(weigh(query, key, weights=make()), weigh(4 * query, key, weights=plain))
    equal_everywhere(Case(mask="causal & lengths"), {"weights": make})


class Strictly(Causal):
    def allows(self, at):
        return at.key < at.position


class Backwards(Dense):
    def allows(self, at):
        return at.key >= at.position


class Dilated(Window):
    def allows(self, at):
        return super().allows(at) | (at.key == 0)


class Undirected(Edges):
    def allows(self, at):
        return super().allows(at) | (at.key == at.query)


class Joined(Documents):
    def allows(self, at):
        return super().allows(at) | (at.key % 5 == 0)


class First(Lengths):
    def allows(self, at):
        return super().allows(at) & (at.key < 3)


@pytest.mark.parametrize(
    "make",
    [
        Strictly,
        Backwards,
        lambda: Dilated(1, 1),
        lambda: Undirected(torch.tensor([[0, 4, 7], [2, 2, 11]])),
        lambda: Joined(torch.arange(13) // 4),
        lambda: First([13, 7, 2]),
        lambda: Strictly() | Window(0, 2),
        lambda: ~Backwards(),
    ],
    ids=["causal", "dense", "window", "edges", "documents", "lengths", "in a union", "negated"],
)
@pytest.mark.parametrize("weights", ["softmax", "entmax"])
def test_a_mask_that_changes_a_built_in(make, weights):
    """It says what is allowed; what its parent says of spans, columns and edges is of another mask."""
    equal_everywhere(Case(weights=weights), {"mask": make})


@dataclass(frozen=True)
class Steeper(Slopes):
    def bias(self, offset):
        return 2 * super().bias(offset)


@dataclass(frozen=True)
class Doubled(Buckets):
    def bias(self, offset):
        return 2 * super().bias(offset)


@dataclass(frozen=True)
class Louder(RelativeKeys):
    def scores(self, scores, query, key, at):
        return scores + 2 * (super().scores(scores, query, key, at) - scores)


@pytest.mark.parametrize(
    ("make", "plain"),
    [
        (lambda: Steeper(per_head()), lambda: Slopes(2 * per_head().detach())),
        (
            lambda: Doubled(torch.outer(per_head().detach(), torch.arange(8.0)).requires_grad_(), 7),
            lambda: Buckets(2 * torch.outer(per_head().detach(), torch.arange(8.0)), 7),
        ),
        (
            lambda: Louder(torch.outer(torch.arange(5.0).double(), torch.arange(5.0)).requires_grad_()),
            lambda: RelativeKeys(2 * torch.outer(torch.arange(5.0).double(), torch.arange(5.0))),
        ),
    ],
    ids=["slopes", "buckets", "relative keys"],
)
def test_a_position_that_changes_a_built_in(make, plain):
    found = equal_everywhere(Case(mask="causal & lengths"), {"position": make})
    other = equal_everywhere(Case(mask="causal & lengths"), {"position": plain})
    torch.testing.assert_close(found["output"], other["output"])
    assert found["gradient of position operand 0"].abs().max() > 1e-3


def test_a_sum_of_own_and_built_in():
    equal_everywhere(
        Case(mask="causal & lengths"),
        {"position": lambda: OWN["position"]() + Alibi(4).double() + Louder(torch.ones(5, 5).double())},
    )
