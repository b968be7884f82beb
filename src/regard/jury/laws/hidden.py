"""What is hidden can't matter, whatever it holds; what is seen does; and who sees nothing gets zeros."""

from collections.abc import Iterator
from dataclasses import replace

from regard.jury.cases import Case
from regard.jury.claims import Claims
from regard.jury.law import Finding, Law
from regard.jury.laws.agreement import compared, outputs_alone
from regard.jury.subject import Subject

__all__ = ["EMPTY_ROWS", "HIDDEN", "SEEN"]

POISONS = ("nan", "inf", "3e38")


def _empty(claims: Claims) -> Iterator[Case]:
    if claims.mask:
        case = Case(dtype=claims.usual)
        yield replace(case, mask="rows", heads=1, key_heads=1, queries=2, keys=2)
        yield replace(case, mask="rows", queries=5, keys=7)
        yield replace(case, mask="item", batch=2, queries=3, keys=4)
        yield replace(case, mask="item", batch=2, queries=33, keys=35)


def _hidden(claims: Claims) -> Iterator[Case]:
    if claims.mask:
        for poison in POISONS:
            for place in ("hidden value", "hidden key"):
                for length in (3, 35):
                    yield Case(dtype=claims.usual, mask="end", poison=poison, place=place, queries=length, keys=length)
        yield Case(dtype=claims.usual, mask="some", poison="nan", place="hidden value", queries=5, keys=7)
    if claims.causal:
        for poison in POISONS:
            for length in (2, 35):
                yield Case(
                    dtype=claims.usual, causal=True, poison=poison, place="hidden value", queries=length, keys=length
                )


def _judge_hidden(subject: Subject, case: Case) -> Finding:
    # Where some row does see the last key, nothing can be said of gradients.
    return compared(subject, case) if case.mask == "end" else outputs_alone(subject, case)


def _seen(claims: Claims) -> Iterator[Case]:
    for poison in POISONS:
        for length in (2, 35):
            yield Case(dtype=claims.usual, poison=poison, place="seen value", queries=length, keys=length)
    yield Case(dtype=claims.usual, poison="nan", place="seen key", queries=3, keys=3)


EMPTY_ROWS = Law(
    "empty_rows",
    "A query that may attend to nothing gets zeros, and gradients of zero: neither NaN nor the mean of all values.",
    "One empty row turns the whole loss into NaN, or lets padding be averaged into it.",
    _empty,
    compared,
    "a mask",
)
HIDDEN = Law(
    "hidden",
    "What is hidden has no effect, even where it is NaN, infinite or 3e38: neither on outputs nor on gradients.",
    "Uninitialised padding or a freed cache page turns the loss into NaN, now and then.",
    _hidden,
    _judge_hidden,
    "a mask or a causal rule",
)
SEEN = Law(
    "seen",
    "NaN and infinity that are seen aren't swallowed, and 3e38 is a number like any other.",
    "A model that has diverged looks healthy.",
    _seen,
    outputs_alone,
)
