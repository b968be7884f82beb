"""Rungs of successive halving: by hand, and within the budget."""

from itertools import pairwise

import pytest

from regard.errors import ArgumentError
from regard.lab.halving import Rung, affordable, plan_rungs


def rows(rungs):
    return [(each.candidates, each.epochs, each.seeds) for each in rungs]


@pytest.mark.parametrize(
    ("candidates", "epochs", "seeds", "expected"),
    [
        # Up to three and the default need no other round.
        (2, 10, 3, [(2, 10, 3)]),
        (4, 10, 2, [(4, 10, 2)]),
        # A third of the candidates, rounded up, but never fewer than the four of the last round.
        (5, 9, 3, [(5, 3, 1), (4, 9, 3)]),
        (12, 9, 3, [(12, 3, 1), (4, 9, 3)]),
        (13, 9, 3, [(13, 1, 1), (5, 3, 1), (4, 9, 3)]),
        (100, 81, 5, [(100, 3, 1), (34, 9, 1), (12, 27, 1), (4, 81, 5)]),
        # Never less than one epoch.
        (100, 4, 2, [(100, 1, 1), (34, 1, 1), (12, 1, 1), (4, 4, 2)]),
        (5, 1, 2, [(5, 1, 1), (4, 1, 2)]),
    ],
)
def test_rungs_by_hand(candidates, epochs, seeds, expected):
    assert rows(plan_rungs(candidates, epochs, seeds)) == expected


def test_work_by_hand():
    assert Rung(4, 9, 3).work == 108
    # 12 * 3 + 4 * 9 * 3
    assert sum(each.work for each in plan_rungs(12, 9, 3)) == 144


def test_each_round_is_smaller_and_longer():
    for candidates in (2, 3, 4, 5, 11, 13, 37, 500, 1000):
        for epochs in (1, 2, 7, 30, 100):
            rungs = plan_rungs(candidates, epochs, 3)
            assert rungs[0].candidates == candidates
            assert rungs[-1].epochs == epochs
            # The default and three others, or all of them.
            assert rungs[-1].candidates == min(candidates, 4)
            for one, other in pairwise(rungs):
                assert one.candidates > other.candidates
                assert 1 <= one.epochs <= other.epochs


def test_a_budget_by_hand():
    # 144 epochs for 12 candidates in full, by seconds of 0.5.
    assert rows(affordable(12, 9, 3, seconds=72, each=0.5)) == [(12, 3, 1), (4, 9, 3)]
    # One second less: 12 * 3 + 4 * 8 * 3 = 132 epochs.
    assert rows(affordable(12, 9, 3, seconds=71, each=0.5)) == [(12, 3, 1), (4, 8, 3)]
    # Three seeds would get two epochs of each: 2 * 3 * 2 = 12. Two seeds get three, from 12 epochs.
    assert rows(affordable(2, 9, 3, seconds=17, each=1.0)) == [(2, 4, 2)]
    assert rows(affordable(2, 9, 3, seconds=18, each=1.0)) == [(2, 3, 3)]
    # The least: an epoch of each in each round, and two seeds in the last.
    assert rows(affordable(2, 9, 3, seconds=4, each=1.0)) == [(2, 1, 2)]
    assert rows(affordable(5, 9, 3, seconds=13, each=1.0)) == [(5, 1, 1), (4, 1, 2)]


def test_the_work_never_exceeds_the_budget_and_grows_with_it():
    for candidates in (2, 4, 5, 20, 90):
        for seeds in (2, 3, 5):
            before = 0
            for seconds in range(0, 3000, 37):
                try:
                    rungs = affordable(candidates, 30, seeds, seconds=seconds, each=0.7)
                except ArgumentError:
                    assert before == 0
                    continue
                work = sum(each.candidates * each.epochs * each.seeds for each in rungs)
                assert work * 0.7 <= seconds
                assert rungs[-1].epochs <= 30
                assert 2 <= rungs[-1].seeds <= seeds
                before = work


def test_too_little():
    with pytest.raises(ArgumentError) as caught:
        affordable(5, 9, 3, seconds=12, each=1.0)
    # 13 seconds: shown in whole minutes, rounded up.
    assert str(caught.value) == (
        "`minutes` must pay for an epoch of each of the 5 candidates, about 1 minute of one core, but pays for 0.2. "
        "Give more, or vary fewer fields."
    )
