"""`--figure FILE` and `--view`: a figure beside what each command shows, or a sentence and no file."""

import sys
from xml.etree import ElementTree

import pytest

from regard.cli.arguments.options import FigureViewName
from regard.inspection import FIGURE_VIEWS

SENTENCE = "I saw a saw ."


def words_of(path) -> list[str]:
    return [each.text for each in ElementTree.parse(path).getroot().iter("{http://www.w3.org/2000/svg}text")]


def test_the_views_are_those_of_the_library():
    assert [each.value for each in FigureViewName] == list(FIGURE_VIEWS)


@pytest.mark.parametrize(("ending", "begin"), [("png", b"\x89PNG"), ("SVG", b"<?xml"), ("pdf", b"%PDF-")])
def test_the_ending_says_the_format(regard, model, tmp_path, ending, begin):
    found = regard("see", model, SENTENCE, "--figure", f"new/saw.{ending}", "--no-map")
    assert (found.code, found.err) == (0, f"Wrote new/saw.{ending}.\n")
    assert (tmp_path / "new" / f"saw.{ending}").read_bytes().startswith(begin)


@pytest.mark.parametrize("name", ["saw.jpg", "saw", "pdf"])
def test_another_ending_is_refused_before_the_work(regard, tmp_path, name):
    found = regard("see", "english-pos", SENTENCE, "--figure", name)
    assert (found.code, found.out) == (2, "")
    assert f"`--figure` must end in .png, .svg or .pdf, but is '{name}'." in found.err
    assert not list(tmp_path.iterdir())


def test_views_of_see(regard, model, tmp_path):
    for view, word in (
        ("arcs", "Layer 1 of 2, head 3 of 4"),
        ("map", "weight"),
        ("heads", "2.4"),
        ("compared", "without it"),
    ):
        found = regard(
            "see", model, SENTENCE, "--figure", "saw.svg", "--view", view, "--layer", 1, "--head", 3, "--query", 2
        )
        assert found.code == 0, found.err
        assert word in words_of(tmp_path / "saw.svg")
    # The page beside it, and JSON instead of the story.
    found = regard("see", model, SENTENCE, "--figure", "b.svg", "--html", "b.html", "--format", "json", "--view", "map")
    assert found.err == "Wrote b.html.\nWrote b.svg.\n"
    assert found.out.startswith("{")


def test_of_a_saved_record(regard, model, tmp_path):
    assert regard("see", model, SENTENCE, "--save", "saw.safetensors").code == 0
    assert regard("see", "saw.safetensors", "--figure", "saw.svg", "--view", "compared").code == 0
    assert "without it" in words_of(tmp_path / "saw.svg")


@pytest.mark.slow
def test_tag_classify_translate_and_say(regard, model, tmp_path):
    assert regard("tag", SENTENCE, "--model", model, "--figure", "a.svg", "--head", 2).code == 0
    assert "Layer 2 of 2, head 2 of 4" in words_of(tmp_path / "a.svg")
    assert regard("predict", "english-sentiment", "a warm film", "--figure", "b.svg", "--format", "csv").code == 0
    assert {"warm", "positive", "Pooling"} <= set(words_of(tmp_path / "b.svg"))
    assert regard("translate", "ein Mann .", "--figure", "c.svg", "--view", "map").code == 0
    assert {"ein", "Mann"} <= set(words_of(tmp_path / "c.svg"))
    found = regard("say", "synthesis", "jackson 4", "--out", "four.wav", "--figure", "d.svg", "--view", "heads")
    assert found.code == 0
    assert found.out.startswith("four.wav")
    assert "weight" in words_of(tmp_path / "d.svg")


@pytest.mark.parametrize("command", ["tag", "predict", "translate", "say"])
def test_what_is_not_measured_is_refused_before_the_work(regard, tmp_path, command):
    more = {"tag": [], "predict": ["english-pos"], "translate": [], "say": ["synthesis"]}[command]
    out = ["--out", "a.wav"] if command == "say" else []
    found = regard(command, *more, "jackson 4", *out, "--figure", "a.svg", "--view", "compared")
    assert (found.code, found.out) == (2, "")
    assert "`--view` must not be compared here: what mattered isn't measured." in found.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["see", "tag"])
def test_only_own_figures_are_written_over(regard, model, tmp_path, command):
    words = ["see", model, SENTENCE, "--no-map"] if command == "see" else ["tag", SENTENCE, "--model", model]
    for ending in ("pdf",) if command == "see" else ("png", "svg"):
        for _ in range(2):
            assert regard(*words, "--figure", f"saw.{ending}").code == 0
        other = tmp_path / f"mine.{ending}"
        other.write_bytes(b"\x89PNG and more")
        found = regard(*words, "--figure", other.name)
        assert (found.code, found.out) == (2, "")
        assert (
            f"`--figure` must be a new file, or a figure that regard wrote, but {other.name} is neither." in found.err
        )
        assert other.read_bytes() == b"\x89PNG and more"
        assert regard(*words, "--figure", other.name, "--force").code == 0
        assert other.read_bytes() != b"\x89PNG and more"
    assert {each.name[:3] for each in tmp_path.iterdir()} == {"saw", "min"}


def test_folders_and_files_in_the_way(regard, tmp_path):
    (tmp_path / "a.svg").mkdir()
    (tmp_path / "file").touch()
    assert "but a.svg is a folder" in regard("tag", SENTENCE, "--figure", "a.svg").err
    found = regard("tag", SENTENCE, "--figure", "file/b.svg")
    assert (found.code, found.out) == (2, "")
    assert "is no folder" in found.err


def test_one_source_is_drawn(regard, model, tmp_path):
    found = regard("predict", "english-sentiment", "a film", "a dog", "--figure", "a.svg")
    assert (found.code, found.out) == (2, "")
    assert "`--figure` draws one source, but there are 2." in found.err
    (tmp_path / "lines.txt").write_text("I saw\na saw .\n")
    found = regard("tag", "-f", "lines.txt", "--model", model, "--figure", "a.svg", "--top", 0)
    assert found.err == "Wrote a.svg, of the first source of lines.txt.\n"
    assert "I" in words_of(tmp_path / "a.svg")


def test_what_has_nothing_to_draw(regard, tmp_path):
    found = regard("translate", "", "--figure", "a.svg")
    assert found.code == 2
    assert "`--figure` draws what was attended to, but there is no piece in it. Leave it out." in found.err
    assert not list(tmp_path.iterdir())


def test_a_view_of_no_figure(regard):
    found = regard("see", "english-pos", SENTENCE, "--view", "map")
    assert (found.code, found.out) == (2, "")
    assert "`--view` says what `--figure` draws, but there is none. Give --figure FILE." in found.err
    found = regard("see", "english-pos", SENTENCE, "--figure", "a.svg", "--attribution", "rollout")
    assert "`--figure` draws the weights, and not what `--attribution` gives." in found.err


def test_an_unknown_view(regard):
    found = regard("see", "english-pos", SENTENCE, "--figure", "a.svg", "--view", "maps")
    assert found.code == 2
    for name in FigureViewName:
        assert name in found.err


def test_the_extra_is_asked_for_before_the_work(regard, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = regard("see", "english-pos", SENTENCE, "--figure", "a.svg")
    assert (found.code, found.out) == (1, "")
    assert found.err == (
        "regard: `matplotlib` is not installed. It comes with an extra; in the clone of regard: "
        "pip install '.[figures]'\n"
    )
    assert not list(tmp_path.iterdir())


def test_an_error_while_drawing_leaves_the_old_figure(regard, model, tmp_path, monkeypatch):
    assert regard("see", model, SENTENCE, "--figure", "a.pdf", "--no-map").code == 0
    old = (tmp_path / "a.pdf").read_bytes()

    def broken(source, target):
        raise OSError(28, "No space left on device", target)

    monkeypatch.setattr("os.replace", broken)
    found = regard("see", model, SENTENCE, "--figure", "a.pdf", "--no-map", "--view", "map")
    assert found.code == 1
    assert "No space left on device" in found.err
    assert [each.name for each in tmp_path.iterdir()] == ["a.pdf"]
    assert (tmp_path / "a.pdf").read_bytes() == old
