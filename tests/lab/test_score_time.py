"""The time of a score, with a clock that only moves when a pass is made."""

import time

import pytest

from regard.lab import score_time as module


@pytest.fixture
def clock(monkeypatch):
    now = {"at": 0.0}
    order = []

    def timed(score, *sizes):
        def call():
            order.append(score)
            # A slow first pass, which must not count, and slow moments later.
            slow = 100 if order.count(score) in (1, 3) else 1
            now["at"] += slow * {"slow": 0.006, "scaled_dot": 0.002}[score]

        return call

    monkeypatch.setattr(module, "_pass", timed)
    monkeypatch.setattr(time, "perf_counter", lambda: now["at"])
    return order


def test_the_median_counts_and_passes_take_turns(clock):
    found = module.score_time("slow", length=1, heads=1, head_size=1, rounds=3)
    assert found.milliseconds == pytest.approx(6)
    assert found.multiple == pytest.approx(3)
    assert clock == ["slow", "scaled_dot"] * 4


def test_an_inner_product_takes_as_long_as_itself():
    found = module.score_time("scaled_dot", length=32, heads=2, head_size=8, rounds=15)
    assert 0.3 < found.multiple < 3
