"""Memory grows with n, not with its square: the peaks of a process that goes through combinations one by one.

A peak is counted from what the process holds after a small call of the same kind, with what Python, PyTorch and
compiled kernels need for themselves.
"""

import ctypes
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from attention.cases import (
    FEATURE,
    HEADS,
    MASK_EXAMPLES,
    POSITION_EXAMPLES,
    SCORE_EXAMPLES,
    VALUE,
    WEIGHTS_EXAMPLES,
    Case,
    Size,
    numbers,
)
from regard.attention import attend

pytestmark = [
    pytest.mark.usefixtures("only_on_a_cpu"),
    pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from Linux's /proc"),
]

# Whose table or function takes more than O(n) memory itself; and examples with edges or blocks to every fourth key.
HEAVY = ("own function", "bias", "edges", "blocks", "nothing")


def sample(count: int) -> list[Case]:
    """So many combinations, the same at every call."""
    draw = random.Random(1)
    kinds = SCORE_EXAMPLES, WEIGHTS_EXAMPLES, MASK_EXAMPLES, POSITION_EXAMPLES
    names = [[name for name in examples if not any(heavy in name for heavy in HEAVY)] for examples in kinds]
    return [Case(*(draw.choice(choices) for choices in names), dropout=draw.choice((0.0, 0.1))) for _ in range(count)]


FIRST = [
    Case(mask="causal"),
    Case(score="additive", dropout=0.1),
    Case(weights="entmax 1.3", position="rotary + bucketed"),
    Case(score="own part", weights="own part", mask="causal", position="own"),
    *sample(12),
]
SECOND = [Case(mask="causal"), Case(weights="relu", mask="no_self"), Case(score="own part", position="own"), *sample(3)]


def call(case: Case, length: int, engine: str, orders: int) -> None:
    """One item of so many vectors, forward and backward, once or twice."""
    size = Size(length, length, (length,), (length - length // 5,), key_heads=2, items=(1,))
    dtype = torch.float32
    query, key, value = (
        numbers(1, heads, length, width, seed=seed, dtype=dtype)
        for seed, (heads, width) in enumerate(((HEADS, FEATURE), (2, FEATURE), (2, VALUE)))
    )
    output = attend(
        query,
        key,
        value,
        score=SCORE_EXAMPLES[case.score](dtype),
        weights=WEIGHTS_EXAMPLES[case.weights](dtype),
        mask=MASK_EXAMPLES[case.mask](size),
        position=POSITION_EXAMPLES[case.position](size, dtype),
        dropout=case.dropout,
        seed=1,
        engine=engine,
    )
    loss = output.square().sum()
    if orders == 2:
        (first,) = torch.autograd.grad(loss, query, create_graph=True)
        loss = first.square().sum()
    loss.backward()


def report(length: int, engine: str, orders: int, count: int | None = None) -> None:
    """In a process of its own: for each combination, how many MiB more than before it the process held at most."""
    cases = (FIRST if orders == 1 else SECOND)[:count]
    torch.set_num_threads(1)
    for case in cases:
        call(case, 64, engine, orders)
    system = ctypes.CDLL(None)
    # M_MMAP_THRESHOLD: from here on what is freed is given back at once, so that holes in the heap aren't counted.
    system.mallopt(-3, 1 << 18)
    for case in cases:
        system.malloc_trim(0)
        # 5 sets the process's high-water mark back to what it holds now: see proc(5), clear_refs.
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before = held("VmRSS")
        call(case, length, engine, orders)
        print(round((held("VmHWM") - before) / 1024), case)


def held(field: str) -> int:
    """A field of the process's own status, in KiB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def peaks(**arguments) -> str:
    code = f"from attention.test_memory import report; report(**{arguments!r})"
    tests = str(Path(__file__).parents[1])
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=tests).stdout


def most(report: str) -> int:
    return max(int(line.split()[0]) for line in report.splitlines())


# The weights of 4 heads of 4,096 items are 256 MiB of float32, those of 8,192 are 1 GiB; the definition holds several.


def test_the_peak_is_far_below_all_pairs():
    found = peaks(length=4096, engine="auto", orders=1, count=6)
    assert most(found) < 160, found


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["auto", "blocked"])
def test_the_peak_of_more_is_far_below_all_pairs(engine):
    found = peaks(length=8192, engine=engine, orders=1)
    assert most(found) < 256, found


def test_the_peak_of_the_second_order_is_far_below_all_pairs():
    found = peaks(length=4096, engine="auto", orders=2, count=1)
    assert most(found) < 128, found


@pytest.mark.slow
def test_the_peak_of_the_second_order_of_more_is_far_below_all_pairs():
    found = peaks(length=8192, engine="auto", orders=2)
    assert most(found) < 360, found


def test_the_measure_can_fail():
    """The definition does take all pairs: 64 MiB at 2,048 items."""
    assert most(peaks(length=2048, engine="dense", orders=1, count=1)) > 150
