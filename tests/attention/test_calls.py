"""How many functions of Python a call runs: times vary, these numbers don't, so they can't creep up unnoticed."""

import runpy
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "calls.py"


@pytest.fixture(scope="module")
def counted():
    return runpy.run_path(str(BENCHMARK))["counted"]


# (score, mask, queries) -> the most of a forward pass, of one with a gradient, and of a backward pass.
MOST = {
    ("scaled_dot", "none", 128): (6, 30, 30),
    ("scaled_dot", "causal", 128): (28, 34, 33),
    ("scaled_dot", "window", 128): (56, 61, 98),
    ("additive", "none", 128): (56, 62, 100),
    ("additive", "causal", 128): (66, 72, 108),
    ("additive", "none", 1): (56, 62, 100),
    ("additive", "window", 1): (64, 72, 110),
}


@pytest.mark.usefixtures("only_on_a_cpu")
@pytest.mark.parametrize(("score", "mask", "queries"), MOST)
def test_a_warm_call_runs_few_functions(counted, score, mask, queries):
    passes = [each for gradient in (False, True) for each in counted(score, mask, gradient=gradient, queries=queries)]
    for found, most in zip(passes, MOST[score, mask, queries], strict=True):
        assert 0 < found.total() <= most, found.most_common(20)


@pytest.mark.usefixtures("only_on_a_cpu")
def test_the_backward_pass_takes_no_parts_apart(counted):
    """It puts them together once, from the tensors that autograd saved."""
    _, found = counted("additive", "causal", gradient=True)
    assert not {name for name in found if name.endswith((" flatten_part", " resolve", " map_operands", " signature"))}
    assert sum(count for name, count in found.items() if name.startswith("attention/parts.py")) <= 15
