"""The laws of attention as tests of pytest, in one line.

# test_attention.py
from regard.testing import laws

test_attention = laws(my_attention)
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from regard.jury import Claims, Verdict, candidate, check, found_claims, laws_named

__all__ = ["laws"]


def laws(
    function: Callable[..., Any] | str, claims: Claims | None = None, *, only: Sequence[str] = (), device: str = "cpu"
) -> Callable[[str], None]:
    """A test with one case for each law; give it a name that begins with `test`.

    A law that fails shows what is wrong, what it means, and the script of the smallest failing call. One that isn't
    offered is skipped.

    Args:
        function, claims, only, device: as in `regard.check`.

    Raises:
        ArgumentError: there is no such law or function.

    Example:
        >>> test_sdpa = laws("sdpa", only=["outputs", "hidden"])
        >>> test_sdpa("outputs")
        >>> test_sdpa("hidden")
        Traceback (most recent call last):
        ...
        Failed: hidden fails: What is hidden has no effect, ...
    """
    import pytest

    chosen = laws_named(only)
    if isinstance(function, str):
        # A name is looked up when the tests are collected, so that a wrong one is told before any test runs.
        candidate(function)

    @functools.cache
    def known() -> Claims | None:
        return found_claims(function, device) if claims is None and not isinstance(function, str) else claims

    @pytest.mark.parametrize("law", [law.name for law in chosen])
    def test(law: str) -> None:
        verdict = check(function, known(), only=[law], device=device)[law]
        if verdict.answer == "not offered":
            pytest.skip(verdict.note or "not offered")
        if verdict.answer != "holds":
            pytest.fail(_told(verdict), pytrace=False)

    return test


def _told(verdict: Verdict) -> str:
    if verdict.answer == "not judged":
        return f"{verdict.law.name} can't be judged: {verdict.note}"
    told = [f"{verdict.law.name} fails: {verdict.law.says}", verdict.law.matters]
    told += [f"Found: {verdict.note}."] if verdict.note else []
    return "\n".join([*told, f"The smallest failing call: {verdict.smallest}.", "", verdict.script])
