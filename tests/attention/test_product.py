"""Every engine against the definition: over all parts two by two, by `make test-all` over a sixth of what meets three
by three, and by `make test-exhaustive` over the rest of that and the whole product."""

import dataclasses
import itertools
from collections import Counter

import pytest
import torch

from attention.cases import (
    FACTORS,
    MASK_EXAMPLES,
    POSITION_EXAMPLES,
    SCORE_EXAMPLES,
    SIZES,
    WEIGHTS_EXAMPLES,
    Case,
    any_three,
    covering,
    kernels,
    pairwise,
    pairwise_with,
    tensors,
    whole_product,
)
from attention.comparing import OTHERS, ROUNDING, compare, request_of
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
    cases = pairwise_with(ROUNDING)
    rows = [(*dataclasses.astuple(case), dtype) for case, dtype in cases]
    factors = *FACTORS, ROUNDING
    for a, b in itertools.combinations(range(len(factors)), 2):
        assert {(row[a], row[b]) for row in rows} == set(itertools.product(factors[a], factors[b]))
    assert cases == pairwise_with(ROUNDING)
    assert covering("ab", "cd") == [("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")]


@pytest.mark.every_case
@pytest.mark.parametrize(("case", "dtype"), pairwise_with(ROUNDING), ids=str)
def test_every_engine_equals_the_definition(case, dtype, record_property):
    counted(record_property, compare(case, [dtype]))


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
@pytest.mark.slow
def test_every_engine_has_something_to_do():
    """A comparison that always ends in a refusal compares nothing."""
    done = Counter(
        engine
        for case in [*pairwise(), *kernels("self", "even", "grouped", "even", "even, long")]
        for engine in OTHERS
        if ENGINES[engine].refuse(request_of(case.make())) is None
    )
    assert all(done[engine] >= 8 for engine in OTHERS), done


def test_any_three_parts_meet():
    factors = FACTORS[:4]
    assert min(map(len, factors)) == len(SCORE_EXAMPLES)
    rows = [dataclasses.astuple(case)[:4] for case in any_three()]
    for places in itertools.combinations(range(4), 3):
        met = {tuple(row[place] for place in places) for row in rows}
        assert met == set(itertools.product(*(factors[place] for place in places)))


# Any three parts meet in all sixths together. They take a quarter of an hour, so `make test-all` runs one.
@pytest.mark.slow
@pytest.mark.parametrize("sixth", [0, *(pytest.param(place, marks=pytest.mark.exhaustive) for place in range(1, 6))])
@pytest.mark.parametrize("weights", WEIGHTS_EXAMPLES)
def test_any_three_parts_equal_the_definition(weights, sixth, record_property):
    hold([case for case in any_three() if case.weights == weights][sixth::6], record_property)


@pytest.mark.exhaustive
@pytest.mark.parametrize("weights", WEIGHTS_EXAMPLES)
@pytest.mark.parametrize("score", SCORE_EXAMPLES)
def test_the_whole_product(score, weights, record_property):
    hold(whole_product(score, weights), record_property)


def hold(cases: list[Case], record_property) -> None:
    """Compare many, and tell of all that are too far off."""
    counts, wrong = Counter(), []
    for case in cases:
        try:
            counts += compare(case)
        except AssertionError as error:
            wrong.append(f"{error}")
    counted(record_property, counts)
    assert not wrong, "\n".join(wrong[:20])
