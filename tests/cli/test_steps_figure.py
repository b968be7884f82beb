"""`regard steps --figure`: the file, the numbers in it, and what is refused before anything is written."""

import json
from xml.etree import ElementTree

import pytest


def words_of(path) -> list[str]:
    return [each.text for each in ElementTree.parse(path).getroot().iter("{http://www.w3.org/2000/svg}text")]


def test_the_figure_of_own_matrices_beside_the_terminal(regard, tmp_path):
    (tmp_path / "mine.json").write_text(json.dumps({"x": [[1, 0], [0, 7]], "items": ["saw", "a"]}))
    found = regard("steps", "mine.json", "--causal", "--query", 2, "--figure", "mine.svg")
    assert (found.code, found.err) == (0, "Wrote mine.svg.\n")
    assert "output" in found.out
    words = words_of(tmp_path / "mine.svg")
    assert {"saw", "a", "−∞", "/ √2", "34.65"} <= {*words}
    assert regard("steps", "000", "--figure", "mine.svg", "--format", "json").code == 0
    assert "Wq" in words_of(tmp_path / "mine.svg")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("000", "--figure", "steps.txt"), "must end in .png, .svg or .pdf"),
        (("000", "--figure", "steps.svg", "--exercise"), "`--exercise` asks for the numbers, which `--figure` would"),
        (("many.json", "--figure", "steps.svg"), "up to 12 rows and columns, but many.json has larger ones"),
        (("000", "--figure", "notes.svg"), "a figure that regard wrote, but notes.svg is neither"),
    ],
)
def test_what_is_refused_writes_and_prints_nothing(regard, tmp_path, words, says):
    (tmp_path / "many.json").write_text(json.dumps({"x": [[1]] * 13}))
    (tmp_path / "notes.svg").write_text("mine")
    found = regard("steps", *words)
    assert (found.code, found.out) == (2, "")
    assert says in " ".join(found.err.split())
    assert {each.name for each in tmp_path.iterdir()} == {"many.json", "notes.svg"}
    assert (tmp_path / "notes.svg").read_text() == "mine"


def test_a_record_is_refused(regard, tmp_path, model):
    assert regard("see", model, "I saw a saw .", "--save", "seen.safetensors", "--no-map").code == 0
    found = regard("steps", "seen.safetensors", "--figure", "steps.svg")
    assert found.code == 2
    assert "seen.safetensors is a record" in " ".join(found.err.split())
    assert not (tmp_path / "steps.svg").exists()
