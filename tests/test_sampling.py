"""The sample of the suite that `make test` runs: what it leaves out stands for nothing that it doesn't hold."""

import itertools

import pytest

from attention.cases import MASK_EXAMPLES, POSITION_EXAMPLES, SCORE_EXAMPLES, SIZES, WEIGHTS_EXAMPLES, Case, rotation
from sampling import FEW, LAWS, SHARE, sample, values_of


def drawn(*factors, names=None):
    """The cases of a product that stand for it."""
    rows = list(itertools.product(*factors))
    cases = [frozenset(enumerate(row)) for row in rows]
    kept = sample(cases, names or list(map(str, rows)))
    return [rows[place] for place in kept], rows


def test_any_two_values_of_a_product_meet():
    factors = "abcd", "efg", "hij", "kl", "mno"
    kept, rows = drawn(*factors)
    assert len(kept) <= 20 < len(rows) // SHARE
    for one, two in itertools.combinations(range(len(factors)), 2):
        assert {(row[one], row[two]) for row in kept} == set(itertools.product(factors[one], factors[two]))


def test_a_list_without_pairs_is_thinned_to_a_share():
    kept, rows = drawn(range(60))
    assert len(kept) == len(rows) // SHARE
    # Which ones, the names decide: another law with the same cases has others.
    assert kept != drawn(range(60), names=[f"other law {place}" for place in range(60)])[0]


def test_few_cases_all_run_and_the_order_stays():
    for count in range(1, FEW + 1):
        assert drawn(range(count))[0] == drawn(range(count))[1]
    kept, _ = drawn(range(100))
    assert kept == sorted(kept)


def test_the_sample_is_the_same_at_every_call():
    cases = [values_of({"case": case}, {"case": place}) for place, case in enumerate(rotation(61))]
    names = [str(case) for case in rotation(61)]
    assert sample(cases, names) == sample(cases, names)


def test_a_case_is_made_of_its_fields_and_what_is_no_plain_value_of_its_place():
    values = values_of({"case": Case(mask="causal"), "rows": 3, "made": object()}, {"case": 4, "rows": 5, "made": 6})
    assert {("mask", "causal"), ("score", "scaled_dot"), ("rows", 3), ("made", 6)} < values
    assert ("case", 4) not in values


def test_every_part_and_every_law_stands_in_the_sample(request):
    """Of this very run: it has collected what it runs, whether that is a sample or all."""
    laws = request.config.stash[LAWS]
    if len(laws.cases) < 500:
        pytest.skip("only a part of the suite was collected")
    examples = {
        "score": SCORE_EXAMPLES,
        "weights": WEIGHTS_EXAMPLES,
        "mask": MASK_EXAMPLES,
        "position": POSITION_EXAMPLES,
        "size": SIZES,
    }
    assert {(kind, name) for kind, names in examples.items() for name in names} <= laws.values
    assert all(kept >= min(FEW, every) for kept, every in laws.cases.values())
