"""Durations in milliseconds, measured in turns so that a slow moment of the machine is shared: of calls, of a score."""

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import torch

from regard.attention import SCORES, attend
from regard.modules.make_part import make_part

__all__ = ["ScoreTime", "median_durations", "score_time"]

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


class ScoreTime(NamedTuple):
    """The median time of a pass in ms, and its ratio to that of a pass with scaled inner products."""

    milliseconds: float
    multiple: float


def score_time(score: str, *, length: int, heads: int, head_size: int, rounds: int) -> ScoreTime:
    """Time a forward and a backward pass of attention over 8 sequences.

    Passes with the score and with scaled inner products take turns, so that a slow moment of the machine is shared.

    Args:
        score: its name.
        length: the number of queries and keys.
        heads, head_size: of the attention.
        rounds: the number of passes with each, after one to warm up.

    Example:
        >>> score_time("additive", length=128, heads=4, head_size=16, rounds=5).multiple > 1
        True
    """
    calls = {place: _pass(name, length, heads, head_size) for place, name in enumerate((score, "scaled_dot"))}
    asked, usual = median_durations(calls, rounds).values()
    return ScoreTime(asked, asked / usual)


def _pass(score: str, length: int, heads: int, head_size: int) -> Callable[[], None]:
    part = make_part("score", score, SCORES, head_size=head_size, heads=heads)
    query, key, value = (torch.randn(8, heads, length, head_size, requires_grad=True) for _ in range(3))
    return lambda: attend(query, key, value, score=part).sum().backward()
