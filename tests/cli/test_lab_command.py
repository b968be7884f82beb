"""`regard lab`: the list, a report, a run that goes on, and what is said of a command that can't be run."""

import json
from types import SimpleNamespace

import pytest

import regard.lab
from lab.sample_studies import COINS, DRAWN, FAILING, LINES
from regard.cli.main import main
from regard.lab import read_runs

STUDIES = {each.name: each for each in (COINS, LINES, FAILING, DRAWN)}
RUN = ("lab", "coins", "--processes", 1, "--progress", "none")


@pytest.fixture
def regard_(tmp_path, capsys, monkeypatch):
    """Run a command in an empty folder: code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(regard.lab, "STUDIES", STUDIES)

    def run(*words):
        code = main([*map(str, words)])
        said = capsys.readouterr()
        return SimpleNamespace(code=code, out=said.out, err=said.err)

    return run


def test_a_study_is_run_once(regard_, tmp_path):
    found = regard_(*RUN)
    assert (found.code, found.err) == (0, "The results are in lab/coins.jsonl.\n")
    assert found.out.startswith(
        "Is b better?\n\nThis contradicts the lecture notes. Yes. b against a: accuracy 25.0 points"
    )
    before = (tmp_path / "lab" / "coins.jsonl").read_bytes()
    assert before.count(b"\n") == 6
    assert regard_(*RUN).out == found.out
    assert (tmp_path / "lab" / "coins.jsonl").read_bytes() == before
    assert regard_(*RUN, "--seeds", 4, "--out", "lab").code == 0
    assert len(read_runs(tmp_path / "lab" / "coins.jsonl")) == 8


def test_show_runs_nothing(regard_, tmp_path):
    found = regard_("lab", "coins", "--show", "--out", "none")
    assert (found.code, found.err) == (0, "")
    assert "It hasn't been run." in found.out
    assert not list(tmp_path.iterdir())
    regard_(*RUN)
    shown = regard_("lab", "coins", "--show", "--out", "lab", "--runs")
    assert "Every run" in shown.out
    assert "Every run" not in regard_("lab", "coins", "--show", "--out", "lab").out


@pytest.mark.slow
def test_json(regard_):
    regard_(*RUN)
    found = json.loads(regard_("lab", "coins", "--show", "--out", "lab", "--format", "json").out)
    assert (found["name"], found["question"]) == ("coins", "Is b better?")
    assert [(each["answer"], each["contradicts_notes"]) for each in found["claims"]] == [
        ("yes", True),
        ("can't tell", False),
    ]
    assert [(each["variant"], each["seed"]) for each in found["runs"]][:3] == [("a", 0), ("b", 0), ("a", 1)]
    listed = json.loads(regard_("lab", "--out", "lab", "--format", "json").out)
    assert [each["name"] for each in listed] == list(STUDIES)
    assert [each["claims"][0]["answer"] for each in listed] == ["yes", "", "", ""]


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--plain",), ("coins", "--show"), ("coins", "--show", "--runs", "--plain")])
def test_narrow_and_plain(regard_, monkeypatch, more):
    regard_(*RUN)
    monkeypatch.setenv("COLUMNS", "40")
    found = regard_("lab", *more, "--out", "lab")
    assert (found.code, found.err) == (0, "")
    assert "b is better" in found.out.lower() or "accuracy 25.0 points higher" in " ".join(found.out.split())
    if "--plain" in more:
        assert not set(found.out) & set("│─┤┬┴┼")
    else:
        assert max(map(len, found.out.splitlines())) <= 40


@pytest.mark.slow
def test_the_first_chart_is_a_figure(regard_, tmp_path):
    run, show = (*RUN[:1], "lines", *RUN[2:]), ("lab", "lines", "--show", "--out", "lab")
    for command, ending, begin in ((run, "svg", b"<?xml"), (show, "png", b"\x89PNG"), (show, "pdf", b"%PDF-")):
        found = regard_(*command, "--figure", f"new/lines.{ending}")
        assert found.code == 0, found.err
        assert f"Wrote new/lines.{ending}.\n" in found.err
        drawn = (tmp_path / "new" / f"lines.{ending}").read_bytes()
        assert drawn.startswith(begin)
        if ending == "svg":
            # Along n comes before time and memory.
            assert b">rising</text>" in drawn
            assert b">Accuracy by n</text>" in drawn
        # An own figure is written over.
        assert regard_(*show, "--figure", f"new/lines.{ending}").code == 0


def test_an_example_is_trained_once_shown_and_written(regard_, tmp_path):
    found = regard_("lab", "drawn", "--example", "new/a.html", "--progress", "none")
    assert found.code == 0, found.err
    assert found.err == "Training the example of drawn, which can take minutes.\nWrote new/a.html.\n"
    shown = regard_("lab", "drawn", "--example", "new/a.html").err
    assert [line.split("  ")[0] for line in shown.splitlines()[1:-1]] == ["step 1/2", "step 2/2"]
    assert found.out.startswith("A line\n\nIts slope is 0.5.\n\nPixels\n")
    assert "n = [1, 2, 3],\nseed 0" in found.out
    page = (tmp_path / "new" / "a.html").read_text()
    assert "<h1>A line</h1>" in page
    assert "<svg" in page
    assert [each.name for each in tmp_path.iterdir()] == ["new"]
    # An own page is written over, and the sentences have no drawing.
    plain = regard_("lab", "drawn", "--example", "new/a.html", "--plain")
    assert (plain.code, plain.out.splitlines()[2:4]) == (
        0,
        ["Pixels.", "Picture 1, n = [1, 2, 3], seed 0: 2 x 2 pixels."],
    )
    # The variant's own setting comes after the full one's.
    assert "n = [1, 9], seed\n0" in regard_("lab", "drawn", "--example", "new/a.html", "--full").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("cions",), "`NAME` must be one of coins, lines, failing, drawn, but is 'cions'. Did you mean 'coins'?"),
        (("--show",), "`--show` needs the name of a study. The names: coins, lines, failing, drawn."),
        (("--figure", "a.svg"), "`--figure` needs the name of a study."),
        (("--seeds", 3), "`--seeds` needs the name of a study."),
        (("coins", "--seeds", 0), "`--seeds` must be 1 or more, but is 0."),
        (("coins", "--show", "--seeds", 0), "`--seeds` must be 1 or more, but is 0."),
        (("coins", "--processes", 0), "`--processes` must be 1 or more, but is 0."),
        (("coins", "--out", "file"), "`--out` must be a folder, but file is a file."),
        (("coins", "--out", "file", "--show"), "`--out` must be a folder, but file is a file."),
        (("--out", "file"), "`--out` must be a folder, but file is a file."),
        (("coins", "--out", "file/new"), "is no folder"),
        (("coins", "--figure", "a.jpg"), "`--figure` must end in .png, .svg or .pdf, but is 'a.jpg'."),
        (("coins", "--figure", "file.svg"), "`--figure` must be a new file, or a figure that regard wrote"),
        (("coins", "--html", "file"), "`--html` must be a new file, or a page that regard wrote, but file is neither."),
        (("coins", "--show", "--out", "none", "--figure", "a.svg"), "`--figure` draws a chart of runs, but there are"),
        (("--example", "a.html"), "`--example` needs the name of a study."),
        (
            ("coins", "--example", "a.html"),
            "`--example` needs a study that has an example, but coins has none. Those that have: drawn.",
        ),
        (("drawn", "--example", "a.html", "--show"), "`--example` runs no study, so it can't go with --show."),
        (("drawn", "--example", "a.html", "--seeds", 2), "`--example` runs no study, so it can't go with --seeds."),
        (
            ("drawn", "--example", "a.html", "--processes", 2),
            "`--example` runs no study, so it can't go with --processes.",
        ),
        (("drawn", "--example", "a.html", "--format", "json"), "so it can't go with --format json."),
        (("drawn", "--example", "file"), "`--example` must be a new file, or a page that regard wrote, but file is"),
        (("coins", "--progress", "loud"), "`--progress` must be one of"),
        (("coins", "--format", "yaml"), "`--format` must be one of"),
    ],
)
def test_what_cannot_be_run(regard_, tmp_path, words, said):
    for name in ("file", "file.svg"):
        (tmp_path / name).write_text("mine")
    found = regard_("lab", *words)
    assert (found.code, found.out) == (2, "")
    assert said in found.err
    assert found.err.startswith("regard: ")
    assert found.err.count("\n") == 1
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"file": "mine", "file.svg": "mine"}


def test_an_unknown_study_among_many(capsys):
    """The nearest of regard's own studies, or all of them if none is near."""
    assert main(["lab", "slef"]) == 2
    near = capsys.readouterr().err
    count = len(regard.lab.STUDIES)
    assert near == f"regard: `NAME` must be one of {count} names, but is 'slef'. Did you mean 'self'? See regard lab.\n"
    assert main(["lab", "zzzqqq"]) == 2
    assert (
        capsys.readouterr().err == f"regard: `NAME` must be one of {', '.join(regard.lab.STUDIES)}, but is 'zzzqqq'.\n"
    )


def test_a_run_that_fails_and_a_broken_file(regard_, tmp_path):
    found = regard_("lab", "failing", *RUN[2:], "--html", "a.html", "--figure", "a.svg")
    assert (found.code, found.out) == (1, "")
    assert found.err.startswith(
        "regard: the run 'b' of the study 'failing' with seed 0 failed: ValueError: a bias of 1."
    )
    assert found.err.count("\n") == 1
    assert [each.name for each in tmp_path.iterdir()] == ["lab"]
    (tmp_path / "lab" / "coins.jsonl").write_text("{}\nnonsense\n")
    found = regard_(*RUN)
    assert (found.code, found.out) == (1, "")
    assert "lab/coins.jsonl, line 1: a line must be a run that regard lab wrote" in found.err
