"""`--skip-broken`: lines that can't be used are left out, counted and listed, and nothing else is lost."""

import dataclasses
import json

import pytest
from small_recipe import RECIPE

from regard import load
from regard.cli.arguments.broken_lines import BrokenLines
from regard.cli.main import main
from regard.errors import ArgumentError, DataError
from regard.tasks.readers import find_reader

OPTION = "To leave out what is broken: --skip-broken FILE."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broken")
    rows = [f"{('bad', 'good')[place % 2]} number {place},{('no', 'yes')[place % 2]}" for place in range(57)]
    (folder / "whole.csv").write_text("\n".join(["text,label", *rows]) + "\n", "utf-8")
    rows[10:10], rows[20:20], rows[30:30] = ["one column"], ["empty,"], ["a,b,c"]
    (folder / "reviews.csv").write_text("\n".join(["text,label", *rows]) + "\n", "utf-8")
    (folder / "recipe.json").write_text(json.dumps({**RECIPE, "epochs": 1}), "utf-8")
    assert main(train(folder, "reviews.csv", "out", "--skip-broken", folder / "list.jsonl")) == 0
    return folder


def train(folder, data, out, *more):
    words = ["--data", folder / data, "--out", folder / out, "--recipe", folder / "recipe.json", *more]
    return ["train", "classifier", *map(str, words), "--device", "cpu", "--progress", "none"]


def listed(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_training_leaves_them_out_and_lists_them(folder, capsys):
    assert main(train(folder, "reviews.csv", "again", "--skip-broken", folder / "list.jsonl")) == 0
    data, path = folder / "reviews.csv", folder / "list.jsonl"
    said = capsys.readouterr()
    assert f"3 of 60 lines are broken and were skipped: {data}. {path} lists them." in said.err
    # The command that is suggested would stop at them, too.
    assert f"--skip-broken {path}" in " ".join(said.out.split())
    assert listed(path) == [
        {"file": str(data), "line": line, "reason": reason, "text": text}
        for line, reason, text in [
            (12, "a row must have 2 columns, as the header, but has 1.", "one column"),
            (22, "the column `label` is empty.", "empty,"),
            (32, "a row must have 2 columns, as the header, but has 3.", "a,b,c"),
        ]
    ]
    # What is left is what a file without them holds.
    assert main(train(folder, "whole.csv", "whole")) == 0
    one, other = (load(folder / out).about["data"]["splits"] for out in ("again", "whole"))
    assert one == other


def test_without_it_the_error_names_the_option(folder, capsys):
    for words in (train(folder, "reviews.csv", "never"), evaluate(folder, "reviews.csv")):
        assert main(words) == 1
        said = capsys.readouterr().err
        assert f"reviews.csv, line 12: a row must have 2 columns, as the header, but has 1. {OPTION}" in said
    assert not (folder / "never").exists()


def evaluate(folder, data, *more):
    return [str(word) for word in ("evaluate", folder / "out", "--data", folder / data, "--format", "json", *more)]


def test_evaluate_leaves_them_out(folder, tmp_path, capsys):
    assert main(evaluate(folder, "reviews.csv", "--skip-broken", tmp_path / "list.jsonl")) == 0
    said = capsys.readouterr()
    assert "3 of 60 lines are broken and were skipped" in said.err
    assert [row["line"] for row in listed(tmp_path / "list.jsonl")] == [12, 22, 32]
    assert json.loads(said.out)["examples"] > 0


def test_a_file_without_broken_lines_has_an_empty_list(folder, tmp_path, capsys):
    assert main(evaluate(folder, "whole.csv", "--skip-broken", tmp_path / "list.jsonl")) == 0
    assert (tmp_path / "list.jsonl").read_text() == ""
    assert "skipped" not in capsys.readouterr().err


def test_a_file_of_broken_lines_alone_is_an_error(folder, tmp_path, capsys):
    (tmp_path / "none.csv").write_text("text,label\na\nb\n", "utf-8")
    assert main(evaluate(folder, tmp_path / "none.csv", "--skip-broken", tmp_path / "list.jsonl")) == 1
    assert "none.csv: every line of it is broken. The first is line 2: a row must have" in capsys.readouterr().err
    pytest.importorskip("conllu")
    (tmp_path / "none.conllu").write_text("1 I\n\n1 you\n", "utf-8")
    data = find_reader(str(tmp_path / "none.conllu"), "tagger")
    with pytest.raises(DataError, match=r"none.conllu: every line of it is broken. The first is line 1: a line must"):
        dataclasses.replace(data, on_error=BrokenLines(str(tmp_path / "list.jsonl")).add).read("test")


@pytest.mark.parametrize(("first", "lines"), [("", 6), ("t1,t2,t3,class\n", 6), ("1,2,x,up\n", 7)])
def test_the_first_line_of_series_is_counted_unless_it_names_the_columns(tmp_path, capsys, first, lines):
    (tmp_path / "series.csv").write_text(first + "1,2,3,up\n3,2,1,down\n" * 2 + "1,x,3,up\n2,1,2,down\n", "utf-8")
    broken = BrokenLines(str(tmp_path / "list.jsonl"))
    broken.add(DataError("it is broken.", path=tmp_path / "series.csv", line=6))
    broken.write()
    assert f"1 of {lines} lines is broken and was skipped" in capsys.readouterr().err


def test_what_has_no_line_is_an_error_all_the_same(folder, tmp_path, capsys):
    (tmp_path / "none.csv").write_text("text,label\n", "utf-8")
    (tmp_path / "quote.csv").write_text('text,label\na,b\n"a,b\n', "utf-8")
    for name, said in [
        ("none.csv", "it holds no examples"),
        ("quote.csv", "line 3: a quotation mark in the row that begins"),
    ]:
        assert main(evaluate(folder, tmp_path / name, "--skip-broken", tmp_path / "list.jsonl")) == 1
        told = capsys.readouterr().err
        assert said in told
        assert OPTION not in told


def test_no_file_that_is_no_list_is_written_over(folder, tmp_path, capsys):
    kept = tmp_path / "kept.csv"
    for text in ("text,label\n", '{"text": "a"}\n'):
        kept.write_text(text)
        for words in (
            evaluate(folder, "reviews.csv", "--skip-broken", kept),
            train(folder, "reviews.csv", "never", "--skip-broken", kept),
            ["predict", str(folder / "out"), "-f", str(folder / "whole.csv"), "--skip-broken", str(kept)],
        ):
            assert main(words) == 2
            assert "or --force to write over it" in capsys.readouterr().err
            assert kept.read_text() == text
    assert main(evaluate(folder, "reviews.csv", "--skip-broken", kept, "--force")) == 0
    assert len(listed(kept)) == 3
    # A list may be written over.
    assert main(evaluate(folder, "whole.csv", "--skip-broken", kept)) == 0
    for path in (tmp_path, tmp_path / "kept.csv" / "list"):
        assert main(evaluate(folder, "reviews.csv", "--skip-broken", path)) == 2
        assert "`--skip-broken` must be a file to write, but" in capsys.readouterr().err


def test_predict_leaves_out_lines_that_it_can_not_answer(folder, tmp_path, capsys):
    path, lines = tmp_path / "list.txt", tmp_path / "list.jsonl"
    path.write_bytes(b"good\n\xff\xfe\n\nbad\n" + b"x" * 1_100_000 + b"\nso so\n")
    words = ["predict", str(folder / "out"), "-f", str(path), "--format", "json"]
    assert main(words) == 1
    assert capsys.readouterr().err.endswith(f"Convert it to UTF-8. {OPTION}\n")
    assert main([*words, "--skip-broken", str(lines)]) == 0
    said = capsys.readouterr()
    assert [json.loads(line)["source"] for line in said.out.splitlines()] == ["good", "bad", "so so"]
    assert f"2 of 5 lines are broken and were skipped: {path}. {lines} lists them." in said.err
    assert [(row["line"], row["reason"][:13]) for row in listed(lines)] == [(2, "it isn't UTF-"), (5, "the line has ")]
    assert main(["predict", str(folder / "out"), "good", "--skip-broken", str(lines)]) == 2
    assert "skips lines of a file, but none is given" in capsys.readouterr().err


def test_tag_leaves_out_lines_without_a_word(model, tmp_path, capsys):
    path, lines = tmp_path / "list.txt", tmp_path / "list.jsonl"
    path.write_text("I saw\n\u200b\u200b\nyou saw\n", "utf-8")
    words = ["tag", "--model", model, "-f", str(path), "--format", "json", "--top", "0"]
    assert main(words) == 1
    assert "list.txt, line 2: there is no word in it" in (said := capsys.readouterr().err)
    assert OPTION in said
    assert main([*words, "--skip-broken", str(lines)]) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 2
    assert f"1 of 3 lines is broken and was skipped: {path}." in said.err
    assert listed(lines)[0]["text"] == "\u200b\u200b"
    path.write_bytes(b"\xff\n")
    assert main([*words, "--skip-broken", str(lines)]) == 0
    assert "1 of 1 line is broken" in capsys.readouterr().err


def test_of_a_treebank_sentences_are_left_out(model, tmp_path, capsys):
    pytest.importorskip("conllu")
    whole = "1\tI\t_\tPRON\t_\t_\t0\troot\t_\t_\n2\tsaw\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    (tmp_path / "some.conllu").write_text("# one\n" + whole + whole.replace("2\tsaw", "3\tsaw") + whole, "utf-8")
    words = ["evaluate", model, "--data", str(tmp_path / "some.conllu"), "--format", "json"]
    assert main(words) == 1
    assert OPTION in capsys.readouterr().err
    assert main([*words, "--skip-broken", str(tmp_path / "list.jsonl")]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["sources"] == 2
    assert "1 of 6 lines is broken and was skipped with its whole sentence: " in said.err
    assert listed(tmp_path / "list.jsonl")[0]["line"] == 6


def test_files_in_folders_of_classes_are_left_out(tmp_path, capsys):
    from PIL import Image

    for name in ("a/1.png", "a/2.png", "b/1.png", "b/2.png"):
        (tmp_path / "shapes" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (8, 8), len(name)).save(tmp_path / "shapes" / name)
    (tmp_path / "shapes" / "a" / "notes.txt").touch()
    words = ["train", "classifier", "--data", str(tmp_path / "shapes"), "--out", str(tmp_path / "out")]
    assert main(words) == 1
    assert f"notes.txt: it is neither a sound nor a picture. {OPTION}" in capsys.readouterr().err
    broken = BrokenLines(str(tmp_path / "list.jsonl"))
    data = dataclasses.replace(find_reader(str(tmp_path / "shapes"), "classifier"), on_error=broken.add)
    assert len(data.read("train")) == 4
    broken.write()
    assert "1 file can't be used and was skipped, such as " in capsys.readouterr().err
    (row,) = listed(tmp_path / "list.jsonl")
    assert (row["line"], row["reason"]) == (None, "it is neither a sound nor a picture.")


def test_a_sentence_that_is_skipped_is_skipped_in_auxiliary_labels_too(tmp_path):
    pytest.importorskip("conllu")
    rows = ["1\tI\t_\tPRON\tx1\t_\t0\troot\t_\t_", "2\tsaw\t_\tVERB\tx2\t_\t0\troot\t_\t_"]
    whole = "\n".join(rows) + "\n\n"
    path, broken = tmp_path / "some.conllu", BrokenLines(str(tmp_path / "list.jsonl"))
    path.write_text(whole + "1 oops\n\n" + whole, "utf-8")
    data = dataclasses.replace(find_reader(str(path), "tagger"), on_error=broken.add)
    examples = data.read("train")
    assert (len(examples), len(broken)) == (2, 1)
    assert data.auxiliary("xpos", examples) == [("x1", "x2")] * 2
    # One that has no auxiliary label alone is there, so that it can't be skipped.
    path.write_text(whole + "1 oops\n\n" + whole.replace("x2", "_"), "utf-8")
    data = dataclasses.replace(data)
    with pytest.raises(ArgumentError, match="`auxiliary` must be known of the same sentences as upos"):
        data.auxiliary("xpos", data.read("train"))
    path.write_text(whole + whole.replace("x2", "_"), "utf-8")
    data = dataclasses.replace(data)
    with pytest.raises(DataError, match=r"some\.conllu, line 5: the word 'saw' has no XPOS"):
        data.auxiliary("xpos", data.read("train"))
