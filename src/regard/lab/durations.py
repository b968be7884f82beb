"""The duration of calls, in milliseconds, measured in turns so that a slow moment of the machine is shared by all."""

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

__all__ = ["median_durations"]

Key = TypeVar("Key")


def median_durations(calls: Mapping[Key, Callable[[], Any]], rounds: int) -> dict[Key, float]:
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
    taken: dict[Key, list[float]] = {key: [] for key in calls}
    for _ in range(rounds):
        for key, call in calls.items():
            start = time.perf_counter()
            call()
            taken[key].append(1000 * (time.perf_counter() - start))
    return {key: statistics.median(durations) for key, durations in taken.items()}
