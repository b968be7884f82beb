"""Durations: the order of calls, and the median."""

import time

import pytest

from regard.lab import durations
from regard.lab.durations import median_durations, score_time


def test_calls_take_turns_after_a_call_to_warm_up():
    said = []
    median_durations({1: lambda: said.append("a"), 2: lambda: said.append("b")}, 3)
    assert "".join(said) == "ab" + "ababab"


def test_the_median_leaves_a_slow_moment_out(monkeypatch):
    # Of the call in ms: 5 to warm up isn't timed, then 1, 100 and 2.
    clock = iter([0.0, 0.001, 1.0, 1.1, 2.0, 2.002])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    assert abs(median_durations({7: lambda: None}, 3)[7] - 2) < 1e-9


@pytest.fixture
def clock(monkeypatch):
    """A clock that only moves when a pass is made."""
    now = {"at": 0.0}
    order = []

    def timed(score, *sizes):
        def call():
            order.append(score)
            # A slow first pass, which must not count, and slow moments later.
            slow = 100 if order.count(score) in (1, 3) else 1
            now["at"] += slow * {"slow": 0.006, "scaled_dot": 0.002}[score]

        return call

    monkeypatch.setattr(durations, "_pass", timed)
    monkeypatch.setattr(time, "perf_counter", lambda: now["at"])
    return order


def test_the_median_counts_and_passes_take_turns(clock):
    found = score_time("slow", length=1, heads=1, head_size=1, rounds=3)
    assert found.milliseconds == pytest.approx(6)
    assert found.multiple == pytest.approx(3)
    assert clock == ["slow", "scaled_dot"] * 4


def test_an_inner_product_takes_as_long_as_itself():
    found = score_time("scaled_dot", length=32, heads=2, head_size=8, rounds=15)
    assert 0.3 < found.multiple < 3
