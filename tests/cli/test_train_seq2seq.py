"""The commands around a seq2seq model: train on one's own table, evaluate, predict, look; and errors of bad input."""

import csv
import json

import pytest

from regard import load
from regard.cli.main import main

ROWS = [("ab", "ba"), ("ba", "ab"), ("abc", "cba"), ("cab", "bac")]
RECIPE = {
    "task": {"kind": "seq2seq", "architecture": "attentive", "vocabulary": "characters", "size": 16, "spare": 2},
    "input": {"kind": "texts", "vocabulary": "characters", "size": 16, "piece_dropout": 0.0},
    "width": 24,
    "heads": 1,
    "layers": 1,
    "dropout": 0.0,
    "epochs": 40,
    "patience": 40,
    "batch_items": 8,
    "learning_rate": 0.01,
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with tables for every split, a recipe, and what training on them left."""
    folder = tmp_path_factory.mktemp("writer")
    (folder / "data").mkdir()
    for split in ("train", "dev", "test"):
        with (folder / "data" / f"{split}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("text", "target"), *ROWS])
    (folder / "recipe.json").write_text(json.dumps(RECIPE), encoding="utf-8")
    assert main(start(folder)) == 0
    return folder


def start(folder, *more):
    words = ["train", "seq2seq", "--data", folder / "data", "--out", folder / "out"]
    words += ["--recipe", folder / "recipe.json", "--device", "cpu", "--progress", "none"]
    return [str(word) for word in (*words, *more)]


@pytest.mark.slow
def test_training_saves_a_judged_model(trained):
    model = load(trained / "out")
    assert [written.text for written in model.write([source for source, _ in ROWS])] == [text for _, text in ROWS]
    dev = model.about["scores"]["dev"]
    assert (dev["measure"], dev["examples"], dev["more"].keys()) == ("BLEU", 4, {"chrF", "signature"})
    card = (trained / "out" / "model" / "README.md").read_text(encoding="utf-8")
    for text in (
        "# Seq2seq of data",
        "A seq2seq model: it writes a text",
        "| dev | BLEU |",
        "chrF of dev: 100",
        "model.write(",
    ):
        assert text in card


def test_evaluate(trained, capsys):
    assert main(["evaluate", str(trained / "out"), "--data", str(trained / "data")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The BLEU on 4 examples is" in said
    assert "ChrF: 100.0000." in said
    assert "Signature: nrefs:1|" in said


def test_columns_turned_round(trained, tmp_path, capsys):
    words = ["evaluate", str(trained / "out"), "--data", str(trained / "data"), "--format", "json"]
    turned = ["--column", "text=target", "--column", "target=text"]
    assert main([*words, *turned]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["columns"] == {"text": "target", "target": "text"}
    assert found["examples"] == 4
    # A model that copies would be learned without a word.
    for given in (words, [*start(trained), "--out", str(tmp_path / "new")]):
        assert main([*given, *turned[:2]]) == 1
        assert "one column must be called label, number, target or sound, but the only one left is called text." in (
            capsys.readouterr().err
        )


def test_evaluate_names_the_line_of_what_is_empty_and_leaves_it_out_where_asked(trained, tmp_path, capsys):
    with (tmp_path / "own.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "target"), *ROWS, ("", "ba")])
    command = ["evaluate", str(trained / "out"), "--data", str(tmp_path / "own.csv")]
    assert main(command) == 1
    assert "own.csv, line 6: the column `text` is empty." in capsys.readouterr().err
    assert main([*command, "--skip-broken", str(tmp_path / "broken.jsonl")]) == 0
    said, told = (" ".join(each.split()) for each in capsys.readouterr())
    assert "The BLEU on 4 examples is" in said
    assert "ChrF: 100.0000." in said
    assert "1 of 5 lines is broken and was skipped" in told


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        ("text", ["ba", ""]),
        ("csv", ["source,text,score,ended", "ab,ba,", ",,,"]),
        ("json", ['{"source": "ab", "text": "ba", "score": ', '{"source": "", "text": null}']),
    ],
)
def test_predict(trained, capsys, form, lines):
    assert main(["predict", str(trained / "out"), "ab", "", "--format", form]) == 0
    given = capsys.readouterr().out.splitlines()
    assert len(given) == len(lines)
    assert all(line.startswith(wanted) for line, wanted in zip(given, lines, strict=True))


def test_where_each_piece_looked(trained, capsys):
    assert main(["predict", str(trained / "out"), "cab", "--map", "--top", "1", "--width", "80"]) == 0
    said = capsys.readouterr().out
    assert "bac" in said
    assert "4 (end)" in said
    assert "Each row attends to the columns (1 c, 2 a, 3 b)." in said
    assert main(["predict", str(trained / "out"), "cab", "", "--top", "1", "--format", "json"]) == 0
    first, nothing = map(json.loads, capsys.readouterr().out.splitlines())
    assert [item["text"] for item in first["items"]] == ["b", "a", "c", "(end)"]
    assert (first["text"], nothing["text"], nothing["items"]) == ("bac", None, [])


def test_a_source_longer_than_any_of_training_is_told_beside_its_answer(trained, capsys):
    assert main(["predict", str(trained / "out"), "abcabcabc"]) == 0
    told = capsys.readouterr()
    assert told.out
    assert told.err.startswith("regard: a source has 9 pieces, but none that ")
    assert told.err.count("\n") == 1


def test_short_names_take_a_writer(trained, capsys):
    assert main(["translate", "--model", str(trained / "out"), "ab"]) == 0
    assert capsys.readouterr().out == "ba\n"
    assert main(["classify", "--model", str(trained / "out"), "ab"]) == 2
    assert "`--model` must be a classifier, but" in capsys.readouterr().err


def test_a_model_that_does_not_come_along_is_told(capsys, monkeypatch):
    monkeypatch.setattr("regard.tasks.bundled", dict)
    assert main(["transcribe", "number.wav"]) == 2
    assert "the model spoken-strings doesn't come with this version" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ["--data", "multi31k"],
            "`--data` must be one of multi30k, tatoeba-zh-en, cmudict, fsdd-strings, the path of an existing file or "
            "folder, but is 'multi31k'. Did you mean 'multi30k'?",
        ),
        (["--data", "sst2"], "to be for a seq2seq, but sst2 has one label. Take regard train classifier."),
        (["--data", "multi30k", "--label", "de-eng"], "Did you mean 'de-en'?"),
        (["--recipe", "english-pos"], "must be a seq2seq's, but is a tagger's. Leave it out for the default one."),
        (
            ["--recipe", "spoken-strings"],
            "`--recipe` must read words, texts, molecules, static or pretrained, which {data} holds, but reads speech. "
            "Leave it out",
        ),
    ],
)
def test_what_can_not_be_trained(trained, tmp_path, capsys, change, message):
    assert main(start(trained, "--out", str(tmp_path / "new"), *change)) == 2
    said = capsys.readouterr().err
    assert message.replace("{data}", str(trained / "data")) in said
    assert "Traceback" not in said
    assert not (tmp_path / "new").exists()
