"""Pieces of a user's own, in Triton's interpreter: what those of masks and positions compute, what can't be used, and
where the engine refuses. What those of scores and normalisers compute is held by the modules of the documents."""

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

from attention.cases import Arguments, numbers
from attention.comparing import outcome, request_of
from attention.interpreting import interpret
from attention.test_poison import POISONS, poisoned
from attention.test_triton import arguments, hold, launch
from regard import attend
from regard.attention import (
    Alibi,
    Causal,
    Index,
    ItemLengths,
    Lengths,
    Mask,
    MaskPiece,
    NormaliserPiece,
    Position,
    PositionPiece,
    Relative,
    Rotary,
    ScorePiece,
    Sizes,
    Spans,
)
from regard.attention.engines import triton
from regard.attention.positions import OffsetBias
from regard.errors import ArgumentError, RefusedError

F64 = torch.float64
# NumPy's, of the numbers that are hidden.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton.runtime.interpreter")


@pytest.fixture(autouse=True)
def interpreter(monkeypatch):
    interpret(monkeypatch)


def own() -> Any:
    import attention.own_pieces as pieces

    return pieces


WRONG = {
    "`slope` of a ScorePiece must take (product, a, b), but takes (product)": lambda o: ScorePiece(o.twice, o.short),
    "`score` of a ScorePiece must be a function (product, a, b) decorated with triton.jit": lambda o: ScorePiece(
        lambda product, a, b: product, o.slope
    ),
    "`scale` of a ScorePiece must be a number": lambda o: ScorePiece(o.twice, o.slope, scale=torch.ones(())),
    "`numbers` of a piece must be a tuple of two at most": lambda o: ScorePiece(o.twice, o.slope, numbers=(1, 2, 3)),
    "one is (2, 1)": lambda o: ScorePiece(o.twice, o.slope, numbers=(torch.ones(2, 1),)),
    "`find` of a NormaliserPiece must be one of number, count, log_count, threshold": lambda o: NormaliserPiece(
        o.weight, o.of_weight, find="counts"
    ),
    "`allowed` of a MaskPiece must take (batch, head, query, position, key, a, b), but takes (product)": lambda o: (
        MaskPiece(o.short)
    ),
    "`allowed` of a MaskPiece must be a function (batch, head, query, position, key, a, b) decorated with triton.jit": (
        lambda o: MaskPiece(lambda batch, head, query, key: query == key)
    ),
    "must be a tuple of two at most": lambda o: MaskPiece(o.before, numbers=2),
    "`bias` of a PositionPiece must take (position, key, a, b), but takes (product)": lambda o: PositionPiece(o.short),
    "`of_number` of a PositionPiece must take (position, key, a, b)": lambda o: PositionPiece(
        o.square, of_number=o.twice
    ),
    "but one is (2, 2)": lambda o: PositionPiece(o.square, numbers=(torch.ones(2, 2),)),
    "`numbers` of a NormaliserPiece must begin with the row's number": lambda o: NormaliserPiece(o.weight, o.of_weight),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_cannot_be_used(message):
    with pytest.raises(ArgumentError) as raised:
        WRONG[message](own())
    assert message in str(raised.value)


@dataclass(frozen=True)
class Own:
    """A score of a user's own whose piece is made by a function of it."""

    make: Any
    number: Any = None
    other: Any = None

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return 2 * (1 if self.number is None else self.number) * query @ key.mT

    def piece(self) -> Any:
        return self.make(own(), self)


def refused(score: Own, **parts: Any) -> str:
    x = torch.ones(1, 2, 3, 4, dtype=torch.float64)
    with pytest.raises(RefusedError) as raised:
        attend(x, x, x, score=score, engine="triton", **parts)
    return str(raised.value)


def trained() -> Tensor:
    return torch.tensor(0.5, dtype=torch.float64, requires_grad=True)


def test_where_no_gradient_would_come():
    """A tensor that isn't the first number itself, or has no derivative, would silently get none."""
    lost = "gives a gradient to no tensor but its first number"
    for score in (
        Own(lambda o, part: ScorePiece(o.twice, o.slope, numbers=(part.number,)), trained()),
        Own(lambda o, part: ScorePiece(o.twice, o.slope, numbers=(part.number.exp(),), of_number=o.slope), trained()),
        Own(lambda o, part: ScorePiece(o.twice, o.slope, numbers=(1.0, part.number), of_number=o.slope), trained()),
        Own(
            lambda o, part: ScorePiece(o.twice, o.slope, numbers=(part.number,), of_number=o.slope),
            trained(),
            trained(),
        ),
        Own(lambda o, part: ScorePiece(o.twice, o.slope, numbers=(part.number,), of_number=o.slope), *2 * [trained()]),
    ):
        assert lost in refused(score)


def test_a_tensor_of_integers_beside_the_trained_one():
    """It comes first among the part's tensors, and gets no gradient."""

    @dataclass(frozen=True)
    class Times:
        counts: Tensor
        rate: Tensor

        def __call__(self, query: Tensor, key: Tensor) -> Tensor:
            return self.rate * self.counts.sum() * query @ key.mT

        def piece(self) -> Any:
            return ScorePiece(own().times, own().slope_of_times, 6.0, (self.rate,), own().by_a_of_times)

    @dataclass(frozen=True)
    class Falls(Position):
        counts: Tensor
        rate: Tensor

        def scores(self, scores: Tensor, query: Tensor, key: Tensor, at: Index) -> Tensor:
            return scores + self.rate * at.offset.square()

        def piece(self) -> Any:
            return PositionPiece(own().square, (self.rate,), own().square_by_a)

    counts = torch.tensor([1, 2, 3])
    hold(arguments(5, 6, score=Times(counts, trained()), position=Falls(counts, rates())))


def test_a_piece_of_the_wrong_kind():
    assert "give it a piece()" in refused(Own(lambda o, part: None))
    normaliser = Own(lambda o, part: NormaliserPiece(o.weight, o.of_weight, find="count"))
    assert "must give a ScorePiece, but gives a NormaliserPiece" in refused(normaliser)
    three = Own(lambda o, part: ScorePiece(o.twice, o.slope, numbers=(torch.ones(3),)))
    assert "has 3 numbers for 2 heads" in refused(three)


def test_a_tensor_that_is_not_declared():
    captured = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)

    class Captures:
        def __call__(self, query, key):
            return captured * query @ key.mT

        def piece(self):
            return ScorePiece(own().twice, own().slope, scale=2.0)

    x = torch.ones(1, 2, 3, 4, dtype=torch.float64)
    with pytest.raises(ArgumentError, match="doesn't declare"):
        attend(x, x, x, score=Captures(), engine="triton")


class Cubic:
    """max(0, (s - t) / 4)^3, with t such that a row sums to 1: up to 4 below the highest score."""

    def __init__(self, lowest: float):
        self.lowest = lowest

    def __call__(self, scores, allowed):
        raise NotImplementedError

    def piece(self):
        return NormaliserPiece(own().cubic, own().of_cubic, find="threshold", lowest=self.lowest)


def test_a_row_without_a_threshold_shows_it():
    x = torch.linspace(0, 1, 24, dtype=torch.float64).view(1, 1, 6, 4)
    with torch.no_grad():
        found, lost = (
            attend(x, x, torch.ones_like(x), weights=Cubic(lowest), engine="triton") for lowest in (4.0, 1.0)
        )
    torch.testing.assert_close(found, torch.ones_like(found))
    assert lost.isnan().all()


@dataclass(frozen=True)
class Before(Mask):
    """Keys before the query, a stride apart; the stride is a number, or one for each head."""

    stride: Any

    def allows(self, at: Index) -> Tensor:
        stride = self.stride[at.head] if isinstance(self.stride, Tensor) and self.stride.ndim else self.stride
        return (at.key <= at.position) & ((at.position - at.key) % stride == 0)

    def piece(self) -> Any:
        return MaskPiece(own().before, numbers=(self.stride,))


@dataclass(frozen=True)
class HereAndThere(Mask):
    """It depends on every index."""

    def allows(self, at: Index) -> Tensor:
        return (at.key + 2 * at.query + at.batch + at.head + at.position) % 3 != 0

    def piece(self) -> Any:
        return MaskPiece(own().here_and_there)


@dataclass(frozen=True)
class OfOwnLengths(HereAndThere):
    """The same where items have lengths, which change positions."""

    lengths_of_keys: Tensor

    def lengths(self) -> ItemLengths:
        return ItemLengths(keys=self.lengths_of_keys)


@dataclass(frozen=True)
class Within(Mask):
    """Some of the keys of spans: those 20 before to 3 after, and if there are two, the first 4."""

    two: bool = False

    def allows(self, at: Index) -> Tensor:
        near = (at.offset >= -20) & (at.offset <= 3)
        inside = near | (at.key < 4) if self.two else near
        return inside & HereAndThere().allows(at)

    def spans(self, sizes: Sizes) -> Spans:
        near = Spans.only(sizes.positions - 20, sizes.positions + 4, sizes.keys, exact=False)
        start = torch.zeros_like(sizes.positions)
        return near | Spans.only(start, start + 4, sizes.keys, exact=False) if self.two else near

    def piece(self) -> Any:
        return MaskPiece(own().here_and_there)


@dataclass(frozen=True)
class Without(Mask):
    """All but one query and one key."""

    row: int
    column: int

    def allows(self, at: Index) -> Tensor:
        return (at.query != self.row) & (at.key != self.column)

    def piece(self) -> Any:
        return MaskPiece(own().without, numbers=(self.row, self.column))


MASKS = {
    "strided": Before(3),
    "strided by head": Before(torch.tensor([2, 5])),
    "every index": HereAndThere(),
    "its own lengths": OfOwnLengths(torch.tensor([17, 30])),
    "within a span": Within(),
    "within two spans": Within(two=True),
}


class TestMasks:
    @pytest.fixture
    def untabled(self, monkeypatch):
        """The mask isn't asked for a table of pairs."""
        monkeypatch.setattr(launch(), "table", None)

    @pytest.mark.parametrize(
        ("mask", "weights", "size"),
        [
            ("strided", "softmax", (33, 33)),
            ("strided by head", "sigmoid", (17, 33)),
            ("every index", "entmax", (18, 20)),
            ("every index", "relu", (33, 17)),
            ("its own lengths", "softmax", (18, 33)),
            ("within a span", "top_k", (17, 50)),
            ("within a span", "softmax", (50, 50)),
            ("within two spans", "hard", (34, 34)),
            ("within two spans", "sigmoid", (17, 34)),
        ],
    )
    def test_it_equals_the_definition(self, mask, weights, size, untabled):
        batch = 2 if mask in ("every index", "its own lengths") else 1
        hold(arguments(*size, heads=2, batch=batch, weights=weights, mask=MASKS[mask], dropout=0.3))

    def test_with_positions(self, untabled):
        position = Relative(5, 2, on="both", value_size=7).to(F64)
        hold(arguments(18, mask=Before(2), position=position, weights="sigmoid"))

    @pytest.mark.parametrize("poison", POISONS)
    @pytest.mark.parametrize("weights", ["softmax", "entmax"])
    def test_what_it_hides_cannot_matter(self, weights, poison, untabled):
        def call() -> Arguments:
            return arguments(7, 9, heads=2, weights=weights, mask=Without(3, 4))

        expected = outcome(call(), "dense")
        for place in ("all three", "one number of a value"):
            found = outcome(poisoned(call(), place, POISONS[poison], 3, 4), "triton")
            torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)

    def test_another_mask_beside_it_is_asked_for_pairs(self):
        for mask in (HereAndThere() & Causal(), HereAndThere() | Causal(), ~HereAndThere()):
            hold(arguments(7, 9, mask=mask))

    def test_a_subclass_with_another_rule_has_another_piece(self):
        class Opposite(HereAndThere):
            def allows(self, at: Index) -> Tensor:
                return ~super().allows(at)

        hold(arguments(7, 9, mask=Opposite()))

    def test_what_it_refuses(self):
        @dataclass(frozen=True)
        class Made(HereAndThere):
            make: Any

            def piece(self) -> Any:
                return self.make()

        x = torch.ones(1, 2, 3, 4, dtype=F64)
        for make, reason in (
            (lambda: ScorePiece(own().twice, own().slope), "must give a MaskPiece, but gives a ScorePiece"),
            (lambda: MaskPiece(own().before, (torch.ones(3),)), "has 3 numbers for 2 heads"),
        ):
            with pytest.raises(RefusedError, match=reason):
                attend(x, x, x, mask=Made(make), engine="triton")
        attend(x, x, x, mask=Made(lambda: None), engine="triton")


@dataclass(frozen=True)
class Squared(Position):
    """a times the square of the distance, and a bias that is NaN at keys behind the query, unless they are next."""

    rate: Tensor
    far: float = 0.0

    def scores(self, scores: Tensor, query: Tensor, key: Tensor, at: Index) -> Tensor:
        rate = self.rate.view(-1, 1, 1) if self.rate.ndim else self.rate
        offset = at.offset.to(scores.dtype)
        return scores + rate * offset.square() + (self.far * (offset + 1).log2() if self.far else 0.0)

    def select(self, heads: Tensor) -> "Squared":
        return Squared(self.rate[heads], self.far) if self.rate.ndim else self

    def piece(self) -> Any:
        bias = own().square_and_log if self.far else own().square
        return PositionPiece(bias, numbers=(self.rate, self.far), of_number=own().square_by_a)


def rates(*shape: int) -> Tensor:
    return (0.01 * numbers(*shape, seed=61, dtype=F64).detach()).requires_grad_()


class TestPositions:
    PARTS: ClassVar = {
        "causal": lambda: {"mask": "causal", "position": Squared(rates())},
        "lengths, sigmoid": lambda: {
            "mask": Lengths([20, 7]), "position": Squared(rates(2)), "weights": "sigmoid", "batch": 2
        },
        "rotary, entmax": lambda: {
            "mask": "no_self", "position": Squared(rates(2)) + Rotary(size=4), "weights": "entmax", "features": 4
        },
        "own mask, top_k": lambda: {
            "mask": Before(2), "position": Squared(rates()), "dropout": 0.3, "weights": "top_k"
        },
    }  # fmt: skip

    @pytest.mark.parametrize("parts", PARTS)
    def test_it_equals_the_definition(self, parts):
        hold(arguments(20, heads=2, **self.PARTS[parts]()))

    def test_beside_others(self):
        """Each has its own gradient."""
        position = Alibi(2).to(F64).part() + Squared(rates(2)) + Relative(5, 2).to(F64).part()
        hold(arguments(18, heads=2, mask="causal", position=position))

    def test_a_bias_by_distance_with_a_tensor(self):
        @dataclass(frozen=True)
        class Line(OffsetBias):
            rate: Tensor

            def bias(self, offset: Tensor) -> Tensor:
                return self.rate * offset.square()

            def piece(self) -> Any:
                return PositionPiece(own().square, numbers=(self.rate,), of_number=own().square_by_a)

        class Other(Line):
            def bias(self, offset: Tensor) -> Tensor:
                return -self.rate * offset.square()

        hold(arguments(7, 9, position=Line(rates())))
        reason = triton.lacks(request_of(arguments(7, 9, position=Other(rates()))))
        assert reason is not None
        assert "give it a piece()" in reason

    @pytest.mark.parametrize("poison", POISONS)
    def test_what_is_hidden_cannot_matter(self, poison):
        """Neither what a mask hides, nor the bias of hidden pairs, which is NaN."""

        def call() -> Arguments:
            return arguments(7, heads=2, mask=~Causal() & Without(3, 4), position=Squared(rates(), 0.5))

        expected = outcome(call(), "dense")
        assert all(tensor.isfinite().all() for tensor in expected.values())
        found = outcome(poisoned(call(), "all three", POISONS[poison], 3, 4), "triton")
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)

    def test_what_it_refuses(self):
        @dataclass(frozen=True)
        class Made(Squared):
            make: Any = None

            def piece(self) -> Any:
                return self.make(own(), self)

        class Outputs(Squared):
            def outputs(self, output: Tensor, weights: Tensor, at: Index) -> Tensor:
                return output

        lost = "gives a gradient to no tensor but its first number"
        for position, reason in (
            (Made(rates(), make=lambda o, part: PositionPiece(o.square, numbers=(part.rate,))), lost),
            (Made(rates(), make=lambda o, part: PositionPiece(o.square, (part.rate.exp(),), o.square_by_a)), lost),
            (
                Made(rates(), make=lambda o, part: MaskPiece(o.before)),
                "must give a PositionPiece, but gives a MaskPiece",
            ),
            (
                Made(rates(3), make=lambda o, part: PositionPiece(o.square, (part.rate,), o.square_by_a)),
                "3 numbers for 2",
            ),
            (Made(rates(), make=lambda o, part: None), "give it a piece()"),
            (Outputs(rates()), "says nothing of its outputs"),
            (Squared(rates()) + Squared(rates()), "it takes one position with a piece"),
        ):
            found = triton.lacks(request_of(arguments(7, 9, heads=2, position=position)))
            assert found is not None
            assert reason in found
