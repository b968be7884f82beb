"""How many functions of Python a call runs: times vary, these numbers don't, so they can't creep up unnoticed."""

import runpy
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "calls.py"


@pytest.fixture(scope="module")
def counted():
    return runpy.run_path(str(BENCHMARK))["counted"]


# (score, mask, queries) -> the most of a forward pass, and of a forward and a backward pass.
MOST = {
    ("scaled_dot", "none", 128): (6, 60),
    ("scaled_dot", "causal", 128): (30, 66),
    ("scaled_dot", "window", 128): (56, 160),
    ("additive", "none", 128): (60, 160),
    ("additive", "causal", 128): (66, 175),
    ("additive", "none", 1): (60, 160),
    ("additive", "window", 1): (64, 175),
}


@pytest.mark.usefixtures("only_on_a_cpu")
@pytest.mark.parametrize(("score", "mask", "queries"), MOST)
def test_a_warm_call_runs_few_functions(counted, score, mask, queries):
    for gradient, most in zip((False, True), MOST[score, mask, queries], strict=True):
        found = counted(score, mask, gradient=gradient, queries=queries)
        assert 0 < found.total() <= most, found.most_common(20)


@pytest.mark.usefixtures("only_on_a_cpu")
def test_the_backward_pass_takes_no_parts_apart(counted):
    """It puts them together once, from the tensors that autograd saved."""
    found = counted("additive", "causal", gradient=True)
    assert sum(count for name, count in found.items() if name.startswith("attention/parts.py")) <= 20
