"""`regard compare`: from a table to a recipe, and what is said of a command that can't be run."""

import json
import re

import pytest

from cli.comparison_data import listing, write_all
from cli.small_recipe import RECIPE
from regard.cli import comparing
from regard.lab import read_runs
from regard.tasks import Recipe, load

SMALL = ("--recipe", "recipe.json", "--seeds", 2, "--processes", 1, "--progress", "none")


@pytest.fixture
def regard(regard, tmp_path):
    """Run a command in a folder with data: code, standard output, standard error."""
    write_all(tmp_path)
    return regard


def test_from_a_table_to_a_recipe(regard, tmp_path, monkeypatch):
    words = ("compare", "data", "--vary", "network=attention,connected", *SMALL, "--out", "new")
    found = regard(*words)
    assert found.code == 0, found.err
    assert "Comparison of 2 recipes on data" in found.out
    assert "The winner's recipe is new/recipe.json, its model new/model." in " ".join(found.out.split())
    assert "On test, read once: accuracy" in found.out
    recipe = Recipe.read(tmp_path / "new" / "recipe.json")
    assert recipe.network in ("attention", "connected")
    assert load(tmp_path / "new" / "model").recipe.network == recipe.network
    assert len(read_runs(tmp_path / "new" / "runs.jsonl")) == 4
    # Again, at 40 columns and as sentences: nothing is run.
    before = listing(tmp_path / "new" / "runs")
    monkeypatch.setenv("COLUMNS", "40")
    narrow, plain = regard(*words), regard(*words, "--plain")
    assert narrow.code == plain.code == 0
    assert max(map(len, narrow.out.splitlines())) <= 40
    assert not set(plain.out) & set("│─┤┬┴┼")
    assert listing(tmp_path / "new" / "runs") == before
    # Another grid there is refused.
    other = regard("compare", "data", "--vary", "layers=1,2", *SMALL, "--out", "new")
    assert other.code == 2
    assert "`--out` must be a new folder, or continue a comparison with the same vary, but new began" in other.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--vary", "scroe=dot"), "`--vary` must name fields of the recipe, but 'scroe' is none. Did you mean score?"),
        (("--vary", "score=doot"), "`--vary` can't give score=doot: score must be one of "),
        (("--vary", "score=doot"), "Did you mean 'dot'?"),
        (("--vary", "task.pooling=men"), "`--vary` can't give task.pooling=men: pooling must be one of "),
        # Not the option --width, which is the terminal's.
        (
            ("--vary", "heads=7"),
            "`--vary` can't give heads=7: width must be a multiple of heads, which is 7, but is 12.",
        ),
        (("--vary", "width=1e400"), "`--vary` can't give width=Infinity: width must be a whole number, but is inf."),
        (("--vary", "epochs=1,2"), "`--vary` must not name epochs, "),
        (("--vary", "score"), "`--vary` must be FIELD=VALUE,VALUE, such as score=dot,additive, but is 'score'."),
        (("--vary", "score=dot,"), "`--vary` must be FIELD=VALUE,VALUE"),
        (("--vary", "score=dot", "--vary", "score=additive"), "`--vary` must name each field once"),
        (("--vary", "score=scaled_dot"), "`--vary` must name a value that differs from the default recipe's"),
        (
            ("--vary", "score=dot", "--budget", "30"),
            "`--budget` must be a time such as 30m, 1h30m or 90s, but is '30'.",
        ),
        (
            ("--vary", "score=dot", "--budget", "0m"),
            "`--budget` must be a time such as 30m, 1h30m or 90s, but is '0m'.",
        ),
        (("--vary", "score=dot", "--budget", "-5m"), "`--budget` must be a time"),
        (("--vary", "score=dot", "--budget", "0.001s"), "`--budget` must pay for an epoch of each of the 2 candidates"),
        (
            ("--vary", "score=dot", "--out", "file"),
            "`--out` must be a new or empty folder, or one of a comparison, but",
        ),
        (
            ("--vary", "score=dot", "--out", "held"),
            "`--out` must be a new or empty folder, or one of a comparison, but",
        ),
        (("--vary", "score=dot", "--out", "file/new"), "`--out` must be a folder that can be made, but of file/new "),
        (("--vary", "score=dot", "--recipe", "nosuch"), "`--recipe` must be a JSON file or one of "),
        (
            ("--vary", "score=dot", "--recipe", "nosuch.json"),
            "`--recipe` must be a JSON file, but nosuch.json can't be",
        ),
        (("--vary", "score=dot", "--recipe", "wrong.json"), "has no 'widht'. Did you mean 'width'?"),
        (("--vary", "score=dot", "--recipe", "english-pos"), "`DATA` must have a label for each item of a source"),
        (("--vary", "score=dot", "--task", "taggr"), "`--task` must be one of tagger, "),
        (("--vary", "score=dot", "--seeds", 1), "`--seeds` must be 2 or more, but is 1."),
        (("--vary", "score=dot", "--processes", 0), "`--processes` must be 1 or more, but is 0."),
        (("--vary", "score=dot", "--figure", "a.jpg"), "`--figure` must end in .png, .svg or .pdf, but is 'a.jpg'."),
        (("--vary", "score=dot", "--figure", "held"), "`--figure` must end in .png, .svg or .pdf, but is 'held'."),
        ((), "`--vary` is missing"),
    ],
)
def test_what_cannot_be_compared(regard, tmp_path, words, said):
    before = listing(tmp_path)
    found = regard("compare", "data", "--out", "new", *SMALL, *words)
    assert (found.code, found.out) == (2, "")
    assert said in found.err
    only_a_sentence(found.err)
    assert listing(tmp_path) == before
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("recipe", [(), ("--recipe", "recipe.json"), ("--task", "classifier")])
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (("scroe=dot",), "`--vary` must name fields of the recipe, but 'scroe' is none. Did you mean score?"),
        (("score=doot",), "`--vary` can't give score=doot: score must be one of "),
        (("task.pooling=men",), "`--vary` can't give task.pooling=men: pooling must be one of "),
        (("epochs=1,2",), "`--vary` must not name epochs, "),
    ],
)
def test_a_grid_is_checked_before_the_data_are_read(regard, tmp_path, monkeypatch, recipe, fields, said):
    monkeypatch.setattr(comparing, "find_data", lambda *given: pytest.fail("the data were read"))
    found = regard("compare", "data", "--out", "new", *recipe, *(word for each in fields for word in ("--vary", each)))
    assert (found.code, found.out) == (2, "")
    assert said in found.err
    assert found.err.count("\n") == 1


def only_a_sentence(err):
    """Beside what was read, an error is one line."""
    assert "Traceback" not in err
    assert [line[:7] for line in err.splitlines() if not re.match(r"\d+ texts -> ", line)] == ["regard:"]


@pytest.mark.parametrize("data", ["dta", "ud-englsh-ewt"])
def test_data_that_arent_there(regard, tmp_path, data):
    before = listing(tmp_path)
    for more in ((), SMALL):
        found = regard("compare", data, "--vary", "score=dot", "--out", "new", *more)
        assert (found.code, found.out) == (2, "")
        assert "`DATA` must be one of " in found.err
        assert f"but is '{data}'." in found.err
        only_a_sentence(found.err)
        assert "multi30k" in found.err
    assert "Did you mean 'data'?" in regard("compare", "dta", "--vary", "score=dot", "--out", "new").err
    assert listing(tmp_path) == before


def test_another_task_is_suggested_of_this_command(regard):
    words = ("compare", "data", "--vary", "score=dot", "--out", "new")
    found = regard(*words, "--task", "tagger")
    assert " Take regard compare --task classifier, or regard compare --task seq2seq. Words with labels " in found.err
    found = regard(*words, "--task", "synthesis")
    assert found.err.endswith(" Take regard compare --task classifier, or regard compare --task seq2seq.\n")
    # Where the recipe says the task, another recipe.
    found = regard(*words, "--recipe", "english-pos")
    assert " Take the recipe of a classifier, or the recipe of a seq2seq. Words with labels " in found.err
    found = regard("replace", "rnn", "attention", "english-pos", "--data", "data", "--out", "new")
    assert " Take the recipe of a classifier, or the recipe of a seq2seq. Words with labels " in found.err
    assert "regard train classifier" in regard("train", "tagger", "--data", "data", "--out", "new").err


def test_a_broken_line_is_named(regard, tmp_path):
    before = listing(tmp_path)
    for more in ((), SMALL):
        found = regard("compare", "broken.csv", "--vary", "score=dot", "--out", "new", *more)
        assert (found.code, found.out) == (1, "")
        assert "broken.csv, line 3: a row must have 2 columns, as the header, but has 1." in found.err
        # An option that it doesn't have.
        assert "--skip-broken" not in found.err
        only_a_sentence(found.err)
    assert listing(tmp_path) == before


def test_a_column_that_is_not_there(regard):
    found = regard("compare", "data", "--vary", "score=dot", "--out", "new", "--column", "text=review")
    assert (found.code, found.out) == (1, "")
    assert "train.csv, line 1: it has no column 'review' for text" in found.err


@pytest.mark.slow
def test_a_candidate_that_diverges_loses(regard, tmp_path):
    grid = ("--vary", "learning_rate=1e+30", "--out", "new")
    found = regard("compare", "data", *grid, *SMALL[:-1], "lines", "--plain")
    assert found.code == 0, found.err
    name = "learning_rate=1e+30"
    lost = [(each.variant, each.measures) for each in read_runs(tmp_path / "new" / "runs.jsonl") if each.diverged]
    assert lost == [(name, {})] * 2
    assert f"{name}, seed 1: diverged, the " in found.err
    said = " ".join(found.out.split())
    assert "The best on dev is default: accuracy" in said
    assert f"variant: {name}; accuracy: diverged;" in said
    # All of them.
    (tmp_path / "recipe.json").write_text(json.dumps({**RECIPE, "learning_rate": 1e30}), encoding="utf-8")
    found = regard("compare", "data", "--vary", "learning_rate=1e+29", *SMALL, "--out", "other")
    assert (found.code, found.out) == (2, "")
    assert (
        "regard: `--vary` must give a candidate that can be trained, but all 2 diverged; of the first, the "
        in found.err
    )
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
def test_json_and_a_figure(regard, tmp_path):
    words = ("--format", "json", "--figure", "new.svg")
    found = regard("compare", "data", "--vary", "network=connected", *SMALL, "--out", "new", *words)
    assert found.code == 0, found.err
    said = json.loads(found.out)
    assert said["winner"] in ("default", "network=connected")
    assert said["recipe"]["network"] in ("attention", "connected")
    assert said["model"] == "new/model"
    assert set(said["test"]) == {said["winner"], "default"}
    assert all(len(each) == 2 for each in said["test"].values())
    assert found.err.endswith("Wrote new.svg.\n")
    assert ">network=connected</text>" in (tmp_path / "new.svg").read_text(encoding="utf-8")
