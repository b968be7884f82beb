"""The duration of calls, in milliseconds, measured in turns so that a slow moment of the machine is shared by all."""

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["median_durations"]


def median_durations(calls: Mapping[float, Callable[[], Any]], rounds: int) -> dict[float, float]:
    """The median duration of each call, in ms: after a call to warm up, each is called once in every round.

    Args:
        calls: the calls by what varies, such as the length of a sequence.
        rounds: the number of times that each is measured.

    Example:
        >>> found = median_durations({1: lambda: time.sleep(0.001), 2: lambda: time.sleep(0.01)}, 3)
        >>> 1 <= found[1] < found[2]
        True
    """
    for call in calls.values():
        call()
    taken: dict[float, list[float]] = {each: [] for each in calls}
    for _ in range(rounds):
        for each, call in calls.items():
            start = time.perf_counter()
            call()
            taken[each].append(1000 * (time.perf_counter() - start))
    return {each: statistics.median(own) for each, own in taken.items()}
