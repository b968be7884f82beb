"""`summarise` by the kernels of the `triton` engine, in Triton's interpreter, against the weights and `blocked`.

The laws are those of test_summarise.py, on fewer cases, as in test_triton.py.
"""

import functools
import importlib
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from attention.cases import HEADS, MASK_EXAMPLES, TILES_OF_16, Case, covering, numbers, shifted
from attention.comparing import request_of
from attention.interpreting import interpret
from attention.test_pieces import Cubic
from attention.test_poison import POISONS, hidden, poisoned, visible
from attention.test_summarise import FIELDS, allowed_in, defined
from attention.test_triton import MASKS, POSITIONS, SCORES, WEIGHTS, cut, in_turn
from regard.attention import Additive, Causal, Documents, Edges, Lengths, NormaliserPiece, Softmax, Window, weigh
from regard.attention.engines import triton
from regard.attention.summarise import Summary, summarise
from regard.errors import RefusedError

F64 = torch.float64
ROUNDING = {F64: 1e-11, torch.float32: 3e-5}
# NumPy's, of the logarithm of 0 and of numbers that are hidden.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton.runtime.interpreter")


@pytest.fixture(autouse=True)
def interpreter(monkeypatch):
    interpret(monkeypatch)


def hold(found: Summary, expected: Summary, dtype: torch.dtype = F64, *, apart_from: tuple[str, ...] = ()) -> None:
    """Hold a summary to another, NaN to NaN."""
    assert not (found.entropy < 0).any()
    for name in FIELDS:
        one, other = getattr(found, name), getattr(expected, name)
        if name in apart_from or (one is None and other is None):
            continue
        most = ROUNDING[dtype] * max([1.0, *other[other.isfinite()].abs().tolist()])
        torch.testing.assert_close(one.double(), other.double(), rtol=0, atol=most, equal_nan=True, msg=name)


def hold_case(case: Case, dtype: torch.dtype = F64) -> None:
    """Hold the summary of one combination to the weights in float64, of which the same numbers are made."""
    call, exact = case.make(dtype), case.make()
    rows = [3, 0, 3]
    weights = weigh(exact.query, exact.key, **exact.parts).detach()
    expected = defined(weights, *allowed_in(request_of(exact)), 5, 3, rows)
    found = summarise(call.query, call.key, **call.parts, top=5, pool=3, rows=rows, engine="triton")
    assert all(getattr(found, name).dtype == dtype for name in FIELDS)
    # Which weights are exactly 0 depends on rounding.
    hold(found, expected, dtype, apart_from=("zeros",) if dtype != F64 else ())
    # The key is one with that weight, whichever of two that rounding makes equal.
    there = torch.where(found.top_index < 0, 0.0, weights.gather(-1, found.top_index.clamp(min=0)))
    torch.testing.assert_close(there, found.top_weight.double(), rtol=0, atol=ROUNDING[dtype] * 3)
    assert torch.equal(found.top_index < 0, expected.top_index < 0)


# One graph alone is left to `blocked`, but not with such a position, nor are several.
SUMMARISED = [name for name in MASK_EXAMPLES if name not in ("edges", "edges by item")]
GRAPHS = [
    Case(mask="edges", position="relative", size="two tiles"),
    Case(mask="edges by item", size="two items"),
]
SOME = in_turn(
    {
        "score": (SCORES, 3),
        "weights": (WEIGHTS, 1),
        "mask": ([name for name in MASKS if name in SUMMARISED], 3),
        "position": (POSITIONS, 5),
        "size": (["few queries", "few keys"], 1),
    },
    12,
)
EVERY_MASK = in_turn(
    {
        "weights": (WEIGHTS, 3),
        "mask": (SUMMARISED, 1),
        "size": (["two tiles", "two tiles, longer", "two items"], 1),
        "position": (POSITIONS, 1),
    },
    len(SUMMARISED),
)


@pytest.mark.parametrize(("case", "dtype"), [(case, [*ROUNDING][i % 3 == 0]) for i, case in enumerate(SOME)], ids=str)
def test_it_equals_the_weights(case, dtype):
    hold_case(case, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("case", [*EVERY_MASK, *GRAPHS], ids=str)
def test_it_equals_the_weights_by_every_mask(case):
    hold_case(case)


@functools.cache
def product() -> list[tuple[Any, ...]]:
    return covering(SCORES, WEIGHTS, SUMMARISED, POSITIONS, TILES_OF_16)


# Any two parts meet in all eighths together. They take the interpreter twenty minutes, so `make test-all` runs one.
@pytest.mark.slow
@pytest.mark.parametrize("eighth", [0, *(pytest.param(place, marks=pytest.mark.exhaustive) for place in range(1, 8))])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_it_equals_the_weights_whichever_two_parts_meet(weights, eighth):
    wrong = []
    for case in [case for row in product() if (case := Case(*row)).weights == weights][eighth::8]:
        try:
            hold_case(case)
        except AssertionError as error:
            wrong.append(f"{case}: {error}")
    assert not wrong, "\n".join(wrong)


def pair(queries: int, keys: int, dtype: torch.dtype = F64, heads: int = 1) -> tuple[Tensor, Tensor]:
    """Queries of some heads, which share their keys; of one, as each takes the interpreter as long again."""
    return (
        numbers(1, heads, queries, 5, seed=61, dtype=dtype, grad=False),
        numbers(1, 1, keys, 5, seed=62, dtype=dtype, grad=False),
    )


def both(query: Tensor, key: Tensor, **arguments: Any) -> tuple[Summary, Summary]:
    """The summaries by the kernels and by `blocked`."""
    found, expected = (summarise(query, key, **arguments, engine=engine) for engine in ("triton", "blocked"))
    return found, expected


def hold_to_blocked(query: Tensor, key: Tensor, **arguments: Any) -> None:
    found, expected = both(query, key, **arguments)
    hold(found, expected)
    assert torch.equal(found.top_index, expected.top_index)


CALLS = {
    "causal": lambda queries, keys: {"mask": "causal"},
    "window, entmax": lambda queries, keys: {"mask": Window(3, 14), "weights": "entmax"},
    "no_self": lambda queries, keys: {"mask": "no_self"},
    "own function, hard": lambda queries, keys: {"mask": shifted, "weights": "hard"},
    "documents, relu": lambda queries, keys: {
        "mask": Documents(torch.arange(keys) // 12, query=torch.arange(queries) // 13),
        "weights": "relu",
    },
}
LENGTHS = [(n, n) for n in (1, 15, 16, 17, 33)] + [(1, 33), (33, 1), (17, 48), (48, 17), (16, 32)]


@pytest.mark.parametrize(("size", "call"), [*zip(LENGTHS, [*CALLS] * 2, strict=True)], ids=str)
def test_lengths_about_the_edges_of_tiles(call, size):
    queries, _ = size
    hold_to_blocked(*pair(*size), **CALLS[call](*size), top=3, pool=3, rows=[queries - 1, 0])


@pytest.mark.parametrize("pool", [1, 7, 64])
@pytest.mark.parametrize("score", ["scaled_dot", "additive"])
def test_cells_about_the_edges_of_tiles(score, pool):
    """Also where a tile of a table of pairs is empty, and where tiles are read from multiples of 16."""
    query, key = pair(35, 21)
    parts = {"score": Additive(numbers(5, seed=63, grad=False))} if score == "additive" else {"mask": beside}
    hold_to_blocked(query, key, **parts, top=1, pool=pool)


def beside(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
    """A mask of a user's own that leaves tiles out."""
    return (query // 16 != key // 16) & ((query + key) % 3 != 0)


@pytest.mark.parametrize("call", ["causal", "own function, hard", "documents, relu"])
def test_tiles_of_other_sizes(call, monkeypatch):
    cut(monkeypatch, forward=(32, 16), queries=(16, 32), keys=(32, 16))
    monkeypatch.setattr(summaries(), "tiling_of", launch().tiling_of)
    hold_to_blocked(*pair(33, 35), **CALLS[call](33, 35), top=3, pool=4)


def launch() -> Any:
    return importlib.import_module("regard.attention.engines.triton.launch")


def summaries() -> Any:
    return importlib.import_module("regard.attention.engines.triton.summaries")


@pytest.mark.parametrize("weights", ["relu", "sigmoid"])
def test_a_table_of_pairs_is_held_a_few_rows_at_a_time(weights, monkeypatch):
    monkeypatch.setattr(launch(), "PAIRS_AT_ONCE", 1)
    query, key = pair(35, 17)
    key[:, :, 7] = torch.nan  # which a later part of the table must not cover
    hold_to_blocked(query, key, mask=shifted, weights=weights, top=3, pool=3, rows=[34, 1])


class TestTop:
    @pytest.mark.parametrize(("queries", "keys", "top"), [(3, 5, 9), (2, 40, 64), (17, 33, 1)])
    def test_more_than_there_are_and_as_many_as_it_can(self, queries, keys, top):
        query, key = pair(queries, keys)
        hold_to_blocked(query, key, weights="sparsemax", mask="causal", top=top, pool=2)

    def test_of_equals_the_lowest_keys_come_first(self):
        """Two values only, and a minus 0, which equals 0."""
        key = (torch.arange(50) % 7 == 5).double().view(1, 1, -1, 1)
        key[:, :, 3] = -0.0
        found, expected = both(torch.ones(1, 1, 2, 1).double(), key, weights="relu", score="dot", top=12, pool=1)
        ones = [j for j in range(50) if j % 7 == 5]
        assert found.top_index[0, 0, 0].tolist() == (ones + [j for j in range(50) if j % 7 != 5])[:12]
        assert torch.equal(found.zeros, expected.zeros)

    @pytest.mark.parametrize("dtype", [F64, torch.float32])
    def test_nan_and_infinity_that_are_seen_show(self, dtype):
        query, key = (tensor.abs() for tensor in pair(6, 40, dtype))
        key[:, :, 37], key[:, :, 20], key[:, :, 30] = torch.inf, torch.nan, -torch.tensor(torch.nan)
        query[:, :, 3] = -torch.inf
        found, expected = both(query, key, weights="relu", score="dot", top=3, pool=4, rows=[1])
        hold(found, expected, dtype)
        assert torch.equal(found.top_index, expected.top_index)
        assert found.top_index[0, 0, 0].tolist() == [20, 30, 37]
        assert found.top_weight[0, 0, 0, 0].isnan()
        assert found.pooled_max.isnan().any()


def test_rows_that_see_nothing():
    """By lengths, and as more queries than keys."""
    query, key = pair(18, 5)
    mask = Lengths(query=[17], key=[4]) & Causal()
    hold_to_blocked(query, key, mask=mask, top=2, pool=4, rows=[0, 17])
    assert (summarise(query, key, mask=mask, engine="triton").top_index[0, 0, 0] == -1).all()


@pytest.mark.parametrize("weights", ["softmax", "hard", "sparsemax", "relu"])
def test_a_row_whose_scores_are_all_minus_infinity(weights):
    query, key = pair(6, 5)
    query[:, :, 4] = -torch.inf
    hold_to_blocked(query, key.abs(), weights=weights, score="dot", mask="no_self", top=2, pool=4, rows=[4])


@dataclass(frozen=True)
class Negative:
    """A normaliser of a user's own whose weights are negative, or minus zero, which equals zero."""

    def __call__(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        return torch.where(scores > 0.3, -scores, 0.0)

    def piece(self) -> NormaliserPiece:
        pieces = importlib.import_module("attention.own_pieces")
        return NormaliserPiece(pieces.negative, pieces.of_negative, numbers=(0.3,))


def test_negative_weights_of_a_users_own():
    hold_to_blocked(*pair(5, 20), weights=Negative(), mask="causal", top=18, pool=3, rows=[3])


def test_a_row_without_a_threshold_shows_it():
    """Though the piece of a user's own passes over NaN."""
    found = summarise(*pair(3, 4), weights=Cubic(1e-3), top=2, engine="triton")
    assert found.top_weight.isnan().all()
    assert found.entropy.isnan().all()


class TestHidden:
    """What a mask hides cannot matter, whatever it holds."""

    @pytest.mark.parametrize(
        ("case", "poison", "place"),
        [
            (case, *what)
            for case, what in zip(SOME[1::2], covering(POISONS, ("key and value", "query", "all three")), strict=False)
        ],
        ids=str,
    )
    def test_from_all(self, case, poison, place):
        expected = self.summary(hidden(case, 3, 4), "blocked")
        found = self.summary(poisoned(hidden(case, 3, 4), place, POISONS[poison], 3, 4), "triton")
        hold(found, expected)
        assert torch.equal(found.top_index, expected.top_index)

    @pytest.mark.parametrize(
        ("mask", "poison", "weights"),
        [
            ("causal", "nan", "softmax"),
            ("window", "inf", "relu"),
            ("documents", "large", "entmax"),
            ("no_self", "-inf", "sigmoid"),
            ("own function", "nan", "hard"),
        ],
    )
    def test_from_some_rows(self, mask, poison, weights):
        case = Case(weights=weights, mask=mask, size="few queries")
        column = 14
        blind = ~visible(case)[..., column]
        assert blind.any()
        expected = self.summary(case.make(), "blocked")
        found = self.summary(poisoned(case.make(), "key and value", POISONS[poison], 0, column), "triton")
        for name in ("top_index", "top_weight", "entropy", "distance", "zeros"):
            torch.testing.assert_close(getattr(found, name)[blind], getattr(expected, name)[blind])

    @staticmethod
    def summary(call: Any, engine: str) -> Summary:
        return summarise(call.query, call.key, **call.parts, top=3, pool=3, engine=engine)


def test_heads_share_keys_and_parts_of_their_own():
    query, key = numbers(2, HEADS, 5, 6, seed=1, grad=False), numbers(2, 2, 7, 6, seed=2, grad=False)
    hold_to_blocked(query, key, weights=Softmax(torch.tensor([0.5, 1.0, 2.0, 4.0]).double()), top=2, pool=2)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_is_summarised_in_float32(dtype):
    query, key = pair(17, 20)
    query, key = query.to(dtype), key.to(dtype)
    found = summarise(query, key, mask="causal", top=3, pool=3, rows=[4], engine="triton")
    assert all(getattr(found, name).dtype == torch.float32 for name in FIELDS)
    expected = summarise(query.double(), key.double(), mask="causal", top=3, pool=3, rows=[4], engine="blocked")
    hold(found, expected, torch.float32)


def test_the_same_bits_at_every_call():
    query, key = pair(18, 19, torch.float32)
    first, again = (summarise(query, key, mask="causal", rows=[2], engine="triton") for _ in range(2))
    assert all(torch.equal(getattr(first, name), getattr(again, name)) for name in ("top_index", *FIELDS))


def test_what_it_leaves_to_blocked(monkeypatch):
    query, key = pair(4, 5)
    for arguments, reason in (
        ({"top": 65}, "at most the 64 largest weights of a row"),
        ({"mask": Edges([[0], [1]])}, "along the edges of a graph"),
        ({"score": lambda q, k: q @ k.mT}, "no kernel for the score"),
        ({"weights": lambda scores, allowed: scores.softmax(-1)}, "no kernel for the normaliser"),
    ):
        with pytest.raises(RefusedError, match=f"`engine` 'triton' can't do this request: .*{reason}"):
            summarise(query, key, **arguments, engine="triton")
    for size in ((0, 5), (5, 0)):
        with pytest.raises(RefusedError, match="empty tensor"):
            summarise(*pair(*size), engine="triton")
    # On a CPU, `auto` doesn't interpret.
    monkeypatch.setattr(triton, "summarise", None)
    summarise(query, key)
