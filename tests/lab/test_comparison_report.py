"""What a comparison says first: the winner, what is as good, and what one example of dev is worth."""

import pytest

import regard.lab.compare as module
from lab.sample_grid import RECIPE, VARY, sentences
from regard.errors import ArgumentError
from regard.lab import Claim, Study
from regard.lab.compare import CandidateRun, compare
from regard.lab.comparison_report import Decided, comparison_page
from regard.lab.results import Run
from regard.tasks import Splits
from regard.tasks.judging.measure import Measure

ACCURACY, ERROR = Measure("accuracy", share=True), Measure("RMSE", falls=True)


def decided(scores, count, measure=ACCURACY):
    """A comparison of one round whose candidates have these scores with both seeds."""
    claims = tuple(Claim(name, "default") for name in scores if name != "default")
    study = Study("compare", "?", len, {key: {} for key in scores}, claims, (measure,), seeds=2)
    runs = [
        Run(name, seed, {}, {measure.name: score}, 1.0, None, "", {}, "a machine", "2026-01-01")
        for name, score in scores.items()
        for seed in (0, 1)
    ]
    return Decided(study, runs, (), max(scores, key=scores.__getitem__), {}, {}, count)


def first(*given):
    return comparison_page(decided(*given), "reviews").blocks[0].text


def test_what_is_as_good_is_named_and_one_example_is_weighed():
    said = first({"default": 0.9, "a": 0.9, "b": 0.9, "c": 0.8}, 45)
    assert said.startswith("The best on dev is default: accuracy 90.00 %.")
    assert "As good on dev: a, b." in said
    assert said.endswith("Dev has 45 examples, so one of them is worth 2.2 points: smaller differences say nothing.")


@pytest.mark.parametrize(
    ("count", "measure"), [(None, ACCURACY), (1000, ACCURACY), (45, ERROR)], ids=["a tagger", "many", "no share"]
)
def test_elsewhere_one_example_is_not_weighed(count, measure):
    assert "is worth" not in first({"default": 0.5, "a": 0.75}, count, measure)
    assert "As good" not in first({"default": 0.5, "a": 0.75}, count, measure)


def test_a_budget_below_an_epoch_is_refused_before_it(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_least_seconds", lambda call: 600.0)
    monkeypatch.setattr(module, "_timed", lambda *given: pytest.fail("an epoch was trained"))
    with pytest.raises(
        ArgumentError, match="`minutes` must pay for an epoch of each of the 2 candidates, about 40 minutes"
    ):
        compare(sentences(), sentences(), VARY, out=tmp_path / "out", minutes=1, recipe=RECIPE, processes=1)
    assert not (tmp_path / "out").exists()


def test_the_least_time_of_an_epoch_is_what_more_examples_add(tmp_path, monkeypatch):
    sizes, clock = [], iter((0.0, 5.0, 5.0, 6.0, 6.0, 9.0))
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(module.Experiment, "run", lambda self, **options: sizes.append(len(self.splits.train)))
    splits = Splits([("a", "b")] * 1280, [("a", "b")])
    # 128 more examples add 2 seconds; of what 1,280 take then, half is sure.
    assert module._least_seconds(CandidateRun(RECIPE, splits, tmp_path)) == pytest.approx(10.0)
    assert sizes == [32, 32, 160]
    few = CandidateRun(RECIPE, Splits([("a", "b")] * 600, [("a", "b")]), tmp_path)
    assert module._least_seconds(few) == 0.0
