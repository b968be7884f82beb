"""Memory grows with n, not with its square: the peaks of a process that goes through combinations one by one.

A peak is counted from what the process holds after a small call of the same kind, with what Python, PyTorch and
compiled kernels need for themselves.
"""

import random
import sys

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
    seeded,
)
from attention.peaks import peak, printed
from regard.attention import Bilinear, Causal, Edges, attend, plan
from sampling import examples

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
    for case in cases:
        print(round(peak(lambda case=case: call(case, length, engine, orders))), case)


def peaks(**arguments) -> str:
    return printed("from attention.test_memory import report", f"report(**{arguments!r})")


CALLS = {
    "of a forward pass": "planned(4096)",
    "of pairs by themselves": "careful(256)",
    "auto": f"report(length=3072, engine='auto', orders=1, count={examples(6)})",
    "second order": "report(length=3072, engine='auto', orders=2, count=1)",
    "dense": "report(length=2048, engine='dense', orders=1, count=1)",
}


@pytest.fixture(scope="module")
def said(only_on_a_cpu) -> dict[str, str]:
    """What each of `CALLS` prints.

    One process makes them all: each peak is counted from what it holds before, and importing takes longer than most.
    """
    code = ["from attention.test_memory import *", *(f"{call}; print('-')" for call in CALLS.values())]
    parts = printed(*code).split("-\n")
    return dict(zip(CALLS, parts[:-1], strict=True))


def most(report: str) -> int:
    return max(int(line.split()[0]) for line in report.splitlines())


# The weights of 4 heads of 3,072 items are 144 MiB of float32, those of 5,120 are 400; the definition holds several.
# Each limit is below one such matrix, so that an engine that holds a single one is found.


@pytest.mark.slow
def test_the_peak_is_far_below_all_pairs(said):
    found = said["auto"]
    assert len(found.splitlines()) == examples(6)
    assert most(found) < 120, found


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["auto", "blocked"])
def test_the_peak_of_more_is_far_below_all_pairs(engine):
    found = peaks(length=5120, engine=engine, orders=1)
    assert most(found) < 256, found


PLANNED = [
    Case(mask="causal"),
    Case(mask="window"),
    Case(weights="entmax", mask="causal"),
    Case(weights="relu", position="relative"),
    Case(score="additive"),
    Case(mask="edges & lengths"),
]


def planned(length: int) -> None:
    """In a process of its own: what `plan` says of a forward pass, and what it takes, both MiB."""
    torch.set_num_threads(1)
    for case in PLANNED:
        size = Size(length, length, (length,), (length,), items=(1,), value=FEATURE)
        three = [numbers(1, HEADS, length, FEATURE, seed=seed, dtype=torch.float32, grad=False) for seed in range(3)]
        parts = {
            "score": SCORE_EXAMPLES[case.score](torch.float32),
            "weights": WEIGHTS_EXAMPLES[case.weights](torch.float32),
        }
        parts["position"] = POSITION_EXAMPLES[case.position](size, torch.float32)
        if "edges" in case.mask:  # the example would make a table of all pairs
            mask = Edges(torch.randint(length, (2, 40 * length), generator=seeded(0))) & Causal()
        else:
            mask = MASK_EXAMPLES[case.mask](size)
        with torch.no_grad():
            attend(*three, **parts, mask=mask)
            took = peak(lambda three=three, parts=parts, mask=mask: attend(*three, **parts, mask=mask))
        print(took, plan(*three, **parts, mask=mask).memory / 2**20, case)


@pytest.mark.slow
def test_the_peak_is_what_the_plan_says(said):
    """Up to a few MiB that depend on nothing; Python's own, and what libraries keep for themselves."""
    found = said["of a forward pass"]
    assert len(found.splitlines()) == len(PLANNED)
    for line in found.splitlines():
        took, said = map(float, line.split()[:2])
        assert took <= 1.25 * said + 6, found


def careful(length: int) -> None:
    """In a process of its own: the peak where every pair is seen by some and must be scored by itself."""
    torch.set_num_threads(1)
    three = [numbers(1, HEADS, length, 64, seed=seed, dtype=torch.float32) for seed in range(3)]
    matrix = numbers(HEADS, 64, 64, seed=4, dtype=torch.float32)
    with torch.no_grad():
        three[1][:, :, ::2] = torch.inf
    few = [t.detach()[:, :, :16].requires_grad_() for t in three]
    attend(*few, score=Bilinear(matrix), mask="causal").sum().backward()
    print(peak(lambda: attend(*three, score=Bilinear(matrix), mask="causal").sum().backward()))


def test_pairs_that_are_scored_by_themselves_share_what_their_head_has(said):
    """A matrix of 64 x 64 for each of 256 x 256 / 2 pairs and 4 heads would be 2 GiB."""
    assert float(said["of pairs by themselves"]) < 96


def test_the_peak_of_the_second_order_is_far_below_all_pairs(said):
    found = said["second order"]
    assert most(found) < 96, found


@pytest.mark.slow
def test_the_peak_of_the_second_order_of_more_is_far_below_all_pairs():
    found = peaks(length=5120, engine="auto", orders=2)
    assert most(found) < 360, found


def test_the_measure_can_fail(said):
    """The definition does take all pairs: 64 MiB at 2,048 items."""
    assert most(said["dense"]) > 150
