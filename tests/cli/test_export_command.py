"""`regard export`: the files, what is said of them, and what is refused before anything is loaded."""

import json
from pathlib import Path

import pytest

from regard.cli.main import main
from regard.tasks import Recipe, train
from regard.tasks.exporting import export as exporting

PAIRS = [("a good film", "good"), ("a bad film", "bad"), ("good", "good"), ("bad", "bad")]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a small model and a table, and the model's file, which is made once."""
    for library in ("onnxruntime", "onnxscript"):
        pytest.importorskip(library)
    folder = tmp_path_factory.mktemp("export")
    given = {"minimum_count": 1, "affix_ids": 97, "ngram_ids": 31, "shape_ids": 31}
    recipe = Recipe(
        task="classifier", input={"features": given}, network="connected", position="none", width=8, hidden=8, layers=1
    )
    train(PAIRS, PAIRS, recipe=recipe, progress="none", device="cpu").save(folder / "model")
    lines = ["text,label", *(f"{text},{label}" for text, label in PAIRS)]
    (folder / "some.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    kept = []
    whole = exporting.onnx_program

    def once(*given, **more):
        if not kept:
            kept.append(whole(*given, **more))
        return kept[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exporting, "onnx_program", once)
        yield folder


def command(place, name, *more):
    return main(["export", str(place / "model"), "--onnx", str(place / name), *more])


@pytest.mark.slow
def test_text(place, capsys):
    assert command(place, "one.onnx", "--width", "200") == 0
    said = capsys.readouterr().out
    assert "model, exported" in said
    for name in ("one.onnx", "one.json", "one.py"):
        assert name in said
        assert (place / name).is_file()
    assert "differ from the model's by" in said
    # Usage is printed as it is kept, so that it can be copied.
    usage = json.loads((place / "one.json").read_bytes())["usage"]
    for program in usage.values():
        assert all(line in said for line in program.splitlines())
    assert "eight" not in said


def test_a_file_is_overwritten_by_force_alone(place, capsys):
    assert command(place, "two.onnx") == 0
    capsys.readouterr()
    assert command(place, "two.onnx") == 2
    said = capsys.readouterr().err
    assert "`--onnx` must be a new file, but " in said
    assert said.endswith("two.onnx is there already. Give another name, or overwrite it by `--force`.\n")
    assert command(place, "two.onnx", "--force") == 0


def test_json_with_eight_bits_and_their_cost(place, capsys):
    assert command(place, "three.onnx", "--int8", "--data", str(place / "some.csv"), "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["int8"]["measure"] == "accuracy"
    assert 0 <= found["int8"]["score"] <= 1
    assert found["int8"]["bytes"] == found["file"]["bytes"] == (place / "three.onnx").stat().st_size
    assert found["int8"]["bytes"] < found["int8"]["bytes_before"]
    assert "encoder" not in found
    assert command(place, "four.onnx", "--int8", "--data", str(place / "some.csv"), "--width", "200") == 0
    said = capsys.readouterr().out
    assert "On dev: accuracy " in said
    assert " with weights of 32 bits, " in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--onnx", "pos"], "`--onnx` must be a file that ends in .onnx, but is 'pos'."),
        (["--onnx", "a.onnx", "--data", "sst2"], "`--data` measures what `--int8` costs, but that isn't given. Leave"),
        (["--onnx", "a.onnx", "--label", "upos"], "`--label` is about `--data`, but none is given. Leave it out."),
        (["--onnx", "/dev/null/a.onnx"], "`--onnx` must be a file to write, but of /dev/null/a.onnx /dev/null is no"),
        ([], "`--onnx` is missing: the file to write, which ends in .onnx."),
    ],
)
def test_what_is_refused(words, sentence, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["export", "english-pos", *words]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"regard: {sentence}")
    assert said.count("\n") == 1
    assert not [*Path().iterdir()]


def test_a_model_that_writes_step_by_step_is_refused(capsys, tmp_path):
    assert main(["export", "synthesis", "--onnx", str(tmp_path / "a.onnx")]) == 2
    assert capsys.readouterr().err.startswith("regard: synthesis can't be exported: it makes a sound step by step")
    assert not [*tmp_path.iterdir()]
