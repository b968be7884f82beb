"""Shrink a failing case to a small one that fails, too: fewer items, heads, features; fewer options; other seeds."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from regard.jury.cases import Case
from regard.jury.law import Finding, Law
from regard.jury.subject import Subject

__all__ = ["shrunk"]

_SEEDS = (0, 1, 2)
_PLAIN: dict[str, Any] = {
    "mask": "",
    "bias": "",
    "causal": False,
    "scale": None,
    "layout": "contiguous",
    "upward_layout": "contiguous",
}


def shrunk(subject: Subject, law: Law, case: Case, seconds: float = 5.0) -> tuple[Case, Finding]:
    """The smallest failing case found within `seconds`, and what is wrong in it, which is in the same tensor as before.

    Raises:
        ValueError: the case doesn't fail.
    """
    finding = _failing(subject, law, case, "")
    if finding is None:
        raise ValueError("`case` must fail.")
    # An option that every case of the law sets is what the law is about, and stays.
    cases = list(law.cases(subject.claims))
    essential = {name for name in _PLAIN if all(getattr(example, name) != _PLAIN[name] for example in cases)}
    end = time.monotonic() + seconds
    shrinking = True
    while shrinking and time.monotonic() < end:
        shrinking = False
        for smaller in _smaller(case, essential, value_size=subject.claims.value_size):
            if time.monotonic() > end:
                break
            for seed in dict.fromkeys((case.seed, *_SEEDS)):
                candidate = replace(smaller, seed=seed)
                if candidate_finding := _failing(subject, law, candidate, finding.what):
                    case, finding, shrinking = candidate, candidate_finding, True
                    break
            if shrinking:
                break
    return case, finding


def _failing(subject: Subject, law: Law, case: Case, what: str) -> Finding | None:
    try:
        finding = law.judge(subject, case)
    except Exception:
        # The function refuses the case, or the case has nothing to judge.
        return None
    return finding if not finding.holds and what in ("", finding.what) else None


def _smaller(case: Case, essential: set[str], *, value_size: bool) -> Iterator[Case]:
    """Smaller cases: fewer options, then for each size the smallest first."""
    for name, plain in _PLAIN.items():
        if name not in essential and getattr(case, name) != plain and not case.poison:
            yield replace(case, **{name: plain})
    if case.dropout:
        # The values are unit vectors, so that these sizes stay equal.
        for size in _less(case.keys, 2):
            yield replace(case, queries=size, keys=size, feature=size, value=size)
    else:
        if case.causal and case.queries == case.keys:
            for size in _less(case.keys, 1):
                yield replace(case, queries=size, keys=size)
        else:
            for size in _less(case.keys, 1):
                yield replace(case, keys=size)
            for size in _less(case.queries, 1):
                yield replace(case, queries=size)
        for size in _less(case.feature, 1):
            yield replace(case, feature=size, value=case.value if case.value != case.feature else size)
        if value_size:
            for size in _less(case.value, 1):
                yield replace(case, value=size)
    for size in _less(case.batch, 1):
        yield replace(case, batch=size)
    if case.heads > 1:
        if case.key_heads == case.heads:
            yield replace(case, heads=1, key_heads=1)
        else:
            yield replace(case, heads=case.heads // case.key_heads, key_heads=1)
            if case.heads > 4:
                yield replace(case, heads=4, key_heads=2)


def _less(size: int, least: int) -> list[int]:
    """Smaller sizes to try, ascending: `least`, half of the size, and one less."""
    return sorted({smaller for smaller in (least, size // 2, size - 1) if least <= smaller < size})
