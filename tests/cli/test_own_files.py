"""Files as users have them, from the command line: without a header, in other encodings, and some of them broken."""

import json
import shutil
import wave

import pytest
from small_recipe import RECIPE

from regard import load
from regard.cli.main import main

NOTE = "isn't UTF-8, and is read as Windows-1252. If letters look wrong, name its encoding: --encoding NAME."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model that was trained on a table without a header, in Windows-1252."""
    folder = tmp_path_factory.mktemp("own")
    rows = [f"{('öde', 'schön')[place % 2]} für alle {place},{('übel', 'gut')[place % 2]}" for place in range(57)]
    (folder / "bare.csv").write_text("\n".join(rows), encoding="cp1252")
    (folder / "recipe.json").write_text(json.dumps({**RECIPE, "epochs": 1}), "utf-8")
    assert main([*train(folder, "bare.csv", "out"), "--columns", "text,label"]) == 0
    return folder


def train(folder, data, out, *more):
    words = ["--data", folder / data, "--out", folder / out, "--recipe", folder / "recipe.json", *more]
    return ["train", "classifier", *map(str, words), "--device", "cpu", "--progress", "none"]


def test_a_bare_table_is_trained_on(folder):
    model = load(folder / "out")
    assert sorted(model.labels) == ["gut", "übel"]
    assert model.about["data"]["columns"] == {"header": ["text", "label"]}


def test_the_encoding_is_told_once(folder, capsys, tmp_path):
    # Another file, since what was told of one isn't told again.
    shutil.copy(folder / "bare.csv", tmp_path / "other.csv")
    assert main(["data", "check", str(tmp_path / "other.csv"), "--columns", "text,label"]) == 0
    assert capsys.readouterr().err == f"regard: {tmp_path / 'other.csv'} {NOTE}\n"
    assert main(["data", "check", str(tmp_path / "other.csv"), "--columns", "text,label", "--encoding", "cp1252"]) == 0
    assert capsys.readouterr().err == ""


def test_a_model_remembers_the_columns_of_its_table(folder, capsys, tmp_path):
    words = ["evaluate", str(folder / "out"), "--split", "dev", "--format", "json"]
    assert main([*words, "--data", str(folder / "bare.csv")]) == 0
    said = capsys.readouterr()
    assert "trained on: --columns text,label" in said.err
    known = json.loads(said.out)
    assert known["columns"] == {"header": ["text", "label"]}
    assert main([*words, "--data", str(folder / "bare.csv"), "--columns", "text,label"]) == 0
    said = capsys.readouterr()
    assert "Note: the columns" not in said.err
    assert json.loads(said.out)["score"] == known["score"]
    # Another table may have a header.
    (tmp_path / "headed.csv").write_text("label,text\ngut,schön\nübel,öde\n", "utf-8")
    assert main([*words, "--data", str(tmp_path / "headed.csv")]) == 0
    assert json.loads(capsys.readouterr().out)["examples"] == 2


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        ([], 1, "line 1: it looks like data, but must name the columns. Name them by --columns text,label;"),
        (["--columns", "text"], 1, "line 1: --columns must name every column, but names 1 of 2."),
        (["--columns", ","], 2, "`--columns` must name the columns in order under 'header'"),
        (["--columns", "text,text"], 2, "`--columns` must name a column once"),
        (["--columns", "text,label", "--encoding", "klingon"], 2, "`--encoding` must be one of utf-8, utf-16"),
    ],
)
@pytest.mark.parametrize("command", ["check", "train", "compare", "evaluate"])
def test_what_is_wrong_is_said_by_every_command_that_reads_tables(
    folder, capsys, tmp_path, command, more, code, message
):
    shutil.copy(folder / "bare.csv", tmp_path / "other.csv")
    data = str(tmp_path / "other.csv")
    words = {
        "check": ["data", "check", data],
        "train": train(folder, data, tmp_path / "new"),
        "compare": ["compare", data, "--vary", "layers=1,2", "--out", str(tmp_path / "compared")],
        "evaluate": ["evaluate", str(folder / "out"), "--data", data],
    }[command]
    assert main([*words, *more]) == code
    assert message in capsys.readouterr().err


def test_skipped_lines_are_counted_and_listed_in_their_encoding(folder, capsys, tmp_path):
    rows = (folder / "bare.csv").read_text("cp1252").splitlines()
    (tmp_path / "bare.csv").write_text("\n".join([*rows, "größte Übel"]), encoding="cp1252")
    path = tmp_path / "list.jsonl"
    more = ["--columns", "text,label", "--encoding", "cp1252", "--skip-broken", str(path)]
    assert main([*train(folder, tmp_path / "bare.csv", tmp_path / "new"), *more]) == 0
    said = capsys.readouterr()
    # There is no header, so all 58 lines are rows.
    assert "1 of 58 lines is broken and was skipped" in said.err
    assert json.loads(path.read_text("utf-8"))["text"] == "größte Übel"
    # A long path is broken at the end of a line.
    assert f"--skip-broken{path}--encodingcp1252" in "".join(said.out.split())


def test_lists_of_sources_may_have_other_encodings(folder, capsys, tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("schön für alle\nöde für alle\ngrößte Gäste\n", encoding="cp1252")
    words = ["predict", str(folder / "out"), "-f", str(path), "--format", "json"]
    assert main(words) == 0
    said = capsys.readouterr()
    assert f"regard: {path} {NOTE}\n" in said.err
    assert [json.loads(line)["source"] for line in said.out.splitlines()] == [
        "schön für alle",
        "öde für alle",
        "größte Gäste",
    ]
    path.write_text("größte Gäste\n", encoding="utf-16")
    assert main([*words, "--encoding", "utf-16"]) == 0
    assert json.loads(capsys.readouterr().out)["source"] == "größte Gäste"
    assert main(["predict", str(folder / "out"), "schön", "--encoding", "cp1252"]) == 2
    assert "`--encoding` is that of a file, but none is given. Give one by -f FILE." in capsys.readouterr().err
    assert main([*words, "--encoding", "klingon"]) == 2


def test_sounds_that_can_not_be_read_are_told_and_left_out(tmp_path, capsys):
    for place in range(40):
        path = tmp_path / "words" / ("no", "yes")[place % 2] / f"{place}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(8000)
            file.writeframes(bytes((place * step) % 251 for step in range(1600)))
    broken = tmp_path / "words" / "no" / "broken.mp3"
    broken.write_bytes(b"\0\0\0\x18ftypM4A \0\0\0\0")
    said = f"{broken}: its name ends in .mp3, but it holds MPEG-4 (M4A or MP4), which can't be read as a sound."
    assert main(["data", "check", str(tmp_path / "words"), "--width", "400"]) == 1
    assert said in capsys.readouterr().out
    (tmp_path / "recipe.json").write_text(
        json.dumps({"task": {"kind": "classifier"}, "input": {"kind": "speech"}, "width": 8, "hidden": 8, "epochs": 1}),
        "utf-8",
    )
    # Without the option, training itself finds the file, and names the option.
    assert main(train(tmp_path, "words", "out")) == 1
    assert (
        f"{said} Convert it to WAV or FLAC. To leave out what is broken: --skip-broken FILE." in capsys.readouterr().err
    )
    assert main(train(tmp_path, "words", "out", "--skip-broken", tmp_path / "list.jsonl")) == 0
    assert f"1 file can't be used and was skipped, such as {broken}." in capsys.readouterr().err
    assert json.loads((tmp_path / "list.jsonl").read_text("utf-8"))["file"] == str(broken)
