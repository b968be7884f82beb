"""The table of default trainings, from runs made up here."""

import pytest


@pytest.fixture(scope="module")
def tables(docs_module):
    return docs_module("default_tables")


def run(name: str, size: str, score: float, baseline: float, **more):
    return {
        "set": name,
        "size": size,
        "judged": "test",
        "called": "after",
        "train": 90,
        "dev": 10,
        "measure": "accuracy",
        "score": score,
        "baseline": baseline,
        "cpu_seconds": 7.4,
        "conditions": "an abacus; Python 3, torch 2; 2026-11-28.",
        **more,
    }


def test_a_row_is_a_mean_over_seeds(tables):
    lines = [run("sst2", "100", 0.5, 0.45), run("sst2", "100", 0.7, 0.65)]
    lines += [run("sst2", "100", 0.1, 0.9, called="before"), run("sst2", "100", 0.1, 0.9, judged="dev")]
    said = tables.table(lines).splitlines()
    assert said[2] == "| texts: sentences of film reviews | 100 | accuracy | 60.0 % | 55.0 % | +5.0 | 2 | 7 |"
    assert said[4].startswith("In the mean of the 1 rows that are shares the default is 5.0 points better. In none")
    assert said[4].endswith("an abacus; Python 3, torch 2. Every run: benchmarks/results/defaults.jsonl.")


def test_errors_fall_and_other_measures_are_in_percent(tables):
    lines = [
        run("letters", "100", 0.3, 0.2, measure="error"),
        run("esol", "100", 1.0, 1.5, measure="RMSE"),
        run("multi30k", "100", 12.0, 10.0, measure="BLEU"),
    ]
    said = tables.table(lines)
    assert "| error | 30.0 % | 20.0 % | -10.0 | 1 |" in said
    assert "| RMSE | 1.000 | 1.500 | +50.0 % | 1 |" in said
    assert "| BLEU | 12.0 | 10.0 | +20.0 % | 1 |" in said
    assert (
        "In 1 of them it is more than half a point worse, at worst by 10.0 points: pairs: letters to phonemes (100)."
        in said
    )


def test_a_set_without_a_baseline_is_in_no_mean(tables):
    lines = [run("digits", "100", 0.06, None, measure="character error rate"), run("sst2", "100", 0.6, 0.5)]
    said = tables.table(lines)
    assert "| recordings: strings of digits | 100 | character error rate | 6.0 % | none |  | 1 | 7 |" in said
    assert "In the mean of the 1 rows that are shares the default is 10.0 points better." in said


def test_without_runs_the_command_is_told(tables):
    assert "--final" in tables.table([])
    assert tables.table([run("multi30k", "100", 1.0, 0.0, measure="BLEU")]).count("BLEU | 1.0 | 0.0 |  |") == 1


def test_the_recorded_runs_have_a_row(tables):
    assert "| words: English parts of speech | 100 | accuracy |" in tables.table()


def test_small_comes_before_large(tables):
    lines = [
        run("vowels", "all", 1.0, 1.0, train=240, dev=30),
        run("sst2", "1000", 0.6, 0.6),
        run("vowels", "100", 0.5, 0.5),
    ]
    sizes = [line.split(" | ")[1] for line in tables.table(lines).splitlines()[2:5]]
    assert sizes == ["100", "100", "270"]
