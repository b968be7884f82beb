"""`regard replace`: an RNN and attention in its place, and what is said of a command that can't be run."""

import json
import re

import pytest

from cli.comparison_data import listing, write_all
from cli.small_recipe import RECIPE
from regard.cli import comparing
from regard.lab import read_runs
from regard.lab.candidates import swapped_recipe, with_kept_fields
from regard.modules import NETWORKS
from regard.tasks import Recipe

SMALL = ("--seeds", 2, "--processes", 1, "--progress", "none")


@pytest.fixture
def regard(regard, tmp_path):
    """Run a command in a folder with data: code, standard output, standard error."""
    write_all(tmp_path)
    return regard


def test_attention_in_the_place_of_an_rnn(regard, tmp_path):
    found = regard("replace", "rnn", "attention", "recipe.json", "--data", "data", "--out", "new", *SMALL)
    assert found.code == 0, found.err
    runs = read_runs(tmp_path / "new" / "runs.jsonl")
    assert {(each.variant, each.seed) for each in runs} == {
        (name, seed) for name in ("default", "network=attention") for seed in (0, 1)
    }
    networks = {
        each.variant: json.loads(
            (tmp_path / "new" / "runs" / each.setting["keep"] / str(each.seed) / "run.json").read_bytes()
        )["recipe"]["network"]
        for each in runs
    }
    # The recipe's own network is neither of them.
    assert networks == {"default": "bidirectional", "network=attention": "attention"}
    assert "Comparison of 2 recipes on data" in found.out
    assert Recipe.read(tmp_path / "new" / "recipe.json").network in ("bidirectional", "attention")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rnn", "rnn", "recipe.json"), "`NEW` must be another part than `OLD`, but rnn and rnn are the same."),
        (("rnn", "bidirectional", "recipe.json"), "but rnn and bidirectional are the same."),
        (("rnn", "dot", "recipe.json"), "`NEW` must be a network, as rnn is, but dot is one of score. Take one of "),
        (("rnn", "atention", "recipe.json"), "`NEW` must be one of "),
        (("rnn", "atention", "recipe.json"), "but is 'atention'. Did you mean 'attention'?"),
        (("rmn", "attention", "recipe.json"), "but is 'rmn'. Did you mean 'rnn'?"),
        (("rnn", "attention", "nosuch"), "`RECIPE` must be a JSON file or one of "),
        (("rnn", "attention", "nosuch.json"), "`RECIPE` must be a JSON file, but nosuch.json can't be read"),
        (("rnn", "attention", "wrong.json"), "has no 'widht'. Did you mean 'width'?"),
        (("rnn", "attention", "recipe.json", "--data", "dta"), "`--data` must be one of "),
        (("rnn", "attention", "recipe.json", "--out", "held"), "`--out` must be a new or empty folder"),
        (("rnn", "attention", "recipe.json", "--out", "file"), "`--out` must be a new or empty folder"),
        (("rnn", "attention", "recipe.json", "--epochs", 0), "`--epochs` must be 1 or more, but is 0."),
        (("rnn", "attention"), "`RECIPE` is missing"),
    ],
)
def test_what_cannot_be_replaced(regard, tmp_path, words, said):
    before = listing(tmp_path)
    found = regard("replace", "--data", "data", "--out", "new", *SMALL, *words)
    assert (found.code, found.out) == (2, "")
    assert said in found.err
    assert "Traceback" not in found.err
    assert [line[:7] for line in found.err.splitlines() if not re.match(r"\d+ texts -> ", line)] == ["regard:"]
    assert listing(tmp_path) == before
    assert not (tmp_path / "new").exists()


def test_an_unknown_part_is_told_the_names_that_fit(regard):
    def said(*words):
        return regard("replace", *words, "recipe.json", "--data", "data", "--out", "new").err

    # Only what stands in the place of an RNN.
    networks = ", ".join(["rnn", "cnn", *NETWORKS])
    assert said("rnn", "atention").startswith(f"regard: `NEW` must be one of {networks}, but is ")
    assert said("rmn", "attention").startswith(f"regard: `OLD` must be one of {networks}, but is ")
    assert "dot" not in said("rnn", "atention")
    # Neither is known: of dozens of names the nearest, or all if none is near.
    near, far = said("rmn", "atention"), said("qqqqqq", "atention")
    assert re.fullmatch(
        r"regard: `OLD` must be one of \d\d names, but is 'rmn'\. Did you mean 'rnn'\? See regard replace --help\.\n",
        near,
    )
    assert all(f" {name}," in far for name in ("bidirectional", "scaled_dot", "softmax", "rotary"))


def test_names_are_checked_before_the_data_are_read(regard, monkeypatch):
    monkeypatch.setattr(comparing, "find_data", lambda *given: pytest.fail("the data were read"))
    for more in ((), ("--data", "data")):
        found = regard("replace", "rnn", "atention", "recipe.json", "--out", "new", *more)
        assert (found.code, found.out) == (2, "")
        assert "but is 'atention'. Did you mean 'attention'?" in found.err
        assert found.err.count("\n") == 1


@pytest.mark.parametrize(
    ("network", "old", "new", "changes", "bases"),
    [
        # The recipe's own mask comes with attention.
        ("attention", "rnn", "attention", {"network": ["attention"], "mask": ["window"]}, "none"),
        ("attention", "attention", "rnn", {"network": ["bidirectional"]}, "window"),
        ("attention", "rnn", "cnn", {"network": ["convolution"]}, "none"),
        ("attention", "scaled_dot", "additive", {"score": ["additive"]}, "window"),
    ],
)
def test_a_mask_is_of_attention_alone(network, old, new, changes, bases):
    recipe = Recipe.from_json({**RECIPE, "network": network, "mask": "window"})
    base, field, value = swapped_recipe(recipe, old, new)
    vary, notes = with_kept_fields(recipe, base, field, value)
    assert (vary, base.mask) == (changes, bases)
    sentence = "With network={}, mask is none instead of window, because {} has no attention."
    without = [name for name in ("bidirectional", "convolution") if name in (base.network, value)]
    assert notes == [sentence.format(name, name) for name in without]


@pytest.mark.slow
def test_the_report_says_what_a_part_cannot_have(regard, tmp_path):
    recipe = json.loads((tmp_path / "recipe.json").read_text())
    (tmp_path / "mask.json").write_text(json.dumps({**recipe, "mask": "window"}))
    found = regard("replace", "rnn", "attention", "mask.json", "--data", "data", "--out", "new", *SMALL)
    assert found.code == 0, found.err
    said = "With network=bidirectional, mask is none instead of window, because bidirectional has no attention."
    assert " ".join(found.out.split()).count(said) == 1
    assert said in (tmp_path / "new" / "report.html").read_text(encoding="utf-8")
    runs = read_runs(tmp_path / "new" / "runs.jsonl")
    assert {each.variant for each in runs} == {"default", "network=attention, mask=window"}
    # The other way round, it is the candidate that has no mask.
    found = regard(
        "compare", "data", "--vary", "network=attention,bidirectional", "--recipe", "mask.json", "--out", "2", *SMALL
    )
    assert found.code == 0, found.err
    assert " ".join(found.out.split()).count(said) == 1


def test_a_recipe_of_ones_own_has_no_data(regard, tmp_path):
    found = regard("replace", "rnn", "attention", "recipe.json", "--out", "new", *SMALL)
    assert (found.code, found.out) == (2, "")
    assert "`--data` must name the data, since recipe.json is no recipe that comes with regard." in found.err


def test_swaps():
    def swapped(old, new, **more):
        return swapped_recipe(Recipe.from_json({**RECIPE, **more}), old, new)

    recipe, field, value = swapped("rnn", "cnn")
    assert (recipe.network, field, value) == ("bidirectional", "network", "convolution")
    recipe, field, value = swapped("scaled_dot", "additive")
    assert (recipe.score, field, value) == ("scaled_dot", "score", "additive")
    # A name of two fields means the one that the other name is of, too.
    assert swapped("attention", "recurrent")[1:] == ("network", "recurrent")
    assert swapped("rotary", "recurrent")[1:] == ("position", "recurrent")
    assert swapped("gru", "lstm", network="bidirectional")[1:] == ("cell", "lstm")
    text = {"task": {"kind": "seq2seq"}, "input": {"kind": "words"}}
    recipe, field, value = swapped("rnn", "attention", **text)
    assert (recipe.task.architecture, field, value) == ("recurrent", "task.architecture", "transformer")
    assert swapped("attentive", "recurrent", **text)[1:] == ("task.architecture", "recurrent")
