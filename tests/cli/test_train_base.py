"""`regard train --base`: from a table and a folder of `save_pretrained` to a model that predicts and is seen."""

import csv
import json
from pathlib import Path

import pytest

from regard.cli.main import main
from tasks.bases import make_base

transformers = pytest.importorskip("transformers", reason="comes with the extra huggingface")
pytest.importorskip("tokenizers", reason="comes with the extra text")
TEXTS = [f"{word} film {number}" for word in ("good", "bad") for number in range(20)]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return make_base(tmp_path_factory.mktemp("bases") / "bert", "bert")


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Path("films.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *((text, text.split()[0]) for text in TEXTS)])
    return "films.csv"


@pytest.mark.slow
def test_a_base_is_tuned_predicts_and_is_seen(base, table, capsys):
    command = ["train", "classifier", "--data", table, "--out", "mine", "--tune", "layers", "--progress", "none"]
    assert main([*command, "--base", str(base)]) == 0
    said = capsys.readouterr()
    assert "input: pretrained, as --base says" in said.err
    assert "The baseline, tf-idf" in " ".join(said.out.split())
    recipe = json.loads(Path("mine/model/model.json").read_text(encoding="utf-8"))["recipe"]
    assert (recipe["input"]["tuned"], recipe["input"]["base"]) == ("layers", str(base))
    assert main(["predict", "mine", "good film 3", "--format", "json"]) == 0
    label = json.loads(capsys.readouterr().out)["label"]
    there = transformers.pipeline("text-classification", model="mine/model", device="cpu")
    assert there("good film 3")[0]["label"] == label
    assert main(["see", "mine", "good film", "--effects", "--format", "json"]) == 0
    assert "[CLS]" in capsys.readouterr().out
    other = ["train", "classifier", "--data", table, "--out", "mine", "--resume", "--base", "other"]
    assert main(other) != 0
    assert "`--base` must be" in capsys.readouterr().err
    # A finished run isn't trained further.
    assert main(["train", "classifier", "--data", table, "--out", "mine", "--resume", "--progress", "none"]) == 0
    assert len(Path("mine/log.jsonl").read_text(encoding="utf-8").splitlines()) == 40


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--base", "all-MiniLM-L6-v2"], "`--base` must be a local folder that save_pretrained wrote"),
        (["--tune", "head"], "`--tune` says what of a base is trained, but there is no `--base`"),
        (["--base", "BASE", "--recipe", "english-sentiment"], "`--base` must be left out beside `--recipe`"),
        (["--base", "BASE", "--vectors", "v.txt"], "`--base` and `--vectors` are two ways to begin"),
        (["--base", "BASE", "--input", "words"], "`--input` must be 'pretrained' for base, but is 'words'"),
        (["--base", "BASE", "--ensemble", "2"], "`members` must be 1 where `head` is 'fitted'"),
        (["--base", "BASE", "--tune", "all", "--ensemble", "2"], "`members` must be 1 for a base"),
    ],
)
def test_options_that_do_not_fit_are_refused(base, table, capsys, options, message):
    options = [str(base) if each == "BASE" else each for each in options]
    assert main(["train", "classifier", "--data", table, "--out", "mine", *options]) != 0
    assert message in " ".join(capsys.readouterr().err.split())
    assert not Path("mine").exists()
