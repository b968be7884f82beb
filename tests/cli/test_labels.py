"""`--labels` from end to end: train, evaluate, look over, and what is said where it can't be."""

import json

import pytest
from small_recipe import RECIPE

from regard import load
from regard.cli.main import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labels")
    rows = [f"{('bad', 'good', 'fine')[place % 3]} number {place},{place % 3}" for place in range(60)]
    (folder / "reviews.csv").write_text("\n".join(["text,label", *rows]) + "\n", "utf-8")
    (folder / "named.csv").write_text("text,label\nbad 1,negative\ngood 2,positive\n", "utf-8")
    (folder / "ones.csv").write_text("text,label\ngood 1,1\n", "utf-8")
    (folder / "recipe.json").write_text(json.dumps(RECIPE), "utf-8")
    assert main(start(folder, "out", "--labels", "0=negative,1=positive,2=positive")) == 0
    return folder


def start(folder, out, *more):
    words = ["--data", folder / "reviews.csv", "--out", folder / out, "--recipe", folder / "recipe.json", *more]
    return ["train", "classifier", *map(str, words), "--device", "cpu", "--progress", "none"]


def test_a_model_has_the_new_labels_and_two_may_become_one(folder):
    model = load(folder / "out")
    assert model.target.names == ("negative", "positive")
    assert model.about["data"]["renamed"] == {"0": "negative", "1": "positive", "2": "positive"}


def test_labels_that_are_not_named_stay(folder):
    assert main(start(folder, "some", "--labels", "0=negative")) == 0
    assert load(folder / "some").target.names == ("1", "2", "negative")


def test_evaluate_remembers_them_and_says_so(folder, capsys):
    words = ["evaluate", str(folder / "out"), "--format", "json", "--data"]
    assert main([*words, str(folder / "reviews.csv")]) == 0
    said = capsys.readouterr()
    assert "Note: labels are renamed as in the data that out was trained on" in said.err
    assert "--labels 0=negative,1=positive,2=positive" in said.err
    # Of a file that has them under the model's names, nothing is renamed.
    assert main([*words, str(folder / "named.csv")]) == 0
    said = capsys.readouterr()
    assert "renamed" not in said.err + said.out
    assert json.loads(said.out)["examples"] == 2
    # What is there is enough.
    assert main([*words, str(folder / "ones.csv")]) == 0
    assert json.loads(capsys.readouterr().out)["renamed"] == {"1": "positive"}
    assert main([*words, str(folder / "ones.csv"), "--labels", "1=negative"]) == 0
    assert json.loads(capsys.readouterr().out)["renamed"] == {"1": "negative"}


def test_data_check_counts_them(folder, capsys):
    words = ["data", "check", str(folder / "reviews.csv"), "--format", "json", "--labels", "1=good,2=good"]
    assert main(words) == 0
    (split,) = json.loads(capsys.readouterr().out)["splits"]
    assert split["labels"] == {"good": 40, "0": 20}


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ("3=x", "`--labels` must have labels of {} on the left, which are 0, 1, 2, but has '3'."),
        ("0", "`--labels` must be OLD=NEW for each label, such as 0=negative,1=positive, but is '0'."),
    ],
)
def test_what_can_not_be_renamed_is_said(folder, labels, said, capsys):
    data = folder / "reviews.csv"
    for words in (
        start(folder, "never", "--labels", labels),
        ["evaluate", str(folder / "out"), "--data", str(data), "--labels", labels],
        ["data", "check", str(data), "--labels", labels],
    ):
        assert main(words) == 2
        assert capsys.readouterr().err.endswith(f"regard: {said.format(data)}\n")
    assert not (folder / "never").exists()


def test_numbers_and_texts_have_no_labels(folder, tmp_path, capsys):
    (tmp_path / "numbers.csv").write_text("text,number\ngood,1\n", "utf-8")
    words = ["train", "classifier", "--data", str(tmp_path / "numbers.csv"), "--out", str(tmp_path / "out")]
    assert main([*words, "--labels", "1=good"]) == 2
    assert "whose targets aren't labels but numbers, texts or questions" in capsys.readouterr().err
    for task in ("seq2seq", "synthesis"):
        assert main(["train", task, "--data", "x", "--out", "y", "--labels", "a=b"]) == 2
        assert "there is no option --labels" in capsys.readouterr().err
