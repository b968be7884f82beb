"""The tables of tasks, from runs made up here: only those of today's recipe count, whatever their order."""

import dataclasses
import json
from pathlib import Path

import pytest

from regard.tasks import NAMED_RECIPES, load

ROOT = Path(__file__).parent.parent.parent
ROWS = {"speaker": {"title": "who", "shares": "all", "percent": True, "floor": 98, "goal": 99.7, "networks": True}}


@pytest.fixture(scope="module")
def tables(docs_module):
    return docs_module("task_tables")


def run(seed: int, test: float, **changes):
    recipe = {**NAMED_RECIPES["speaker"].recipe.to_json(), "seed": seed, **changes}
    return {
        "row": "speaker",
        "network": recipe["network"],
        "data": "fsdd",
        "label": "speaker",
        "recipe": recipe,
        "seed": seed,
        "measure": "accuracy",
        "test": test,
        "parameters": 1234,
        "seconds": 90.0,
        "threads": 1,
        "machine": "an abacus",
        "versions": {"regard": "1"},
    }


def test_scores(tables):
    lines = [run(1, 0.98), run(0, 0.96), run(2, 0.5, width=8), run(0, 0.1, network="connected")]
    # The same recipe on another label was another row.
    lines.append({**run(2, 0.2), "label": "digit"})
    said = tables.scores(ROWS, lines).splitlines()
    assert said[2].startswith(
        "| who | fsdd, accuracy | 98 % | 99.7 % | 97.00 ± 1.00 % (2 seeds) | all | 4 | 1,234 | 1.5 | `regard"
    )
    assert said[4].startswith("an abacus; 1 thread; regard 1. Test scores")
    assert "--" not in said[2].replace("--data", "").replace("--label", "")
    quick = [{**run(0, 0.96), "devices": 2, "matmul": "medium"}]
    assert "--label speaker --devices 2 --matmul medium` |" in tables.scores(ROWS, quick)


def test_what_has_not_read_test_is_no_score_and_no_reading(tables):
    lines = [run(0, 0.96), {**run(1, 0.0), "test": None}, {**run(0, 0.0), "test": None}]
    assert "| 96.00 % | all | 1 |" in tables.scores(ROWS, lines)
    assert "| not measured yet | all |  |" in tables.scores(ROWS, lines[1:])
    assert "Readings" not in tables.scores(ROWS, lines[1:])
    # Lines may have been lost; what they say of those before counts.
    assert "| 96.00 % | all | 5 |" in tables.scores(ROWS, [{**run(0, 0.96), "test_reads": 5}, *lines[1:]])
    assert "Readings of test: how many runs of the row" in tables.scores(ROWS, lines)


def test_speech(tables):
    row, recipe = "spoken-digit", NAMED_RECIPES["spoken-digit"].recipe.to_json()
    rows = {row: {"title": "digit"}}
    changed = {"row": row, "recipe": recipe, "right": {"as recorded": 0.99, "x 5": 0.9}}
    unseen = [{"row": row, "recipe": recipe, "speaker": f"s{each}", "unseen": 0.7 + each / 20} for each in range(6)]
    old = {**changed, "recipe": {**recipe, "width": 8}, "right": {"as recorded": 0.1}}
    said = tables.speech(rows, [old, changed, *unseen]).splitlines()
    assert said[0] == "| task | as recorded | x 5 | unseen speaker, mean of six | the lowest of six |"
    assert said[2:] == ["| digit | 99.0 % | 90.0 % | 82.5 % | 70.0 % |"]
    # Of five the mean would say too much.
    assert tables.speech(rows, [changed, *unseen[1:]]).splitlines()[2] == "| digit | 99.0 % | 90.0 % |  |  |"


def test_baselines(tables):
    lines = [run(0, 0.96), run(1, 0.98), run(0, 0.5, network="connected"), run(0, 0.1, network="window", width=8)]
    said = tables.baselines(ROWS, lines)
    assert "| fully connected, each vector alone | 50.00 % |" in said
    assert "| attention | 96.00 % |" in said
    assert "| fully connected, a window of vectors | not measured yet |" in said


def test_another_network_as_the_floor_and_another_figure(tables):
    rows = {"speaker": {"title": "who", "shares": "all", "figure": "r2", "floor": "connected", "goal": 0.1}}
    lines = [
        {**run(0, 9.0, network=network), "more": {"r2": r2}}
        for network, r2 in ((NAMED_RECIPES["speaker"].recipe.network, 0.75), ("connected", 0.5))
    ]
    said = tables.scores(rows, lines).splitlines()
    assert said[2].startswith(
        "| who | fsdd, R2 | fully connected, each vector alone: 0.500 | 0.600 | 0.750 | all | 2 | 1,234 |"
    )
    assert "alone: not measured yet | 0.1 above | 0.750 | all | 1 |" in tables.scores(rows, lines[:1])


def floor(test, **changes):
    named = NAMED_RECIPES["speaker"]
    line = {
        "data": named.data,
        "label": named.label,
        "units": "words",
        "trained_on": "fsdd",
        "C": 2.0,
        "features": 1234,
    }
    return {**line, "test": test, "test_reads": 1, "machine": "an abacus", "versions": {"scikit-learn": "1"}, **changes}


def test_a_linear_model_that_does_better_is_told(tables):
    lines = [run(0, 0.96), run(1, 0.98)]
    said = tables.linear(ROWS, lines, [floor(0.5), floor(0.9), floor(None), floor(0.99, label="digit")])
    assert said.splitlines()[2] == "| who | words | fsdd | 2 | 1,234 | 90.00 % | 97.00 ± 1.00 % (2 seeds) | +7.00 |"
    assert "does better" not in said
    assert "an abacus; scikit-learn 1. Test scores; of the linear models test was read once." in said
    said = tables.linear(ROWS, lines, [floor(0.98, test_reads=2)])
    assert "| 98.00 % | 97.00 ± 1.00 % (2 seeds) | -1.00 |" in said
    assert "\nThe linear model does better than the recipe: who.\n" in said
    assert "read at most 2 times" in said
    assert len(tables.linear(ROWS, lines, []).splitlines()) == 2


def test_several_members_beside_one(tables, monkeypatch):
    named = NAMED_RECIPES["speaker"]
    four = dataclasses.replace(named, recipe=dataclasses.replace(named.recipe, members=4))
    monkeypatch.setattr(tables, "NAMED_RECIPES", {"speaker": named, "speakers": four})
    rows = {**ROWS, "speakers": {**ROWS["speaker"], "title": "who, by four"}}
    lines = [run(0, 0.5), run(1, 0.7), {**run(0, 0.9, members=4), "seconds": 300.0}, run(0, 0.2, members=3)]
    said = tables.members(rows, lines)
    assert "| who | fsdd | 60.00 ± 10.00 % (2 seeds) | 1.5 | 4 | 90.00 % | 5.0 |" in said
    assert "| who | fsdd | 60.00 ± 10.00 % (2 seeds) | 1.5 | 3 | 20.00 % | 1.5 |" in said
    # Two rows that differ in the number alone are told once; what has runs of one kind alone, not at all.
    assert said.count("fsdd") == 2
    assert "fsdd" not in tables.members(rows, lines[:2]) + tables.members(rows, lines[2:])


def test_repetition(tables):
    def figures(trigrams, bleu):
        return {"trigrams": trigrams, "bigrams": 0.25, "bleu": bleu, "length": 0.9}

    known = {"sources": 50, "before": figures(0.06, 30.0), "after": figures(0.02, 31.25)}
    known["references"] = {"trigrams": 0.01, "bigrams": 0.05}
    seconds = {"ratio": 1.1, "low": 1.04, "high": 1.2, "sources": 20}
    model = {"splits": {"dev": known, "test": {**known, "sources": 40}}, "seconds": seconds}
    said = tables.repetition({"models": {"toy": model}, "conditions": "an abacus."}).splitlines()
    shares = "6.0 → 2.0 % (1.0 %) | 25.0 → 25.0 % (5.0 %)"
    assert said[2] == f"| `toy` | dev | 50 | {shares} | 30.00 → 31.25 | 0.90 → 0.90 |"
    assert said[3].startswith("| `toy` | test | 40 |")
    assert "`toy` takes 1.10 (1.04 to 1.20) of the time" in said[-1]
    assert "an abacus." in said[-1]


def test_the_table_of_repetition_is_of_the_bundled_settings():
    """Who changes the settings of search of a bundled model measures it again."""
    held = json.loads((ROOT / "benchmarks" / "results" / "repetition.json").read_text(encoding="utf-8"))
    for name, model in held["models"].items():
        task = NAMED_RECIPES[name].recipe.task
        assert model["after"] == {setting: getattr(task, setting) for setting in model["after"]}
        assert model["splits"]["test"]["after"]["bleu"] == pytest.approx(
            load(name).about["scores"]["test"]["score"], abs=0.05
        )


def test_nothing_measured(tables):
    assert tables.scores(ROWS, []).splitlines()[-1].count("not measured yet") == 1
    assert "thread" not in tables.scores(ROWS, []) + tables.baselines(ROWS, [])


def test_every_row_has_a_recipe():
    rows = json.loads((ROOT / "benchmarks" / "tasks.json").read_text(encoding="utf-8"))
    assert {*rows} <= {*NAMED_RECIPES}
    for row in rows.values():
        must, may = {"title", "shares", "floor", "goal"}, {"percent", "digits", "networks", "figure", "model"}
        assert must <= row.keys() <= must | may
