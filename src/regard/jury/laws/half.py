"""Half precision: results are as close as rounding explains (bounds.py)."""

from collections.abc import Iterator
from dataclasses import replace

from regard.jury.cases import Case
from regard.jury.claims import Claims
from regard.jury.law import Law
from regard.jury.laws.agreement import compared, outputs_alone

__all__ = ["HALF", "HALF_GRADIENTS"]


def _cases(claims: Claims) -> Iterator[Case]:
    for dtype in ("bfloat16", "float16"):
        if dtype in claims.dtypes:
            case = Case(dtype=dtype, heads=1, key_heads=1)
            for length in (1, 2, 3, 5, 17, 65):
                for feature in (8, 64):
                    yield replace(case, queries=length, keys=length, feature=feature, value=feature)
            # Few keys, one of which has nearly all of the weight, so that terms cancel.
            yield replace(case, queries=3, keys=3, feature=64, value=64, magnitude=3.0)
            # Weights that are all 1 / n: their sum stops growing if it is kept in half precision.
            yield replace(case, queries=2, keys=4096, feature=8, value=8, same=True)


def _gradient_cases(claims: Claims) -> Iterator[Case]:
    if claims.gradients:
        yield from _cases(claims)
        for dtype in ("bfloat16", "float16"):
            if dtype in claims.dtypes:
                yield Case(dtype=dtype, heads=1, key_heads=1, queries=1024, keys=2, feature=8, value=8, same=True)


HALF = Law(
    "half",
    "In half precision each output is as close as rounding explains, with sums in float32.",
    "Half precision loses more than its format does: long contexts or few keys are noisier than they need be.",
    _cases,
    outputs_alone,
    "half precision",
)
HALF_GRADIENTS = Law(
    "half_gradients",
    "In half precision each gradient is as close as rounding explains, with sums in float32.",
    "Gradients in mixed precision are noise where they should be small.",
    _gradient_cases,
    compared,
    "half precision with a gradient",
)
