"""The sample of the suite that `make test` runs: what it leaves out stands for nothing that it doesn't hold."""

import itertools
import os
import subprocess
import sys
import textwrap
from pathlib import Path

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


SUITE = {
    "test_some_laws.py": """
        import pytest
        def test_alone(): pass
        @pytest.mark.slow
        def test_long(): pass
        @pytest.mark.parametrize("number", range(20))
        def test_law(number): pass
        @pytest.mark.every_case
        @pytest.mark.parametrize("number", range(20))
        def test_sampled(number): pass
        @pytest.mark.parametrize("number", [*(pytest.param(each, marks=pytest.mark.slow) for each in range(7)), 7])
        def test_mostly_long(number): pass
        class TestThings:
            def test_in_a_class(self): pass
        """,
    "test_drawn.py": """
        from sampling import examples
        def test_draws(): assert examples(8)
        """,
}


def collected(folder, *options):
    """The names of the tests that pytest would run in a folder."""
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "sampling", "-p", "no:cacheprovider", "--collect-only", "-q", *options],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return {line.partition("::")[2] for line in found.stdout.splitlines() if "::" in line}


@pytest.mark.slow
def test_the_sample_and_the_rest_are_all(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow: long\n", encoding="utf-8")
    for name, text in SUITE.items():
        (tmp_path / name).write_text(textwrap.dedent(text), encoding="utf-8")
    every = collected(tmp_path)
    drawn_first = collected(tmp_path, "--sample", "-m", "not slow")
    rest = collected(tmp_path, "--rest")
    assert len(every) == 52
    assert drawn_first | rest == every
    # Fewer examples were drawn in the sample, so the test runs again.
    assert drawn_first & rest == {"test_draws"}
    long = {"test_long", *(f"test_mostly_long[{number}]" for number in range(7))}
    assert {name for name in rest if not name.startswith("test_law")} == {"test_draws", *long}
    assert "test_mostly_long[7]" in drawn_first
