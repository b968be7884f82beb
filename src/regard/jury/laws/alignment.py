"""Which corner causal attention with unlike lengths is aligned at."""

from collections.abc import Iterator
from dataclasses import replace

from regard.jury.cases import Case
from regard.jury.claims import Claims
from regard.jury.law import Finding, Law, worst
from regard.jury.subject import Subject

__all__ = ["ALIGNMENT"]


def _cases(claims: Claims) -> Iterator[Case]:
    if claims.causal:
        # With more queries than keys, rows are empty: another law.
        for queries, keys in ((1, 2), (2, 5), (17, 33)):
            yield Case(dtype=claims.usual, causal=True, heads=1, key_heads=1, queries=queries, keys=keys)


def _judge(subject: Subject, case: Case) -> Finding:
    inputs = subject.make(case)
    right = {name: subject.expected(inputs, gradients=False, alignment=name) for name in ("end", "start")}
    bounds = {name: subject.bounds(inputs, name) for name in right}
    found = subject.outcome(inputs, gradients=False)
    findings = {name: worst(found, right[name], bounds[name], inputs.query.dtype) for name in right}
    aligned = next((name for name, finding in findings.items() if finding.holds), None)
    says = f"aligned at the {aligned}" if aligned else "aligned neither at the start nor at the end"
    return replace(findings[subject.claims.alignment], note=f"{says}; regard aligns at the end")


ALIGNMENT = Law(
    "alignment",
    "Causal with unlike lengths lays the last query beside the last key, as a cache needs it (unless the claims say "
    "start).",
    "With a cache, a new query sees the first keys only, instead of all that came before it.",
    _cases,
    _judge,
    "a causal rule",
)
