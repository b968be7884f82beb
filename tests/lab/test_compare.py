"""Comparisons: the best recipe wins, nothing is run twice, and test is read once."""

import dataclasses
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import regard.lab.compare as module
from lab.sample_grid import RECIPE, TEST, VARY, sentences
from regard.errors import ArgumentError, DataError, DivergedError, RegardError
from regard.lab.compare import compare
from regard.lab.results import read_runs
from regard.page import as_text
from regard.tasks import Recipe, Tagger, experiment, load
from regard.tasks.training.lock import LOCK, locked

TESTS = Path(__file__).parent.parent
TWO = {"recipe": RECIPE, "seeds": 2, "processes": 1, "progress": "none"}
SHORT = {**TWO, "recipe": dataclasses.replace(RECIPE, epochs=1)}


def tried(folder):
    """Each run in the file of results, as often as it is there."""
    return Counter((each.variant, each.seed, each.setting["epochs"]) for each in read_runs(folder / "runs.jsonl"))


def held(folder):
    """The content of each file of a comparison but the models and the runs."""
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file() and each.name != "report.html"}


@pytest.fixture
def reads(monkeypatch):
    """How often models were evaluated on test."""
    found = []
    evaluate = Tagger.evaluate

    def counting(self, examples, *more, **options):
        examples = list(examples)
        if examples == TEST:
            found.append(self.recipe.network)
        return evaluate(self, examples, *more, **options)

    monkeypatch.setattr(Tagger, "evaluate", counting)
    return found


@pytest.fixture
def quick(ended, monkeypatch):
    """Models that were trained before stand for all others; returns the recipes, in the order of the calls."""
    called = []
    run = {each.variant: each for each in read_runs(ended.folder.parent / "runs.jsonl")}
    trained = {
        network: ended.folder.parent / "runs" / run[name].setting["keep"] / "0"
        for network, name in (("connected", "default"), ("attention", "network=attention"))
    }

    def train(examples, dev, *, recipe, out=None, **options):
        called.append(recipe)
        model = load(trained[recipe.network])
        if out is not None:
            shutil.copytree(trained[recipe.network], out, dirs_exist_ok=True)
        return model

    monkeypatch.setattr(experiment, "train", train)
    return called


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """A comparison that ran to its end."""
    folder = tmp_path_factory.mktemp("compared") / "out"
    return compare(sentences(3), sentences(), VARY, out=folder, test=TEST, **TWO)


def test_the_winner_is_the_one_that_can_solve_the_task(ended):
    assert ended.winner == "network=attention"
    runs = read_runs(ended.folder.parent / "runs.jsonl")
    best = {each.seed: each.measures["accuracy"] for each in runs if each.variant == ended.winner}
    worst = {each.seed: each.measures["accuracy"] for each in runs if each.variant == "default"}
    # Whatever the word itself is, the other one is a or b half of the time.
    assert all(each <= 0.625 for each in worst.values())
    assert all(each >= 0.75 for each in best.values())
    assert set(ended.test) == {"network=attention", "default"}
    said = as_text(ended.page)
    mean = 100 * statistics.fmean(best.values())
    assert f"The best on dev is network=attention: accuracy {mean:.2f} %." in said.replace("\n", " ")
    assert "On test, read once: accuracy " in said


def test_the_simple_baseline_has_a_row_and_its_fault_a_sentence(ended, tmp_path, quick, monkeypatch):
    said, state = as_text(ended.page), json.loads((ended.folder.parent / "compare.json").read_text(encoding="utf-8"))
    baseline = state["baseline"]
    assert baseline["scores"].keys() == {"dev", "test"}
    share = f"{100 * baseline['scores']['dev']['score']:.2f} %"
    assert re.search(rf"the baseline +{re.escape(share)}", said)
    assert f"The baseline, {baseline['name']}, trained on the same" in " ".join(said.split())

    def broken(*_, **__):
        raise ZeroDivisionError("by nought")

    monkeypatch.setattr(module, "fit_baseline", broken)
    found = compare(sentences(3), sentences(), VARY, out=tmp_path / "out", **TWO)
    said = " ".join(as_text(found.page).split())
    assert "No baseline stands beside the recipes: ZeroDivisionError: by nought" in said
    assert (tmp_path / "out" / "model" / "model.json").exists()


@pytest.mark.slow
def test_the_default_wins_if_nothing_is_better(tmp_path):
    given = {**TWO, "recipe": dataclasses.replace(RECIPE, network="attention")}
    done = compare(sentences(3), sentences(), {"network": ["connected"]}, out=tmp_path / "out", test=TEST, **given)
    assert (done.winner, set(done.test)) == ("default", {"default"})
    assert done.recipe == given["recipe"]
    assert "No other recipe is better than the default." in " ".join(as_text(done.page).split())
    assert Recipe.read(tmp_path / "out" / "recipe.json") == given["recipe"]


def test_no_example_may_fall_into_test(tmp_path, quick, ended):
    done = compare(sentences(3), sentences(), VARY, out=tmp_path / "out", test=[], **TWO)
    assert (done.winner, done.test) == (ended.winner, {})
    assert Recipe.read(tmp_path / "out" / "recipe.json") == ended.recipe


def test_what_the_folder_holds(ended):
    folder = ended.folder.parent
    recipe = Recipe.read(folder / "recipe.json")
    assert recipe == ended.recipe == dataclasses.replace(RECIPE, network="attention")
    assert {each.name for each in folder.iterdir()} == {
        "compare.json",
        "model",
        "recipe.json",
        "report.html",
        "runs",
        "runs.jsonl",
    }
    assert "<h2" in (folder / "report.html").read_text(encoding="utf-8")
    # The model of the seed that is best on dev.
    scores = {
        each.seed: each.measures["accuracy"] for each in read_runs(folder / "runs.jsonl") if each.variant != "default"
    }
    model = load(ended.folder)
    assert model.evaluate(sentences()).score == max(scores.values())
    assert model.recipe.network == "attention"


def test_the_models_score_as_reported(ended):
    folder = ended.folder.parent
    seen = set()
    for run in read_runs(folder / "runs.jsonl"):
        model = load(folder / "runs" / run.setting["keep"] / str(run.seed))
        assert model.recipe.network == ("attention" if run.variant == ended.winner else "connected")
        assert model.recipe.seed == run.seed
        assert model.evaluate(sentences()).score == run.measures["accuracy"]
        assert model.parameters == run.measures["parameters"]
        assert model.evaluate(TEST).score == ended.test[run.variant][run.seed]
        seen.add((run.variant, run.seed))
    assert len(seen) == 4


def test_the_same_call_again_runs_nothing_and_reads_no_test(ended, reads, monkeypatch):
    folder = ended.folder.parent
    before, runs = held(folder), tried(folder)
    monkeypatch.setattr(experiment, "train", None)
    again = compare(sentences(3), sentences(), VARY, out=folder, test=TEST, **TWO)
    assert (again.winner, again.test, again.recipe) == (ended.winner, ended.test, ended.recipe)
    assert held(folder) == before
    assert tried(folder) == runs
    assert set(runs.values()) == {1}
    assert reads == []


def test_test_is_read_once_by_the_winner_and_the_default(tmp_path, quick, reads):
    read = []

    def lazily():
        read.append(tried(tmp_path / "out"))
        yield from TEST

    compare(sentences(), sentences(), VARY, out=tmp_path / "out", **SHORT)
    assert reads == []
    # Asked for later, the decision stands.
    done = compare(sentences(), sentences(), VARY, out=tmp_path / "out", test=lazily(), **SHORT)
    winner = done.recipe.network
    assert Counter(reads) == (Counter({winner: 2, "connected": 2}) if winner != "connected" else Counter(connected=2))
    # The examples themselves were read when all was decided.
    assert [sum(each.values()) for each in read] == [4]
    compare(sentences(), sentences(), VARY, out=tmp_path / "out", test=TEST, **SHORT)
    assert len(reads) == sum(len(each) for each in done.test.values())


@pytest.mark.parametrize(
    "fails_at", [pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(4, marks=pytest.mark.slow)]
)
def test_a_run_that_failed_is_run_again_and_no_other(tmp_path, quick, monkeypatch, fails_at):
    """The first call of `train` measures the time, the others are runs."""
    train, calls = experiment.train, []

    def failing(*examples, **options):
        calls.append(options["recipe"])
        if len(calls) == fails_at:
            raise RegardError("the disk is full")
        return train(*examples, **options)

    monkeypatch.setattr(experiment, "train", failing)
    with pytest.raises(RegardError, match="the disk is full"):
        compare(sentences(), sentences(), VARY, out=tmp_path / "out", test=TEST, **SHORT)
    assert not (tmp_path / "out" / "recipe.json").exists()
    assert not (tmp_path / "out" / "model").exists()
    assert sum(tried(tmp_path / "out").values()) == max(0, fails_at - 2)
    done = compare(sentences(), sentences(), VARY, out=tmp_path / "out", test=TEST, **SHORT)
    assert len(calls) == 6
    whole = compare(sentences(), sentences(), VARY, out=tmp_path / "whole", test=TEST, **SHORT)
    assert tried(tmp_path / "out") == tried(tmp_path / "whole")
    assert (done.winner, done.test) == (whole.winner, whole.test)
    own, other = (json.loads((tmp_path / each / "compare.json").read_bytes()) for each in ("out", "whole"))
    assert own == other


def test_one_process_at_a_time_compares_in_a_folder(tmp_path, quick, capfd):
    with (
        locked(tmp_path / "out"),
        pytest.raises(ArgumentError, match=f"nobody else trains, but process {os.getpid()} on "),
    ):
        compare(sentences(), sentences(), VARY, out=tmp_path / "out", **SHORT)
    # Of one that was killed before it began, only the lock is left.
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / LOCK).write_text('{"process": 12345, "host": "elsewhere", "since": "2026-01-02 03:04"}')
    compare(sentences(), sentences(), VARY, out=tmp_path / "out", **{**SHORT, "progress": "lines"})
    assert "Note: process 12345 on elsewhere (since 2026-01-02 03:04) trained here before" in capfd.readouterr().err
    assert not (tmp_path / "out" / LOCK).exists()


def test_it_may_stop_between_the_last_round_and_test(tmp_path, quick, monkeypatch, reads):
    loaded = module.load
    # The fixture has its own.
    monkeypatch.setattr(module, "load", lambda folder: pytest.fail("killed"))
    with pytest.raises(pytest.fail.Exception, match="killed"):
        compare(sentences(), sentences(), VARY, out=tmp_path / "out", test=TEST, **SHORT)
    assert "test" not in json.loads((tmp_path / "out" / "compare.json").read_bytes())
    runs = tried(tmp_path / "out")
    assert (len(runs), reads) == (4, [])
    monkeypatch.setattr(module, "load", loaded)
    monkeypatch.setattr(experiment, "train", None)
    done = compare(sentences(), sentences(), VARY, out=tmp_path / "out", test=TEST, **SHORT)
    assert tried(tmp_path / "out") == runs
    assert len(reads) == sum(len(each) for each in done.test.values()) > 0


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the child that is killed is made by fork")
def test_a_killed_comparison_goes_on(tmp_path, ended):
    """A child is killed in the middle of its second run: that run's folder is there, and the first is done."""
    folder = tmp_path / "out"
    script = tmp_path / "script.py"
    script.write_text(
        "import json, os, signal, sys, time\n"
        "from pathlib import Path\n"
        "from lab.sample_grid import RECIPE, TEST, VARY, sentences\n"
        "from regard.extras import require\n"
        "from regard.lab.compare import compare\n"
        "from regard.lab.results import read_runs\n"
        f"folder = Path({str(folder)!r})\n"
        "def run():\n"
        "    return compare(sentences(3), sentences(), VARY, out=folder, test=TEST, recipe=RECIPE, seeds=2,\n"
        "        processes=1, progress='none')\n"
        # Paid once, so that neither the child nor who goes on pays for it.
        "require('lightning_fabric', extra='train')\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    run()\n"
        "    os._exit(0)\n"
        "deadline = time.monotonic() + 90\n"
        "while not (folder / 'runs' / '1' / '0' / 'run.json').exists():\n"
        "    assert time.monotonic() < deadline\n"
        "    assert os.waitpid(child, os.WNOHANG) == (0, 0)\n"
        "    time.sleep(0.01)\n"
        "os.kill(child, signal.SIGKILL)\n"
        "os.waitpid(child, 0)\n"
        "kept = len(read_runs(folder / 'runs.jsonl'))\n"
        "decided = (folder / 'recipe.json').exists()\n"
        "begun = (folder / 'runs.jsonl').read_text()\n"
        "done = run()\n"
        "print(json.dumps([kept, decided, begun, done.winner, dict(done.test)]))\n"
    )
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    done = subprocess.run([sys.executable, str(script)], env=settings, check=True, timeout=180, capture_output=True)
    kept, decided, begun, *found = json.loads(done.stdout)
    assert 1 <= kept < 4
    assert not decided
    assert (folder / "runs.jsonl").read_text().startswith(begun)
    assert tried(folder) == Counter(
        {(each, seed, 8): 1 for each in ("default", "network=attention") for seed in (0, 1)}
    )
    # What a comparison that wasn't killed finds.
    assert found == [ended.winner, ended.test]


def test_rounds_leave_out_the_worst_and_keep_the_default(tmp_path, quick, monkeypatch):
    """Nine candidates: 9 for an epoch, 4 for three; the scores are made up, and the default's is the worst."""
    scores = {"default": 0.0, **{f"width={2 * each}": 0.1 * each for each in range(1, 9)}}

    def scored(self, setting, seed):
        name = f"width={setting['changes']['width']}" if setting["changes"] else "default"
        if not setting["keep"]:
            return {"accuracy": scores[name], "parameters": 1.0}
        return run(self, setting, seed)

    run = module.CandidateRun.__call__
    monkeypatch.setattr(module.CandidateRun, "__call__", scored)
    recipe = dataclasses.replace(RECIPE, epochs=3, width=32)
    vary = {"width": [2 * each for each in range(1, 9)]}
    compare(sentences(), sentences(), vary, out=tmp_path / "out", **{**TWO, "recipe": recipe})
    runs = tried(tmp_path / "out")
    assert {name for name, _, epochs in runs if epochs == 1} == set(scores)
    assert {name for name, _, epochs in runs if epochs == 3} == {"default", "width=16", "width=14", "width=12"}
    assert len(runs) == 9 + 4 * 2
    assert set(runs.values()) == {1}


@pytest.mark.slow
def test_an_error_is_better_when_it_is_lower(tmp_path, monkeypatch):
    """The measure of numbers, RMSE: a round keeps the lowest."""
    examples = [("a b", 1.0), ("b c", 2.0), ("c d", 3.0), ("d a", 4.0)]
    recipe = dataclasses.replace(RECIPE, task={"kind": "classifier"}, epochs=2, network="attention")
    run = module.CandidateRun.__call__

    def scored(self, setting, seed):
        score = float(setting["changes"].get("hidden", 99))
        if setting["keep"] and (setting["changes"], seed) == ({"hidden": 2}, 0):
            run(self, setting, seed)
        return {"RMSE": score, "parameters": 1.0}

    monkeypatch.setattr(module.CandidateRun, "__call__", scored)
    done = compare(examples, examples, {"hidden": [5, 2, 3, 7, 4]}, out=tmp_path / "out", **{**TWO, "recipe": recipe})
    last = {each.variant for each in read_runs(tmp_path / "out" / "runs.jsonl") if each.setting["keep"]}
    assert last == {"default", "hidden=2", "hidden=3", "hidden=4"}
    assert done.winner == "hidden=2"


WIDTHS = {"width": [2, 4, 6, 10]}
WHY = "the loss became nan in epoch 1, batch 1"


@pytest.fixture
def diverging(quick, monkeypatch):
    """`diverging(rule)`: the training of the recipes for which this is true diverges."""
    train, rules = experiment.train, []

    def trained(*examples, recipe, **options):
        if any(rule(recipe) for rule in rules):
            raise DivergedError(WHY, "Try a smaller `learning_rate` than 0.03.")
        return train(*examples, recipe=recipe, **options)

    monkeypatch.setattr(experiment, "train", trained)
    return rules.append


def lost(folder):
    return {each.variant for each in read_runs(folder / "runs.jsonl") if each.diverged}


def test_a_candidate_that_diverges_loses(tmp_path, quick, diverging, capsys):
    diverging(lambda recipe: recipe.width in (2, 6, 10))
    given = {**SHORT, "progress": "lines"}
    done = compare(sentences(), sentences(), WIDTHS, out=tmp_path / "out", test=TEST, **given)
    assert lost(tmp_path / "out") == {"width=2", "width=6", "width=10"}
    runs = {each.variant: each for each in read_runs(tmp_path / "out" / "runs.jsonl")}
    assert (runs["width=6"].measures, runs["width=6"].diverged) == ({}, WHY)
    assert f"width=6, seed 0: diverged, {WHY}" in capsys.readouterr().err
    # It doesn't take part in the last round, which has room for it.
    assert {name for name, seed, _ in tried(tmp_path / "out") if seed == 1} == {"default", "width=4"}
    assert done.winner in ("default", "width=4")
    first = as_text(done.page, plain=True).split("Round 1: 1 epoch", 1)[1]
    assert [line.split("; ")[1:] for line in first.splitlines() if line.startswith("candidate: ")][2:] == [
        ["dev accuracy: diverged."]
    ] * 3
    # Nothing is run again, not even what has no score.
    before, calls = tried(tmp_path / "out"), len(quick)
    again = compare(sentences(), sentences(), WIDTHS, out=tmp_path / "out", test=TEST, **SHORT)
    assert (again.winner, again.test, tried(tmp_path / "out"), len(quick)) == (done.winner, done.test, before, calls)


def test_a_candidate_that_diverges_with_one_seed_is_behind_all_others(tmp_path, diverging):
    """Its other seed solves the task, and the default never does."""
    diverging(lambda recipe: (recipe.width, recipe.seed) == (8, 1))
    given = {**SHORT, "recipe": dataclasses.replace(SHORT["recipe"], width=16)}
    vary = {"network": ["attention"], "width": [8]}
    done = compare(sentences(), sentences(), vary, out=tmp_path / "out", test=TEST, **given)
    assert done.winner == "default"
    said = " ".join(as_text(done.page).split())
    assert "(1 diverged)" in said
    assert set(done.test) == {"default"}


@pytest.mark.slow
def test_the_default_may_diverge(tmp_path, diverging, capsys):
    diverging(lambda recipe: recipe.width == 8)
    done = compare(sentences(), sentences(), WIDTHS, out=tmp_path / "out", test=TEST, **{**SHORT, "progress": "lines"})
    assert f"default diverged: {WHY}." in capsys.readouterr().err
    assert done.winner != "default"
    assert done.test["default"] == [None, None]
    assert all(isinstance(each, float) for each in done.test[done.winner])
    said = " ".join(as_text(done.page).split())
    assert re.search(r"The best on dev is width=\d+: accuracy [\d.]+ %\. default diverged\.", said)
    assert re.search(r"On test, read once: accuracy [\d.]+ %\.", said)


@pytest.mark.slow
def test_one_seed_of_the_default_may_diverge(tmp_path, diverging):
    diverging(lambda recipe: (recipe.width, recipe.seed) == (8, 1))
    recipe = dataclasses.replace(SHORT["recipe"], network="connected")
    vary = {"network": ["attention"], "width": [4]}
    done = compare(sentences(), sentences(), vary, out=tmp_path / "out", test=TEST, **{**SHORT, "recipe": recipe})
    assert done.winner == "network=attention, width=4"
    assert done.test["default"][1] is None
    # Of the one seed that both have there is no interval.
    assert "95 % interval too few seeds over 1 seed" in " ".join(as_text(done.page).split())


@pytest.mark.slow
def test_all_but_the_default_may_diverge(tmp_path, diverging):
    diverging(lambda recipe: recipe.width != 8)
    done = compare(sentences(), sentences(), WIDTHS, out=tmp_path / "out", **SHORT)
    assert done.winner == "default"
    assert "No other recipe is better than the default." in " ".join(as_text(done.page).split())


@pytest.mark.parametrize("epochs", [1, 3])
def test_all_may_diverge(tmp_path, quick, diverging, epochs):
    """At once, or only in the rounds, which last longer than the epoch that is timed."""
    diverging(lambda recipe: recipe.epochs == epochs)
    given = {**SHORT, "recipe": dataclasses.replace(SHORT["recipe"], epochs=epochs)}
    for _ in range(2):
        with pytest.raises(ArgumentError) as caught:
            compare(sentences(), sentences(), VARY, out=tmp_path / "out", **given)
        assert str(caught.value) == (
            f"`vary` must give a candidate that can be trained, but all 2 diverged; of the first, {WHY}. Give the "
            "recipe a smaller learning_rate."
        )
        if epochs == 1:
            assert not (tmp_path / "out").exists()
    assert len(quick) == (0 if epochs == 1 else 1)


def test_a_score_that_is_not_a_number_counts_as_diverged(tmp_path, quick, monkeypatch):
    evaluate = Tagger.evaluate

    def scored(self, examples, *more, **options):
        found = evaluate(self, examples, *more, **options)
        return dataclasses.replace(found, score=float("nan")) if self.recipe.network == "attention" else found

    monkeypatch.setattr(Tagger, "evaluate", scored)
    done = compare(sentences(), sentences(), VARY, out=tmp_path / "out", **SHORT)
    assert done.winner == "default"
    runs = [each.diverged for each in read_runs(tmp_path / "out" / "runs.jsonl") if each.variant != "default"]
    assert runs == ["the accuracy on dev is nan"] * 2


@pytest.mark.slow
def test_without_halving_all_run_in_full(tmp_path, quick):
    vary = {"width": [2, 4, 6, 10]}
    compare(sentences(), sentences(), vary, out=tmp_path / "out", halving=False, **SHORT)
    runs = tried(tmp_path / "out")
    assert len(runs) == 10
    assert set(runs.values()) == {1}


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"vary": {"network": ["recurrent"]}}, "vary"),
        ({"examples": sentences(2)}, "data"),
        ({"dev": TEST}, "data"),
        ({"recipe": dataclasses.replace(RECIPE, epochs=9)}, "recipe"),
        ({"seeds": 3}, "seeds"),
        ({"minutes": 5}, "minutes"),
    ],
)
def test_another_comparison_in_the_same_folder_is_refused(ended, change, differs):
    folder = ended.folder.parent
    before = held(folder)
    given = {"examples": sentences(3), "dev": sentences(), "vary": VARY, "out": folder, **TWO, **change}
    with pytest.raises(ArgumentError, match=rf"continue a comparison with the same {differs}, but"):
        compare(**given)
    assert held(folder) == before


def test_other_examples_for_test_are_refused(ended):
    with pytest.raises(ArgumentError, match="`test` must be the examples that were read"):
        compare(sentences(3), sentences(), VARY, out=ended.folder.parent, test=sentences(), **TWO)


def test_a_folder_with_something_else_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment, "train", None)
    for name in ("held", "file"):
        (tmp_path / name).mkdir() if name == "held" else (tmp_path / name).touch()
    (tmp_path / "held" / "novel.txt").touch()
    for name in ("held", "file"):
        with pytest.raises(ArgumentError, match="`out` must be a new or empty folder, or one of a comparison"):
            compare(sentences(), sentences(), VARY, out=tmp_path / name, **SHORT)
    with pytest.raises(ArgumentError, match=r"`out` must be a folder that can be made, but .* is no folder"):
        compare(sentences(), sentences(), VARY, out=tmp_path / "file" / "new", **SHORT)
    (tmp_path / "held" / "compare.json").write_text("[]")
    with pytest.raises(DataError, match="it isn't what regard compare wrote"):
        compare(sentences(), sentences(), VARY, out=tmp_path / "held", **SHORT)
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["compare.json", "file", "held", "novel.txt"]


def test_a_budget_that_is_too_small(tmp_path, quick):
    with pytest.raises(
        ArgumentError, match="`minutes` must pay for an epoch of each of the 2 candidates, about 1 minute "
    ):
        compare(sentences(), sentences(), VARY, out=tmp_path / "out", minutes=1e-6, **SHORT)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_last_round_is_fitted_to_what_is_left(tmp_path, quick, monkeypatch):
    """Runs that took longer than the first epoch promised leave less for the last round; what was fitted stays."""
    slow = module.read_runs
    monkeypatch.setattr(
        module, "read_runs", lambda path: [dataclasses.replace(each, seconds=7.0) for each in slow(path)]
    )
    recipe = dataclasses.replace(RECIPE, epochs=6)
    vary = {"width": [2, 4, 6, 10]}
    given = {**TWO, "recipe": recipe, "minutes": 2.0}
    compare(sentences(), sentences(), vary, out=tmp_path / "out", **given)
    # Five runs of two epochs took 35 seconds: 85 are left for 4 * 2 runs, whose epochs take 3.5 each.
    assert {each for _, _, each in tried(tmp_path / "out")} == {2, 3}
    monkeypatch.setattr(module, "read_runs", lambda path: pytest.fail("fitted again"))
    before = tried(tmp_path / "out")
    compare(sentences(), sentences(), vary, out=tmp_path / "out", **given)
    assert tried(tmp_path / "out") == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("seeds", each) for each in (1, 2.5, True, "3")),
        *(("processes", each) for each in (0, 1.5, True)),
        *(("minutes", each) for each in (0, -1, float("nan"), True, "30m")),
    ],
)
def test_numbers_are_checked(tmp_path, name, value):
    with pytest.raises(ArgumentError, match=f"`{name}` must be a "):
        compare(sentences(), sentences(), VARY, out=tmp_path / "out", **{**SHORT, name: value})
    assert not (tmp_path / "out").exists()


def test_a_grid_of_the_default_alone(tmp_path):
    with pytest.raises(ArgumentError, match="all candidates are the default"):
        compare(sentences(), sentences(), {"network": ["connected"]}, out=tmp_path / "out", **SHORT)
    with pytest.raises(ArgumentError, match="all candidates are the default"):
        compare(sentences(), sentences(), {}, out=tmp_path / "out", **SHORT)
    assert not (tmp_path / "out").exists()
