"""What a piece of a user's own says of what can't be used, and where the engine refuses it: in Triton's interpreter."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from attention.interpreting import interpret
from regard import attend
from regard.attention import NormaliserPiece, ScorePiece
from regard.errors import ArgumentError, RefusedError


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
    ):
        assert lost in refused(score)


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
