"""Every engine against the definition: over all parts two by two, and by `make test-all` over the whole product."""

import itertools
from collections import Counter

import pytest
import torch

from attention.cases import (
    MASK_EXAMPLES,
    POSITION_EXAMPLES,
    SCORE_EXAMPLES,
    SIZES,
    WEIGHTS_EXAMPLES,
    covering,
    kernels,
    pairwise,
    tensors,
    whole_product,
)
from attention.comparing import OTHERS, compare, request_of
from regard.attention import MASKS, POSITIONS, SCORES, WEIGHTS, Dot, attend
from regard.attention.engines import ENGINES


def counted(record_property, counts: Counter[str]) -> None:
    """What the summary at the end of the run adds up and prints."""
    for what, count in counts.items():
        record_property(f"contract: {what}", count)


def test_every_part_in_the_dicts_has_an_example():
    for names, examples in (
        (SCORES, SCORE_EXAMPLES),
        (WEIGHTS, WEIGHTS_EXAMPLES),
        (MASKS, MASK_EXAMPLES),
        (POSITIONS, POSITION_EXAMPLES),
    ):
        assert set(names) <= set(examples)


def test_any_two_parts_meet():
    factors = SCORE_EXAMPLES, WEIGHTS_EXAMPLES, MASK_EXAMPLES, POSITION_EXAMPLES, SIZES, (0.0, 0.3)
    cases = pairwise()
    rows = [(case.score, case.weights, case.mask, case.position, case.size, case.dropout) for case in cases]
    for a, b in itertools.combinations(range(len(factors)), 2):
        assert {(row[a], row[b]) for row in rows} == set(itertools.product(factors[a], factors[b]))
    assert cases == pairwise()
    assert covering("ab", "cd") == [("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")]


@pytest.mark.parametrize("case", pairwise(), ids=str)
def test_every_engine_equals_the_definition(case, record_property):
    counted(record_property, compare(case))


@pytest.mark.parametrize("case", kernels("self", "even", "grouped", "even", "even, long"), ids=str)
def test_the_kernels_equal_the_definition(case, record_property):
    counted(record_property, compare(case))


@pytest.mark.parametrize("mask", [None, "causal", "no_self"])
@pytest.mark.parametrize("scale", [0.0, -1.0])
def test_a_scale_that_is_not_above_zero(scale, mask):
    """What is hidden is hidden by minus infinity, which times such a scale is something else."""
    query, key, value = tensors(SIZES["self"])
    expected = attend(scale * query, key, value, score="dot", mask=mask, engine="dense")
    torch.testing.assert_close(attend(query, key, value, score=Dot(scale), mask=mask), expected)


@pytest.mark.usefixtures("only_on_a_cpu")
def test_every_engine_has_something_to_do():
    """A comparison that always ends in a refusal compares nothing."""
    done = Counter(
        engine
        for case in [*pairwise(), *kernels("self", "even", "grouped", "even", "even, long")]
        for engine in OTHERS
        if ENGINES[engine].refuse(request_of(case.make())) is None
    )
    assert all(done[engine] >= 8 for engine in OTHERS), done


@pytest.mark.slow
@pytest.mark.parametrize("weights", WEIGHTS_EXAMPLES)
@pytest.mark.parametrize("score", SCORE_EXAMPLES)
def test_the_whole_product(score, weights, record_property):
    counts, wrong = Counter(), []
    for case in whole_product(score, weights):
        try:
            counts += compare(case)
        except AssertionError as error:
            wrong.append(f"{error}")
    counted(record_property, counts)
    assert not wrong, "\n".join(wrong[:20])
