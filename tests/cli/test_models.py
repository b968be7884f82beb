import json

import pytest

from regard.cli.main import main


@pytest.fixture
def bundled(tmp_path, monkeypatch):
    """One bundled model, with a card and a score."""
    folder = tmp_path / "toy-pos"
    folder.mkdir()
    about = {
        "title": "Toy parts of speech",
        "data": {"name": "ud-toy", "licence": "CC BY-SA 4.0"},
        "scores": {"test": {"accuracy": 0.9512, "interval": [0.94, 0.96]}},
    }
    description = {"answer": {"kind": "label", "names": ["A", "B"]}, "parameters": 1234, "about": about}
    (folder / "model.json").write_text(json.dumps(description), "utf-8")
    (folder / "README.md").write_text("# Toy\n\nA card with \x1b[31m in it.\n", "utf-8")
    (folder / "model.safetensors").write_bytes(b"x" * 1_500_000)
    monkeypatch.setattr("regard.tasks.bundled", lambda: {"toy-pos": folder})
    monkeypatch.setenv("COLUMNS", "120")
    return folder


def test_the_list_says_what_each_is(bundled, capsys):
    assert main(["models"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["model", "title", "data", "licence", "test", "score", "size"]
    assert lines[1].split("  ")[0] == "toy-pos"
    for part in ("Toy parts of speech", "ud-toy", "CC BY-SA 4.0", "95.12 % accuracy", "1.5 MB"):
        assert part in lines[1]


@pytest.mark.parametrize("width", ["32", "40", "80"])
def test_the_list_fits_narrow_terminals_and_loses_nothing(bundled, capsys, width):
    assert main(["models", "--width", width]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= int(width)
    for part in ("toy-pos", "Toy parts of speech", "ud-toy", "CC BY-SA 4.0", "95.12 % accuracy", "1.5 MB"):
        assert part in " ".join(out.split())


def test_the_list_as_json(bundled, capsys):
    assert main(["models", "--format", "json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert (entry["name"], entry["measure"], entry["score"]) == ("toy-pos", "accuracy", 0.9512)
    assert entry["interval"] == [0.94, 0.96]
    assert entry["parameters"] == 1234
    assert entry["bytes"] > 1_500_000
    assert main(["models", "toy-pos", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == entry


def test_the_card_is_shown_and_cannot_act_on_the_terminal(bundled, capsys):
    assert main(["models", "toy-pos"]) == 0
    assert capsys.readouterr().out == "# Toy\n\nA card with \\x1b[31m in it.\n"


@pytest.mark.parametrize("words", [("--plain",), ("--width", "40"), ("--no-color",)])
def test_what_shapes_the_list_does_not_shape_a_card(bundled, capsys, words):
    assert main(["models", "toy-pos", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("` formats the list, but a card is printed as it is. Leave it out.\n")


def test_an_unknown_name_is_told_the_nearest(bundled, capsys):
    assert main(["models", "toy-pso"]) == 2
    assert "Did you mean 'toy-pos'?" in capsys.readouterr().err


def test_a_broken_model_is_named(bundled, capsys):
    (bundled / "model.json").write_text("{")
    assert main(["models"]) == 1
    assert f"{bundled / 'model.json'} isn't JSON" in capsys.readouterr().err
