"""Each mistake is convicted by the law that one expects, and its script shows it; what is right is acquitted."""

import contextlib
import io
import re
from dataclasses import replace

import pytest

from attention.interpreting import interpret
from jury.broken import BROKEN, CLAIMS, Steps
from regard.attention.engines import ENGINES
from regard.jury import LAWS, Candidate, candidate, check

HERE = [
    pytest.param(f"regard-{engine}", marks=() if engine == "auto" else pytest.mark.slow)
    for engine in ("auto", *ENGINES)
    if engine not in ("triton", "banded")
]


def shown(script: str) -> str:
    """What a script prints that runs without regard."""
    code = script.split('"""', 2)[2]
    assert not re.search(r"\bregard\b", code)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(script, "script", "exec"), {"__name__": "script"})
    return printed.getvalue()


def candidate_of(mistake: str) -> Candidate:
    """A broken function, and how a script gets it."""
    source = f"from jury.broken import BROKEN\n\nattention = BROKEN[{mistake!r}].function\n"
    return Candidate(mistake, BROKEN[mistake].function, BROKEN[mistake].claims, source)


@pytest.mark.every_case
@pytest.mark.parametrize("mistake", BROKEN)
def test_a_mistake_is_convicted_and_shown(mistake):
    law = BROKEN[mistake].law
    verdict = check(candidate_of(mistake), only=[law])[law]
    assert verdict.answer == "fails", verdict
    assert verdict.worst is not None
    assert not verdict.worst.holds
    assert verdict.smallest is not None
    # What is wrong shows with few numbers, but where a sum must be long.
    assert verdict.smallest.queries * verdict.smallest.keys <= 4096
    assert "wrong" in shown(verdict.script), verdict.script


@pytest.mark.slow
@pytest.mark.parametrize("mistake", [name for name, broken in BROKEN.items() if "*" not in broken.also])
def test_no_other_law_convicts_it(mistake):
    broken = BROKEN[mistake]
    judgement = check(broken.function, broken.claims)
    assert {verdict.law.name for verdict in judgement.failed} <= {broken.law, *broken.also}
    assert not [verdict for verdict in judgement.verdicts if verdict.answer == "not judged"]


@pytest.mark.parametrize("law", LAWS)
def test_the_right_function_is_acquitted(law):
    assert check(Steps(), CLAIMS, only=[law])[law].answer == "holds"


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("engine", HERE)
def test_engines_are_acquitted(engine, law):
    verdict = check(engine, only=[law])[law]
    assert verdict.answer in ("holds", "not offered"), f"{verdict.note} {verdict.worst}\n{verdict.script}"
    # What an engine doesn't offer, it says itself.
    assert verdict.answer == "holds" or "RefusedError" in verdict.note or law.startswith("half")


IN_MINUTES = {"determinism", "dropout", "hidden", "inputs", "lengths"}
"""Laws of so many numbers that the interpreter takes half a minute for each; test_triton.py has them."""


@pytest.mark.slow
@pytest.mark.parametrize("law", [law for law in LAWS if law not in IN_MINUTES])
def test_triton_is_acquitted(law, monkeypatch):
    """In Triton's interpreter, which cuts numbers off instead of rounding them to bfloat16: that dtype is left out."""
    interpret(monkeypatch)
    known = candidate("regard-triton")
    assert known.claims is not None
    claims = replace(known.claims, dtypes=("float64", "float32", "float16"))
    verdict = check(known, claims, only=[law])[law]
    assert verdict.answer in ("holds", "not offered"), f"{verdict.note} {verdict.worst}\n{verdict.script}"
    assert verdict.answer == "holds" or "RefusedError" in verdict.note


@pytest.mark.parametrize("law", LAWS)
def test_pytorchs_own_function(law):
    """What SDPA breaks, and nothing else."""
    answer = check("sdpa", only=[law])[law].answer
    assert answer == {
        "alignment": "fails",
        "hidden": "fails",
        "half_gradients": "fails",
        "forward_mode": "not offered",
    }.get(law, "holds")
