"""Mistakes in parts of one's own, each said in a sentence by every engine that would compute with them."""

import subprocess
import sys
from dataclasses import dataclass

import pytest
import torch
import torch.nn.functional as F

from attention.cases import seeded
from regard.attention import (
    Alibi,
    Bias,
    Blocks,
    Causal,
    Dot,
    Edges,
    Mask,
    Position,
    ScaledDot,
    Softmax,
    Window,
    attend,
    summarise,
    weigh,
)
from regard.errors import ArgumentError, RefusedError
from regard.modules import Pairs


def heads(length: int = 6, *, batch: int = 2, count: int = 2, trained: bool = True) -> tuple[torch.Tensor, ...]:
    drawn = (torch.randn(batch, count, length, 4, generator=seeded(i)) for i in range(3))
    return tuple(tensor.requires_grad_(trained) for tensor in drawn)


class Heads(Position):
    def __init__(self, change):
        self.change = change

    def heads(self, query, key, query_position, key_position):
        return self.change(query, key)


class Scores(Position):
    def __init__(self, change):
        self.change = change

    def scores(self, scores, query, key, at):
        return self.change(scores)


class Outputs(Position):
    def __init__(self, change):
        self.change = change

    def outputs(self, output, weights, at):
        return self.change(output)


class Short(Position):
    def scores(self, scores, at):  # pyright: ignore[reportIncompatibleMethodOverride]
        return scores


class Reducing:
    def __init__(self, change):
        self.change = change

    def __call__(self, query, key):
        return query @ key.mT

    def reduce(self, query, key):
        return self.change(query, key)


RETURNS = {
    "a score without groups": {"score": lambda query, key: (query @ key.mT)[0]},
    "a score of broadcasting rows": {"score": lambda query, key: (query @ key.mT)[:, :1]},
    "a score of broadcasting columns": {"score": lambda query, key: query.sum(-1, keepdim=True)},
    "a score of whole numbers": {"score": lambda query, key: (query @ key.mT).long()},
    "no score": {"score": lambda query, key: None},
    "a number for a score": {"score": lambda query, key: 1.0},
    "two scores": {"score": lambda query, key: (query @ key.mT, 1)},
    "summed weights": {"weights": lambda scores, allowed: scores.sum(-1, keepdim=True)},
    "weights of bools": {"weights": lambda scores, allowed: scores > 0},
    "no weights": {"weights": lambda scores, allowed: None},
    "no scores of a position": {"position": Scores(lambda scores: None)},
    "one row of a position": {"position": Scores(lambda scores: scores[:, :1])},
    "fewer outputs": {"position": Outputs(lambda output: output[..., :2])},
}


@pytest.mark.parametrize("engine", ["auto", "dense", "blocked"])
@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("what", RETURNS)
def test_what_a_part_returns_is_looked_at(what, trained, engine):
    for mask in (None, "causal"):
        with pytest.raises(ArgumentError, match=r"of your own must return .*but returned"):
            attend(*heads(trained=trained), **RETURNS[what], mask=mask, engine=engine)


@pytest.mark.parametrize("engine", ["auto", "dense", "blocked"])
@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"weights": lambda s: s.relu()},
            r"`weights` of your own must take \(scores, allowed\), but <lambda> takes \(s\)",
        ),
        ({"weights": torch.relu}, r"`weights` .* must take \(scores, allowed\), but relu takes others"),
        ({"weights": torch.nn.Softmax(-1)}, r"`weights` .* must take \(scores, allowed\), but Softmax takes \(input"),
        ({"score": lambda query: query}, r"`score` of your own must take \(query, key\)"),
        ({"mask": lambda query, key: key <= query}, r"`mask` of your own must take \(batch, head, query, key\)"),
        ({"position": Short()}, r"`position's scores` of your own must take \(scores, query, key, at\)"),
    ],
)
def test_what_a_function_takes_is_said(parts, message, trained, engine):
    with pytest.raises(ArgumentError, match=message):
        attend(*heads(trained=trained), **parts, engine=engine)


def test_a_function_s_own_mistake_remains_its_own():
    def broken(scores, allowed):
        return scores + None

    with pytest.raises(TypeError, match="NoneType"):
        attend(*heads(trained=False), weights=broken)


@pytest.mark.parametrize("what", ["a score of broadcasting columns", "summed weights"])
def test_a_summary_looks_too(what):
    query, key, _ = heads(trained=False)
    with pytest.raises(ArgumentError, match="of your own must return"):
        summarise(query, key, **RETURNS[what])


def test_another_dtype_is_converted():
    rate = torch.tensor(0.5, dtype=torch.float64)
    three = heads(trained=False)
    for parts in (
        {"score": lambda query, key: (query @ key.mT).double() * rate},
        {"weights": lambda scores, allowed: (scores * rate.float()).softmax(-1).to(torch.bfloat16)},
    ):
        found = [attend(*three, **parts, engine=engine) for engine in ("auto", "dense", "blocked")]
        assert all(one.dtype == torch.float32 for one in found)
        torch.testing.assert_close(found[0], found[1])
        torch.testing.assert_close(found[0], found[2])


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("weights", ["softmax", "entmax", "relu"])
@pytest.mark.parametrize(
    "change",
    [
        lambda query, key: (query, key[:, :, :3]),
        lambda query, key: (query[:, :1], key),
        lambda query, key: (query[..., :2], key),
        lambda query, key: (query.double(), key.double()),
        lambda query, key: query,
        lambda query, key: None,
    ],
    ids=["fewer keys", "fewer heads", "smaller", "wider numbers", "one", "none"],
)
def test_what_heads_returns_is_looked_at(change, weights, trained):
    """Kernels check no bounds: too few keys ended the process."""
    for engine in ("auto", "dense", "blocked"):
        with pytest.raises(ArgumentError, match=r"`position` of your own: heads\(\) must return query (and|\()"):
            attend(*heads(trained=trained), position=Heads(change), weights=weights, engine=engine)


@pytest.mark.parametrize(
    "change",
    [
        lambda query, key: (Dot(), query, key[:, :, :3]),
        lambda query, key: (query, key),
        lambda query, key: (Dot(), query.double(), key.double()),
    ],
)
def test_what_reduce_returns_is_looked_at(change):
    with pytest.raises(ArgumentError, match=r"`score` of your own: reduce\(\) must return a score, query"):
        attend(*heads(), score=Reducing(change))


@pytest.mark.parametrize("engine", ["auto", "dense", "blocked"])
@pytest.mark.parametrize("trained", [False, True])
def test_a_score_may_not_write_into_the_callers_tensors(trained, engine):
    with pytest.raises(ArgumentError, match="`score` of your own must not write into what it is given"):
        attend(*heads(trained=trained), score=lambda query, key: query @ key.mul_(2).mT, engine=engine)


def test_no_part_may_write_where_a_gradient_is_wanted():
    for parts in (
        {"weights": lambda scores, allowed: scores.sub_(1).softmax(-1)},
        {"position": Scores(lambda scores: scores.mul_(2))},
    ):
        with pytest.raises(ArgumentError, match="must not write into what it is given"):
            attend(*heads(), **parts).sum().backward()


@pytest.mark.parametrize(
    "parts",
    [
        {"weights": lambda scores, allowed: F.dropout(scores.softmax(-1), 0.5)},
        {"score": lambda query, key: query @ key.mT + torch.randn_like(query @ key.mT)},
    ],
)
def test_chance_is_refused_where_a_gradient_is_wanted(parts):
    with pytest.raises(ArgumentError, match="draws random numbers, but is computed again for the gradient"):
        attend(*heads(), **parts)
    assert attend(*heads(trained=False), **parts).shape == (2, 2, 6, 4)


@dataclass(frozen=True)
class Says(Mask):
    """A mask that says something else than it should."""

    what: object

    def allows(self, at):
        return self.what(at) if callable(self.what) else self.what


@pytest.mark.parametrize(
    ("says", "message"),
    [
        (
            lambda at: (at.key <= at.query).float(),
            "must return a bool tensor, True = may attend, but returned torch.float",
        ),
        (lambda at: (at.key <= at.query).long(), "must return a bool tensor"),
        (lambda at: None, "but returned NoneType"),
        (True, "but returned bool"),
        (lambda at: torch.ones(3, 3, dtype=torch.bool), r"broadcastable to .*but returned \(3, 3\)"),
        (lambda at: at.key <= at.query and at.key > 2, "must combine tensors by & | ~"),
    ],
)
@pytest.mark.parametrize("engine", ["auto", "dense", "blocked"])
def test_what_a_mask_says_is_looked_at(says, message, engine):
    for mask in (Says(says), Says(says) & Causal(), Says(says) | Window(1, 1), ~Says(says)):
        with pytest.raises(ArgumentError, match=message):
            attend(*heads(), mask=mask, engine=engine)


def test_parts_of_another_kind():
    three = heads()
    for parts in ({"score": Softmax()}, {"weights": ScaledDot()}, {"score": Causal()}, {"weights": Alibi(2)}):
        with pytest.raises(ArgumentError, match=r"pass it as the argument of that name|must be a name"):
            attend(*three, **parts)
    for function in (torch.softmax, F.softmax):
        with pytest.raises(ArgumentError, match="pass 'softmax', not PyTorch's function"):
            attend(*three, weights=function)


@pytest.mark.parametrize(
    "parts",
    [
        {"position": Bias(torch.zeros(7, 7))},
        {"position": Bias(torch.zeros(3, 6, 6))},
        {"position": Bias(torch.zeros(3, 1, 6, 6))},
        {"position": Alibi(8)},
        {"mask": Pairs(torch.ones(7, 7, dtype=torch.bool))},
        {"mask": Pairs(torch.ones(5, 6, dtype=torch.bool))},
        {"mask": Pairs(torch.ones(3, 1, 6, 6, dtype=torch.bool)) & Causal()},
    ],
    ids=str,
)
def test_a_table_must_fit_exactly(parts):
    """A larger one has another corner, and whose it is can't be told."""
    with pytest.raises(ArgumentError, match=r"must be broadcastable to|for every head, but has them for 8"):
        attend(*heads(), **parts)


def test_a_third_derivative_is_refused_when_it_is_asked_for():
    query, key, value = heads(3)
    # PyTorch's kernels on a GPU have no second one either.
    output = attend(query, key, value, engine="blocked" if query.is_cuda else "auto")
    first = torch.autograd.grad(output.pow(2).sum(), query, create_graph=True)[0]
    second = torch.autograd.grad(first.pow(2).sum(), query, create_graph=True)[0]
    assert torch.isfinite(second).all()
    with pytest.raises(RefusedError, match="derivatives up to the second"):
        torch.autograd.grad(second.sum(), query)


def test_arguments_of_the_wrong_type():
    """In a process without the suite's own checks of types, as a user has it."""
    code = """
import pickle, torch
from regard.attention import Budget, Dot, GuidedBias, Relu, attend, plan
from regard.errors import ArgumentError, MissingExtraError, UnknownNameError
x, number = torch.ones(1, 2, 3, 4), torch.tensor(1.7, requires_grad=True)
for call in (
    lambda: attend(x, x, x, engine=None),
    lambda: attend(x, x, x, engine=["jit"]),
    lambda: attend(x, x, x, dropout="0.1"),
    lambda: attend(x, x, x, dropout=None),
    lambda: attend(x, x, x, dropout=0.5, seed="7"),
    lambda: attend(x, x, x, dropout=0.5, seed=1.5),
    lambda: plan(x, x, x, dropout=0.5, seed="7"),
    lambda: attend(x.numpy(), x, x),
    lambda: attend([1.0], x, x),
    lambda: Dot(number),
    lambda: Budget(number),
    lambda: Relu(number),
    lambda: GuidedBias(number),
):
    try:
        call()
        print("nothing was raised")
    except ArgumentError as error:
        print(error)
for error in (UnknownNameError("engine", "jti", ["jit"]), MissingExtraError("rdkit", extra="graphs")):
    print(str(pickle.loads(pickle.dumps(error))) == str(error))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said = ran.stdout.splitlines()
    assert len(said) == 15
    begins = [
        *["`engine` must be one of auto"] * 2,
        *["`dropout` must be a share from 0 to 1"] * 2,
        *["`seed` must be a whole number or None"] * 3,
        *["`query` must be a tensor (batch, head, length, size)"] * 2,
        *[f"`{name}` must be a number, but is a tensor ()" for name in ("scale", "budget", "divisor", "width")],
        *["True"] * 2,
    ]
    assert [line[: len(begin)] for line, begin in zip(said, begins, strict=True)] == begins


def test_a_mask_misspelt():
    with pytest.raises(ArgumentError, match="Did you mean 'causal'"):
        attend(*heads(), mask="casual")


# What was wrong once, and is not a mistake of the caller's.


class KeysTurned(Position):
    """Changes the keys and leaves the queries."""

    def heads(self, query, key, query_position, key_position):
        return query, key * (1 + key_position.unsqueeze(-1))


@pytest.mark.parametrize("score", ["dot", "scaled_dot", lambda query, key: (query @ key.mT).tanh()])
def test_the_gradient_where_only_keys_are_turned(score):
    found = []
    for engine in ("blocked", "dense"):
        three = heads()
        attend(*three, score=score, position=KeysTurned(), engine=engine).pow(2).sum().backward()
        found.append([tensor.grad for tensor in three])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("engine", ["auto", "blocked", "jit"])
@pytest.mark.parametrize("weights", ["softmax", "hard", "relu"])
def test_a_hidden_key_gets_nothing_beside_a_bias_of_minus_infinity(weights, engine):
    table = torch.zeros(3, 3)
    table[0, 1] = -torch.inf
    query = torch.ones(1, 1, 3, 2)
    value = torch.tensor([5.0, 7.0, 9.0]).view(1, 1, 3, 1)
    mask = lambda batch, head, query, key: (key != 0) & (key != 2) | (query != 0)  # noqa: E731
    expected = attend(query, query, value, weights=weights, mask=mask, position=Bias(table), engine="dense")
    try:
        found = attend(query, query, value, weights=weights, mask=mask, position=Bias(table), engine=engine)
    except RefusedError:
        assert engine == "jit"
        return
    torch.testing.assert_close(found, expected, equal_nan=True)


def test_dropout_leaves_alone_what_a_normaliser_keeps():
    kept = torch.full((1, 1, 5), 0.2)
    query = torch.ones(1, 1, 1, 4)
    key = torch.ones(1, 1, 5, 4)
    attend(query, key, key, weights=lambda scores, allowed: kept.expand(scores.shape), dropout=0.5, seed=1)
    assert (kept == 0.2).all()


@pytest.mark.parametrize(
    ("what", "bad"), [("query", torch.nan), ("query", torch.inf), ("key", torch.nan), ("value", torch.nan)]
)
def test_what_is_not_finite_is_not_lost(what, bad):
    for causal in (None, "causal"):
        three = dict(zip(("query", "key", "value"), heads(trained=False), strict=True))
        three[what][0, 1, 3, 2] = bad
        expected = attend(**three, mask=causal, engine="dense")
        for engine in ("auto", "blocked"):
            found = attend(**three, mask=causal, engine=engine)
            assert torch.equal(torch.isfinite(found), torch.isfinite(expected)), engine


def test_a_query_of_nan_is_not_lost_in_training_either():
    query, key, value = heads()
    query = torch.where(torch.arange(6).view(6, 1) == 3, torch.nan, query)
    output = attend(query, key, value)
    assert output[:, :, 3].isnan().all()
    assert torch.isfinite(output[:, :, :3]).all()


@pytest.mark.parametrize("mask", [None, "causal", Window(5, 5)])
def test_bilinear_between_vectors_of_two_sizes(mask):
    from regard.attention import Bilinear

    query, key, value = (torch.randn(1, 2, 256, size, generator=seeded(size)) for size in (8, 5, 8))
    score = Bilinear(torch.randn(8, 5, generator=seeded(9)))
    found = attend(query, key, value, score=score, mask=mask)
    torch.testing.assert_close(found, attend(query, key, value, score=score, mask=mask, engine="dense"))


@pytest.mark.parametrize("dtypes", [(torch.float64, torch.float32), (torch.float32, torch.float64)])
@pytest.mark.parametrize("mask", [None, Edges(torch.tensor([[0, 1, 2, 5], [0, 0, 3, 4]]))])
def test_a_vector_of_another_dtype(dtypes, mask):
    from regard.attention import Additive

    of_inputs, of_vector = dtypes
    three = [tensor.detach().to(of_inputs).requires_grad_() for tensor in heads()]
    vector = torch.randn(4, generator=seeded(5)).to(of_vector).requires_grad_()
    found = attend(*three, score=Additive(vector), mask=mask)
    expected = attend(*three, score=Additive(vector), mask=mask, engine="dense")
    torch.testing.assert_close(found, expected)
    assert torch.autograd.grad(found.sum(), vector)[0].dtype == of_vector


@pytest.mark.usefixtures("only_on_a_cpu")  # the kernel along edges
def test_blocks_among_edges_take_memory_by_the_edge(monkeypatch):
    """Which blocks the pairs are in is asked pair by pair; the keys of the blocks are never listed."""
    monkeypatch.setattr(Blocks, "_keys_of", lambda *arguments: pytest.fail("the keys of blocks were listed"))
    pairs = torch.randint(1000, (2, 500), generator=seeded(0))
    mask = Edges(pairs) & Blocks(torch.ones(10, 10, dtype=torch.bool), 100)
    x = torch.ones(1, 1, 1000, 4)
    assert attend(x, x, x, mask=mask).shape == x.shape


def test_a_mask_is_asked_once_for_all_heads_where_keys_are_picked():
    asked = []

    def third(batch, head, query, key):
        asked.append(query.shape)
        return (query + key) % 3 != 0

    x = torch.ones(1, 16, 64, 4)
    pairs = torch.randint(64, (2, 300), generator=seeded(0))
    attend(x, x, x, mask=Edges(pairs) | Edges(pairs.flip(0)) & third, weights=lambda s, a: s.softmax(-1))
    tall = [shape for shape in asked if shape[-2] > 1]
    assert len(tall) <= 8


def test_weights_under_vmap():
    x = torch.randn(3, 1, 2, 5, 4, generator=seeded(0))
    assert torch.vmap(lambda one: weigh(one, one))(x).shape == (3, 1, 2, 5, 5)
    with pytest.raises(RefusedError, match="All weights at once"):
        torch.vmap(lambda one: weigh(one, one, mask="causal"))(x)
