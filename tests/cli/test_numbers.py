"""The commands around a number for each source: the RMSE, and the order beside it."""

import json

import pytest
from small_recipe import RECIPE

from regard.cli.main import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of texts with numbers, and a model that was trained on it a little."""
    folder = tmp_path_factory.mktemp("numbers")
    rows = [f"{'very ' * (place % 4)}good {place},{place % 4}" for place in range(60)]
    (folder / "stars.csv").write_text("\n".join(["text,number", *rows]) + "\n", "utf-8")
    (folder / "same.csv").write_text("text,number\ngood 1,2\ngood 2,2\nvery good 3,2\n", "utf-8")
    (folder / "recipe.json").write_text(json.dumps(RECIPE), "utf-8")
    words = ["--data", folder / "stars.csv", "--out", folder / "out", "--recipe", folder / "recipe.json"]
    assert main(["train", "classifier", *map(str, words), "--device", "cpu", "--progress", "none"]) == 0
    return folder


def test_training_and_the_card_say_the_rank_correlation(folder, capsys):
    words = ["--data", folder / "stars.csv", "--out", folder / "again", "--recipe", folder / "recipe.json"]
    assert main(["train", "classifier", *map(str, words), "--device", "cpu", "--progress", "none"]) == 0
    said = capsys.readouterr().out
    assert "Spearman" in said.splitlines()[2]
    card = (folder / "again" / "model" / "README.md").read_text("utf-8")
    saved = json.loads((folder / "again" / "model" / "model.json").read_text("utf-8"))
    dev = saved["about"]["scores"]["dev"]
    assert f"On dev: Spearman's rank correlation is {dev['spearman']:.4f} (n = {dev['examples']})." in card


def test_evaluate_says_it_with_how_many(folder, capsys):
    words = ["evaluate", str(folder / "out"), "--data", str(folder / "stars.csv")]
    assert main([*words, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert -1 <= found["spearman"] <= 1
    assert main(words) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"Spearman's rank correlation is {found['spearman']:.4f} (n = {found['examples']})." in said


def test_what_is_read_whole_is_not_called_test(folder, capsys):
    for data, options, named, split in [
        # The file that was trained on is split again; another is not.
        ("stars.csv", [], "stars.csv, test", "test"),
        ("stars.csv", ["--split", "dev"], "stars.csv, dev", "dev"),
        ("same.csv", [], None, "all"),
        ("same.csv", ["--split", "dev"], None, "all"),
    ]:
        words = ["evaluate", str(folder / "out"), "--data", str(folder / data), *options]
        assert main([*words, "--format", "json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["split"] == split
        assert main([*words, "--width", "300"]) == 0
        title = capsys.readouterr().out.splitlines()[0]
        assert title.endswith(named or f"out on all 3 examples of {folder / data}")
    assert found["examples"] == 3


def test_of_numbers_that_are_all_the_same_it_is_undefined(folder, capsys):
    words = ["evaluate", str(folder / "out"), "--data", str(folder / "same.csv")]
    assert main([*words, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["spearman"] is None
    assert main(words) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Spearman's rank correlation is undefined (n = 3)" in said
    assert "nan" not in said
