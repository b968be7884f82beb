"""Scores of thousands."""

from collections.abc import Iterator
from dataclasses import replace

from regard.jury.cases import Case
from regard.jury.claims import Claims
from regard.jury.law import Law
from regard.jury.laws.agreement import compared

__all__ = ["LARGE_SCORES"]


def _cases(claims: Claims) -> Iterator[Case]:
    case = Case(dtype=claims.usual)
    for magnitude in (30.0, 100.0, 1000.0):
        yield replace(case, magnitude=magnitude, queries=2, keys=3)
        yield replace(case, magnitude=magnitude, queries=19, keys=35)
    if "float16" in claims.dtypes:
        # Products beyond 65504, the largest number of float16: scores are sums of them, which belong in float32.
        yield replace(case, dtype="float16", magnitude=150.0, queries=3, keys=5, feature=64, value=64)


LARGE_SCORES = Law(
    "large_scores",
    "Scores of thousands, of either sign, give finite and right outputs and gradients.",
    "exp overflows: the loss is NaN as soon as the logits grow.",
    _cases,
    compared,
)
