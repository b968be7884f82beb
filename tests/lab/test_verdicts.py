"""Verdicts: yes, no, or can't tell."""

import dataclasses

import pytest

from lab.sample_studies import COINS, LINES, POINTS
from regard.lab import Claim, Run, Study, judge, report, run_study
from regard.lab.report import charts, conditions, summary
from regard.page import as_html, as_text
from regard.tasks.judging.measure import ACCURACY, Measure


def runs_of(pairs, measure="accuracy"):
    """Runs of the variants a and b with these values, a seed for each pair."""
    return [
        Run(name, seed, {}, {measure: value}, 1.0, 10.0, "", {"torch": "2", "regard": "0"}, "cpu", "2026-01-01")
        for seed, pair in enumerate(pairs)
        for name, value in zip("ab", pair, strict=True)
    ]


def study_of(claim, measure=ACCURACY):
    return Study("s", "Is a better?", len, {"a": {}, "b": {}}, (claim,), (measure,))


@pytest.mark.parametrize(
    ("pairs", "margin", "answer"),
    [
        ([(0.8, 0.7), (0.81, 0.7), (0.79, 0.7)], 0.0, "yes"),
        ([(0.7, 0.8), (0.7, 0.81), (0.7, 0.79)], 0.0, "no"),
        ([(0.8, 0.7), (0.7, 0.8), (0.75, 0.75)], 0.0, "can't tell"),
        # The difference is sure, and too small to matter.
        ([(0.701, 0.7), (0.7011, 0.7), (0.7009, 0.7)], 0.01, "no"),
        ([(0.72, 0.7), (0.7201, 0.7), (0.7199, 0.7)], 0.01, "yes"),
        ([(0.7, 0.7), (0.7, 0.7), (0.7, 0.7)], 0.0, "no"),
        ([(0.8, 0.7)], 0.0, "can't tell"),
    ],
)
def test_answers(pairs, margin, answer):
    study = study_of(Claim("a", "b", margin=margin))
    assert judge(study, study.claims[0], runs_of(pairs)).answer == answer


def test_less_is_better_for_an_error():
    error = Measure("RMSE", falls=True)
    study = study_of(Claim("a", "b"), error)
    found = judge(study, study.claims[0], runs_of([(0.8, 0.7), (0.81, 0.7), (0.79, 0.7)], "RMSE"))
    assert found.answer == "no"
    assert found.sentence == "a against b: RMSE 0.1000 higher (95 % interval 0.0752 to 0.1248; lower in 0 of 3 seeds)."
    found = judge(study, study.claims[0], runs_of([(0.7, 0.8), (0.7, 0.81), (0.72, 0.79)], "RMSE"))
    assert found.sentence.startswith("a against b: RMSE 0.0933 lower (95 % interval ")
    assert found.sentence.endswith("; lower in 3 of 3 seeds).")


@pytest.mark.parametrize(
    ("measure", "said", "better"),
    [
        (Measure("ms", falls=True, digits=2), "0.10 ms less", "faster"),
        (Measure("seconds", falls=True, digits=1), "0.1 seconds less", "faster"),
        (Measure("memory in MiB", falls=True, digits=0), "0 MiB less", "less"),
        (Measure("parameters", falls=True, digits=1), "0.1 fewer parameters", "fewer"),
        (Measure("word error rate", share=True, falls=True), "word error rate 10.0 points lower", "lower"),
        (Measure("loss", falls=True), "loss 0.1000 lower", "lower"),
    ],
)
def test_what_falls_is_less_lower_or_faster(measure, said, better):
    study = study_of(Claim("a", "b"), measure)
    found = judge(study, study.claims[0], runs_of([(0.7, 0.8), (0.69, 0.8), (0.71, 0.8)], measure.name))
    assert found.sentence.startswith(f"a against b: {said} (95 % interval ")
    assert found.sentence.endswith(f"; {better} in 3 of 3 seeds).")
    found = judge(study, study.claims[0], runs_of([(0.8, 0.7)], measure.name))
    opposite = said.replace("less", "more").replace("fewer", "more").replace("lower", "higher")
    assert found.sentence == f"a against b: {opposite} (no interval; {better} in 0 of 1 seed)."


def test_a_number_to_be_below():
    measure = Measure("difference", falls=True)
    study = study_of(Claim("a", 0.5), measure)
    found = judge(study, study.claims[0], runs_of([(0.1, 0), (0.2, 0), (0.3, 0)], "difference"))
    assert found.sentence.startswith("a: difference 0.2000, against 0.5000 (95 % interval ")
    assert found.sentence.endswith("; lower in 3 of 3 seeds).")


def test_a_number_to_be_above():
    study = study_of(Claim("a", 0.5))
    found = judge(study, study.claims[0], runs_of([(0.8, 0), (0.81, 0), (0.79, 0)]))
    assert (found.answer, round(found.found.mean, 6)) == ("yes", 0.3)
    assert "a: accuracy 80.00 %, against 50.00 % (95 % interval 77.52 % to 82.48 %" in found.sentence
    assert found.sentence.endswith("; higher in 3 of 3 seeds).")


def test_pairs_of_which_one_is_missing_are_left_out():
    runs = [*runs_of([(0.8, 0.7), (0.81, 0.7)]), runs_of([(0, 0), (0, 0), (0.1, 0)])[4]]
    study = study_of(Claim("a", "b"))
    assert judge(study, study.claims[0], runs).found.count == 2
    assert judge(study, study.claims[0], []).answer == ""


def test_runs_that_diverged_have_no_value_and_are_named():
    study = study_of(Claim("a", "b"))
    runs = runs_of([(0.8, 0.7), (0.81, 0.7), (0.79, 0.7)])
    lost = [dataclasses.replace(each, measures={}, diverged="the loss became nan") for each in runs]
    one = [*runs[:-2], lost[-2], runs[-1]]
    found = judge(study, study.claims[0], one)
    assert found.found.count == 2
    assert found.sentence.endswith(" a diverged with 1 of 3 seeds.")
    assert "80.50 % ± 0.7 (1 diverged)" in as_text(report(study, one))
    every = [*lost[::2], *runs[1::2]]
    found = judge(study, study.claims[0], every)
    assert (found.answer, found.sentence, found.found) == ("", "a diverged.", None)
    text = as_text(report(study, every), plain=True)
    assert "variant: a; accuracy: diverged; seconds: 1.0" in text
    assert "variant: a; seed: 0; accuracy: diverged; " in text
    assert [each.name for each in charts(study, every)[0].series] == ["b"]


def test_a_contradiction_comes_first():
    study = study_of(Claim("a", "b", notes="no"))
    yes = judge(study, study.claims[0], runs_of([(0.8, 0.7), (0.81, 0.7), (0.79, 0.7)]))
    assert summary(yes).startswith("This contradicts the lecture notes. Yes. a against b: accuracy 10.0 points higher")
    unsure = judge(study, study.claims[0], runs_of([(0.8, 0.7), (0.7, 0.8)]))
    assert not unsure.contradicts
    agreed = dataclasses.replace(yes, claim=Claim("a", "b", notes="yes"))
    assert not agreed.contradicts


@pytest.mark.slow
def test_along_a_quantity():
    runs = run_study(LINES, processes=1, progress="none")
    late, early = (judge(LINES, claim, runs) for claim in LINES.claims)
    assert (late.answer, early.answer) == ("yes", "no")
    assert (round(late.found.mean, 6), round(early.found.mean, 6)) == (0.2, -0.2)
    assert late.crossed.at == pytest.approx(2)
    assert "The lines cross at n = 2: beyond it, rising is better (the same in each seed)" in late.sentence
    nowhere = judge(LINES, Claim("rising", "falling", at=7), runs)
    assert (nowhere.answer, nowhere.sentence) == ("", "It hasn't been run with n = 7.")
    # The lines of one seed don't cross: those of the others may do so by chance.
    other = dataclasses.replace(runs[-1], measures={"accuracy": {"1": 0.1, "2": 0.1, "3": 0.1}})
    assert judge(LINES, LINES.claims[0], [*runs[:-1], other]).crossed is None
    points = run_study(POINTS, processes=1, progress="none")
    found = judge(POINTS, POINTS.claims[0], points)
    assert (found.answer, round(found.found.mean, 6), found.crossed) == ("yes", 0.15, None)


def test_a_report_says_everything_in_text_sentences_and_html():
    runs = run_study(COINS, processes=1, progress="none")
    page = report(COINS, runs)
    text = as_text(page, width=100)
    assert text.splitlines()[2].startswith("This contradicts the lecture notes. Yes. b against a: accuracy 25.0 points")
    assert "Is a above chance?" in text
    assert "51.00 % ± 1.0" in text
    assert "Every run" in text
    assert "Every run" not in as_text(report(COINS, runs, all_runs=False))
    assert "variant: b; seed: 2; accuracy: 77.00 %" in as_text(page, plain=True)
    assert "25.0 to 25.0" in as_html(page)


def test_a_report_of_no_runs_says_how_to_run():
    assert "regard lab coins" in as_text(report(COINS, []))


def test_the_conditions_say_what_another_repetition_would_vary():
    runs, study = runs_of([(0.8, 0.7), (0.8, 0.7)]), study_of(Claim("a", "b"))
    assert conditions(study, runs).endswith("what other seeds would give, not what other data would give.")
    counted = dataclasses.replace(study, repeated="sentences")
    assert conditions(counted, runs).endswith("Intervals tell what other sentences would give.")


def test_charts_have_the_means():
    lines = charts(LINES, run_study(LINES, processes=1, progress="none"))
    assert [(each.name, [round(point.y, 6) for point in each.points]) for each in lines[0].series] == [
        ("rising", [0.4, 0.5, 0.6]),
        ("falling", [0.6, 0.5, 0.4]),
    ]
    assert [each.name for each in lines[1].series] == ["rising", "falling"]
    assert [round(each.points[0].y, 6) for each in lines[1].series] == [0.5, 0.5]


def test_a_chart_keeps_the_capitals_of_a_measure():
    study = study_of(Claim("a", "b"), Measure("AP", share=True))
    assert [each.title for each in charts(study, runs_of([(0.5, 0.25)] * 2, "AP"))] == ["AP, time and memory"]


def test_an_interval_of_a_fraction_stays_within_its_range():
    (chart,) = charts(study_of(Claim("a", "b")), runs_of([(0.99, 0.01), (0.5, 0.4)]))
    for each in chart.series:
        assert 0 <= each.points[0].low <= each.points[0].high <= 1
