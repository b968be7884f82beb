"""Durations: the order of calls, and the median."""

import time

from regard.lab.durations import median_durations


def test_calls_take_turns_after_a_call_to_warm_up():
    said = []
    median_durations({1: lambda: said.append("a"), 2: lambda: said.append("b")}, 3)
    assert "".join(said) == "ab" + "ababab"


def test_the_median_leaves_a_slow_moment_out(monkeypatch):
    # Of the call in ms: 5 to warm up isn't timed, then 1, 100 and 2.
    clock = iter([0.0, 0.001, 1.0, 1.1, 2.0, 2.002])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    assert abs(median_durations({7: lambda: None}, 3)[7] - 2) < 1e-9
