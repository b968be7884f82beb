"""`regard data`: what it prints, in every form, and how it fails."""

import json
import subprocess
import sys

import pytest

from regard.cli import data, main
from regard.cli.main import main as run
from regard.datasets import DATASETS

LINE = "{}\t{}\t_\t{}\tNN\t_\t_\t_\t_\t_\n"
SAW = LINE.format(1, "I", "PRON") + LINE.format(2, "saw", "VERB") + "\n"
THREE = SAW + LINE.format(1, "yes", "INTJ") + "\n"


@pytest.fixture(autouse=True)
def command(monkeypatch, tmp_path_factory, request):
    """The command line with `data` in it, on a machine that has no data sets."""
    if not any(group.name == "data" for group in main.app.registered_groups):
        main.app.add_typer(data.app, name="data")
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path_factory.mktemp("cache")))
    if "real_data" not in request.fixturenames:
        monkeypatch.delenv("REGARD_DATA", raising=False)
    for name in ("FORCE_COLOR", "COLORTERM", "TERM", "COLUMNS", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "toy-train.conllu").write_text(THREE, encoding="utf-8")
    (tmp_path / "toy-test.conllu").write_text(SAW * 2 + LINE.format(1, "no", "INTJ"), encoding="utf-8")
    return tmp_path


def test_list_names_every_data_set_and_where_it_is(capfd):
    assert run(["data", "list"]) == 0
    out, err = capfd.readouterr()
    # A name or a licence may be broken over two lines.
    said = "".join(out.split())
    for name, known in DATASETS.items():
        assert name in said
        assert "".join(known.licence.split(" (")[0].split()) in said
    assert said.count("notonthismachine") >= sum(known.is_treebank for known in DATASETS.values())
    assert "regard data get NAME" in out
    assert err == ""
    assert "\x1b" not in out


def test_list_shows_where_a_data_set_is(capfd, monkeypatch, real_data):
    monkeypatch.setenv("REGARD_DATA", str(real_data))
    assert run(["data", "list", "--width", "200"]) == 0
    assert str(real_data / "ud-english-ewt") in capfd.readouterr().out


def test_list_as_json_holds_all_there_is_to_know(capfd):
    assert run(["data", "list", "--format", "json"]) == 0
    entries = json.loads(capfd.readouterr().out)
    assert [entry["name"] for entry in entries] == list(DATASETS)
    for entry in entries:
        assert not DATASETS[entry["name"]].is_treebank or (
            entry["path"] is None and set(entry["files"]) == {"train", "dev", "test"}
        )
        assert all(set(file) == {"url", "sha256", "bytes"} for file in entry["files"].values())
        assert entry["licence"]
        assert entry["citation"]


@pytest.mark.parametrize("more", [[], ["--width", "40"], ["--width", "32"], ["--plain"], ["--color", "--width", "40"]])
def test_check_says_what_there_is_at_every_width(capfd, folder, more):
    assert run(["data", "check", str(folder), *more]) == 0
    out = capfd.readouterr().out
    words = " ".join(out.split())
    for part in ("20.0%", "No problems."):
        assert part in words
    assert "2 of test are also in train" in words
    assert "that repeat an earlier one of their split: 1 in test" in words
    assert "Labels in train: PRON 1, VERB 1, INTJ 1. Labels in test: PRON 2, VERB 2, INTJ 1." in words
    if "--width" in more and "--color" not in more:
        assert max(map(len, out.splitlines())) <= int(more[more.index("--width") + 1])
    assert ("\x1b" in out) == ("--color" in more)


def test_colours_go_where_they_are_wanted(capfd, folder, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    assert run(["data", "check", str(folder)]) == 0
    assert "\x1b[3" not in capfd.readouterr().out  # bold is no colour


def test_check_as_json(capfd, folder):
    assert run(["data", "check", str(folder), "--format", "json"]) == 0
    report = json.loads(capfd.readouterr().out)
    assert report["label"] == "upos"
    assert [(split["split"], split["sentences"], split["words"]) for split in report["splits"]] == [
        ("train", 2, 3),
        ("test", 3, 5),
    ]
    assert report["splits"][0]["labels"] == {"PRON": 1, "VERB": 1, "INTJ": 1}
    assert report["splits"][0]["unknown_words"] is None
    assert report["splits"][1]["unknown_words"] == 1 / 5
    assert report["duplicates"]["shared"] == [{"first": "train", "second": "test", "sentences": 2}]
    assert report["problems"] == []


def test_check_of_columns_that_are_called_otherwise(capfd, tmp_path):
    (tmp_path / "train.csv").write_text("review,stars\ngood,4\nbad,x\n")
    words = ["data", "check", str(tmp_path), "--width", "500", "--column", "text=review"]
    assert run([*words, "--column", "label=stars"]) == 0
    assert "No problems." in capfd.readouterr().out
    assert run([*words, "--column", "number=stars"]) == 1
    assert "train.csv, line 3: the column `stars` must be a number, but is 'x'." in capfd.readouterr().out


def test_check_names_every_problem_and_fails(capfd, folder):
    train = folder / "toy-train.conllu"
    train.write_text(THREE + "x\n\n1\ty\n", encoding="utf-8")
    assert run(["data", "check", str(folder), "--width", "500"]) == 1
    out, err = capfd.readouterr()
    assert "Problems: 2" in out
    assert f"{train}, line 6: a line must have 10 columns separated by tabs, but has 1." in out
    assert f"{train}, line 8: a line must have 10 columns separated by tabs, but has 2." in out
    assert err == ""
    assert run(["data", "check", str(folder), "--format", "json"]) == 1
    assert len(json.loads(capfd.readouterr().out)["problems"]) == 2


def test_a_page_stays_a_page_whatever_is_checked(capfd, tmp_path):
    path = tmp_path / "letter.conllu"
    path.write_text("Dear all,\n" * 101, encoding="utf-8")
    assert run(["data", "check", str(path), "--width", "500"]) == 1
    out = capfd.readouterr().out
    assert "Problems: 101" in out
    assert "100 more are like it; --format json has them." in out
    assert len(out.splitlines()) < 20
    path = tmp_path / "letter.csv"
    path.write_text("text,label\n" + "".join(f"{'x,' * (2 + place)}\n" for place in range(30)), encoding="utf-8")
    assert run(["data", "check", str(path), "--width", "500"]) == 1
    assert "but has 3. 29 more are like it; --format json has them." in capfd.readouterr().out


def test_check_shows_no_control_characters(capfd, tmp_path):
    path = tmp_path / "evil.conllu"
    path.write_text("1\t\x1b]0;title\x07\t_\t_" + "\t_" * 6 + "\n", encoding="utf-8")
    assert run(["data", "check", str(path)]) == 1
    out = capfd.readouterr().out
    assert "\x1b" not in out
    assert "\x07" not in out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["get", "ud-englich-ewt"], 2, "Did you mean 'ud-english-ewt'?"),
        (["get"], 2, "`NAME` is missing"),
        (["check", "ud-chinese"], 2, "Did you mean 'ud-chinese-gsd'?"),
        (["check", "./nowhere.conllu"], 1, "nowhere.conllu: there is no such file or folder."),
        (["chek"], 2, "Did you mean check?"),
        (["list", "--fromat", "json"], 2, "Did you mean --format?"),
        (["check", ".", "--width", "9"], 2, "`--width` must be 32 or more, but is 9."),
        (["check", ".", "--label", "pos"], 2, "`--label` must be one of upos, xpos, feats, deprel"),
    ],
)
def test_failures_are_one_sentence(capfd, folder, monkeypatch, words, code, said):
    monkeypatch.chdir(folder)
    assert run(["data", *words]) == code
    out, err = capfd.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_a_variable_that_names_nothing(capfd, monkeypatch):
    monkeypatch.setenv("REGARD_DATA", "/no/such/folder")
    for words in (["list"], ["get", "ud-english-ewt"], ["check", "ud-english-ewt"]):
        assert run(["data", *words]) == 1
        assert "`REGARD_DATA` must name a folder, but '/no/such/folder' is none." in capfd.readouterr().err


def test_get_prints_the_folder_alone(capfd, monkeypatch, real_data):
    monkeypatch.setenv("REGARD_DATA", str(real_data))
    assert run(["data", "get", "ud-chinese-gsd"]) == 0
    assert capfd.readouterr() == (f"{real_data / 'ud-chinese-gsd'}\n", "")


def test_downloads_are_announced_a_line_each_off_a_terminal(capfd):
    with data._downloading() as progress:
        for done in (1, 2, 3_000_000):
            progress("a.conllu", done, 3_000_000)
        progress("b.conllu", 1, 5)
    assert capfd.readouterr() == ("", "downloading a.conllu, 3.0 MB\ndownloading b.conllu, 0.0 MB\n")


def test_downloads_have_a_bar_on_a_terminal(capfd, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with data._downloading() as progress:
        progress("a.conllu", 1, 3_000_000)
        progress("a.conllu", 3_000_000, 3_000_000)
    err = capfd.readouterr().err
    assert err.count("a.conllu") >= 1
    assert "3.0/3.0 MB" in err


def test_help_teaches_with_examples(capfd):
    for words in (["--help"], [], ["list", "--help"], ["get", "--help"], ["check", "--help"]):
        assert run(["data", *words]) == 0
        out = capfd.readouterr().out
        assert "Examples:\n" in out
        assert "regard data" in out


def test_help_does_not_wait_for_torch():
    code = "import sys; import regard.cli.data; print('torch' in sys.modules, 'rich.progress' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False"]


def test_check_says_what_targets_without_labels_are(capfd, tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("text,target\n" + "".join(f"walk{place},{'x' * place}\n" for place in range(3, 26)))
    assert run(["data", "check", str(path), "--width", "200"]) == 0
    assert "texts of 3 to 25 characters, median 14" in capfd.readouterr().out
    assert run(["data", "check", str(path), "--format", "json"]) == 0
    (split,) = json.loads(capfd.readouterr().out)["splits"]
    assert split["targets"] == {"kind": "texts", "least": 3, "median": 14, "most": 25, "numeric": False}
    path.write_text("text,label\n" + "".join(f"walk{place},{place}.5\n" for place in range(3, 26)))
    assert run(["data", "check", str(path), "--width", "200"]) == 0
    assert "are read as texts. To predict numbers: --column number=label;" in capfd.readouterr().out
    path.write_text("text,number\na,1.5\nb,-2\n")
    assert run(["data", "check", str(path), "--width", "200"]) == 0
    assert "numbers from -2 to 1.5, median -0.25" in capfd.readouterr().out


def test_words_without_labels_are_named_with_their_line(capfd, tmp_path):
    path = tmp_path / "words.conll"
    path.write_text("# a comment\nI\nsaw\n\n")
    assert run(["data", "check", str(path), "--width", "500"]) == 1
    out = capfd.readouterr().out
    assert f"{path}, line 2: the word 'I' has no label: the file has one column." in out
    assert "labelled with" not in out
    assert run(["train", "tagger", "--data", str(path), "--out", str(tmp_path / "out")]) == 1
    assert "line 2: the word 'I' has no label" in capfd.readouterr().err
