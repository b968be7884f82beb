"""The time that attention takes with a score, beside scaled inner products at the same moment."""

from collections.abc import Callable
from typing import NamedTuple

import torch

from regard.attention import SCORES, attend
from regard.lab.durations import median_durations
from regard.modules.make_part import make_part

__all__ = ["ScoreTime", "score_time"]


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
