"""`regard see --compare`: two models, two inputs and two saved records, as text, as JSON and as a page."""

import json

import numpy as np
import pytest

from regard.cli.answering.path_titles import path_titles
from regard.cli.main import main
from regard.inspection import load_record

SENTENCE = "I saw a saw ."


@pytest.fixture
def see(tmp_path, capsys, monkeypatch):
    """Run `regard see` in an empty folder: code, standard output, standard error."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)

    def run(*words):
        code = main(["see", *map(str, words)])
        return code, *capsys.readouterr()

    return run


def test_two_inputs_of_one_model(see):
    code, out, err = see("english-pos", SENTENCE, "--compare-input", "I saw a big saw .")
    assert (code, err) == (0, "")
    parts = ["A: I saw a saw .", "B: I saw a big saw .", 'For "saw (4)", both give NOUN', "word", "head  pattern in A"]
    assert [out.index(part) for part in parts] == sorted(out.index(part) for part in parts)
    (line,) = [line for line in out.splitlines() if line.startswith("big ")]
    assert "no partner" in line
    assert "1 word of B has no partner, so the difference leaves it out." in out


def test_two_models_on_one_input_as_json(see, model):
    code, out, _ = see("english-pos", SENTENCE, "--compare", model, "--query", 4, "--layer", 1, "--format", "json")
    assert code == 0
    found = json.loads(out)
    assert [each["title"] for each in found["compared"]] == ["english-pos", "toy"]
    assert [each["answer"]["position"] for each in found["compared"]] == [4, 4]
    assert [each["shown"] for each in found["compared"]] == ["Layer 1 of 2, average of heads 1-4"] * 2
    for source, side in (("english-pos", 0), (model, 1)):
        assert see(source, SENTENCE, "--save", f"{side}.safetensors")[0] == 0
    rows = [load_record(f"{side}.safetensors").layers[0].weights()[:, 3].double().mean(0).numpy() for side in (0, 1)]
    for key, item in enumerate(found["items"]):
        assert item["texts"] == [SENTENCE.split()[key]] * 2
        assert item["positions"] == [key + 1] * 2
        assert np.allclose(item["weights"], [rows[0][key], rows[1][key]], atol=1e-6)
        assert item["difference"] == pytest.approx(rows[1][key] - rows[0][key], abs=1e-5)
        assert len(item["hidden"]) == 2
    assert len(found["heads"]) == 8
    assert found["left_out"] == []


def test_a_model_without_some_heads(see):
    code, out, err = see("english-pos", SENTENCE, "--without", "1.1, 2.4", "--format", "json", "--html", "without.html")
    assert (code, err) == (0, "Wrote without.html.\n")
    found = json.loads(out)
    titles = [each["title"] for each in found["compared"]]
    assert titles == ["english-pos", "english-pos without 1.1, 2.4"]
    # The weights of the removed head and of its layer stay; those of the next layer move.
    moved = {(each["layer"], each["head"]): each["difference"] for each in found["heads"]}
    assert [moved[1, head] for head in (1, 2, 3, 4)] == [0.0] * 4
    assert min(moved[2, head] for head in (1, 2, 3, 4)) > 0.001
    with open("without.html", encoding="utf-8") as file:
        assert '"against": {' in file.read()


def test_effects_have_a_noise_floor_where_one_is_asked_for(see):
    code, out, _ = see("english-pos", SENTENCE, "--noise", 19, "--format", "json", "--save", "noise.safetensors")
    assert code == 0
    hidden = [each["hidden"] for each in json.loads(out)["items"]]
    assert [each["above_noise"] for each in hidden] == [False, False, True, False, False]
    assert all(each["above_noise"] == (abs(each["change"]) > each["noise_floor"]) for each in hidden)
    outcomes = load_record("noise.safetensors").outcomes
    assert outcomes.hidden[2][3].noise_floor == pytest.approx(hidden[2]["noise_floor"], rel=1e-5)
    _, plain, _ = see("english-pos", SENTENCE, "--format", "json")
    assert "noise" not in plain


def test_two_saved_records_and_the_page_of_both(see, model):
    see("english-pos", SENTENCE, "--save", "before.safetensors")
    see(model, SENTENCE, "--save", "after.safetensors")
    code, out, err = see("before.safetensors", "--compare", "after.safetensors", "--html", "both.html")
    assert (code, err) == (0, "Wrote both.html.\n")
    assert "A: before.safetensors" in out
    assert "B: after.safetensors" in out
    with open("both.html", encoding="utf-8") as file:
        text = file.read()
    assert '"against": {' in text
    assert text.startswith("<!doctype html>")
    # A record and a model that reads the same input.
    code, out, _ = see("before.safetensors", "--compare", "english-pos", "--compare-input", SENTENCE)
    assert code == 0
    assert "The weights are the same." in out
    # Nothing can be measured again.
    code, _, err = see("before.safetensors", "--compare", "after.safetensors", "--effects")
    assert code != 0
    assert "`--effects` must be left out: before.safetensors is a record" in err


def test_of_other_kinds_what_can_be_compared_is(see):
    code, out, _ = see("english-pos", SENTENCE, "--compare", "german-english", "--compare-input", "ein Mann .")
    assert code == 0
    assert "A: english-pos: I saw a saw ." in out
    assert "B: german-english: ein Mann ." in out
    assert "so no item of one has a partner in the other" in out.replace("\n", " ")
    assert "A has 2 layers and B 3." in out
    assert "pattern in A" in out


WRONG = {
    "a record has its input": (
        ("english-pos", SENTENCE, "--compare", "a.safetensors", "--compare-input", "x"),
        "`--compare-input` must be left out: a.safetensors is a record, which holds its own input.",
    ),
    "a model needs an input": (
        ("a.safetensors", "--compare", "english-pos"),
        "`--compare-input` must be given: english-pos is a model",
    ),
    "an input needs a model": (
        ("a.safetensors", "--compare-input", "x"),
        "`--compare-input` needs a model that reads it, but a.safetensors is a record.",
    ),
    "nothing is saved": (
        ("english-pos", SENTENCE, "--compare-input", "x", "--save", "b.safetensors"),
        "`--save` must be left out of a comparison.",
    ),
    "no attribution": (
        ("english-pos", SENTENCE, "--compare-input", "x", "--attribution", "rollout"),
        "`--attribution` must be left out of a comparison.",
    ),
    "no figure": (
        ("english-pos", SENTENCE, "--compare-input", "x", "--figure", "saw.svg"),
        "`--figure` must be left out of a comparison.",
    ),
    "heads of no record": (("a.safetensors", "--without", "1.1"), "`--without` needs a model, which runs without the"),
    "one comparison": (
        ("english-pos", SENTENCE, "--without", "1.1", "--compare-input", "x"),
        "`--without` compares a model with itself.",
    ),
    "no heads": (("english-pos", SENTENCE, "--without", "first"), "`--without` must be heads as LAYER.HEAD"),
    "no head 0": (("english-pos", SENTENCE, "--without", "1.0"), "`--without` must be heads as LAYER.HEAD"),
    "no such head": (
        ("english-pos", SENTENCE, "--without", "1.5"),
        "Head 5 of layer 1 can't be removed: layer 1 has 4 heads.",
    ),
    "no such layer": (
        ("english-pos", SENTENCE, "--without", "3.1"),
        "Head 1 of layer 3 can't be removed: there are 2 layers.",
    ),
    "nothing but floors from a model": (("a.safetensors", "--noise", "19"), "`--noise` must be left out"),
    "no such model": (("english-pos", SENTENCE, "--compare", "no-such"), "no-such"),
    "no such prediction": (
        ("english-pos", SENTENCE, "--compare-input", "x", "--query", "9"),
        "`--query` must be from 1 to 5, but is 9.",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_contradicts_is_refused_in_a_sentence(see, name):
    words, said = WRONG[name]
    code, out, err = see(*words)
    assert code != 0
    assert out == ""
    assert said in err
    assert "Traceback" not in err


def test_paths_are_named_by_their_last_parts(see, tmp_path):
    for folder in ("small", "large"):
        (tmp_path / folder).mkdir()
        see("english-pos", SENTENCE, "--no-effects", "--save", f"{folder}/saw.safetensors")
    see("english-pos", SENTENCE, "--no-effects", "--save", "small/other.safetensors")

    def titles(one, other):
        out = see(one, "--compare", other, "--format", "json")[1]
        return [each["title"] for each in json.loads(out)["compared"]]

    small, large, other = (str(tmp_path / each) for each in ("small/saw", "large/saw", "small/other"))
    assert titles(f"{small}.safetensors", f"{other}.safetensors") == ["saw.safetensors", "other.safetensors"]
    assert titles(f"{small}.safetensors", f"{large}.safetensors") == ["small/saw.safetensors", "large/saw.safetensors"]


@pytest.mark.parametrize(
    ("names", "titles"),
    [
        (("/a/b/m.py:build", "/a/c/m.py:build"), ("b/m.py:build", "c/m.py:build")),
        (("/a/m.py", "/b/a/m.py"), ("/a/m.py", "b/a/m.py")),
        (("/a/m.py", "/a/m.py"), ("/a/m.py", "/a/m.py")),
        (("/m.py", ""), ("m.py", "")),
        # Names of models aren't paths, unless there is such a file.
        (("google/bert", "other/bert"), ("google/bert", "other/bert")),
        (("/a/m.py:build", "m.py:build without 1.1"), ("m.py:build", "m.py:build without 1.1")),
    ],
)
def test_titles_of_paths(names, titles):
    assert path_titles(*names) == titles
