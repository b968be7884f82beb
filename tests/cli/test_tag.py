import io
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from rich.cells import cell_len

from regard.cli.main import main
from regard.inputs import Graph, WordEncoder
from regard.tasks import Recipe, Tagger
from regard.tasks.network import SourceNetwork
from regard.tasks.sources import Graphs, Texts, Words
from regard.tasks.targets import Label
from tasks.toys import untrained

SENTENCE = "I saw a saw ."


@pytest.fixture
def tag(model, capsys, monkeypatch):
    """Run `regard tag` in process: code, standard output, standard error."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words, stdin=None):
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(["tag", "--model", model, *map(str, words)])
        return code, *capsys.readouterr()

    return run


def test_the_first_screen(tag):
    code, out, err = tag(SENTENCE)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert (
        lines[:3] == ["toy", "", "I     saw   a     saw   ."[: len(lines[2])]] or lines[2].split() == SENTENCE.split()
    )
    assert "Layer 2 of 2, average of heads 1-4" in lines
    assert "saw (2)" in out
    assert "saw (4)" in out
    assert out.count("2 others") == 5
    assert out.count("100%") == 5
    assert "\x1b" not in out


@pytest.mark.parametrize("width", [32, 40, 80, 120])
def test_it_fits_the_width(tag, width):
    out = tag(SENTENCE, "--width", width, "--map")[1]
    assert max(map(cell_len, out.splitlines())) <= width


def test_columns_decides_where_width_does_not(tag, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    assert max(map(cell_len, tag(SENTENCE, "--map")[1].splitlines())) <= 40


def test_layer_and_head_are_named_and_checked(tag):
    assert "Layer 1 of 2, head 3 of 4" in tag(SENTENCE, "--layer", 1, "--head", 3)[1]
    for words, message in (
        (("--layer", 3), "`--layer` must be from 1 to 2, but is 3"),
        (("--layer", 0), "`--layer` must be from 1 to 2, but is 0"),
        (("--head", 5), "`--head` must be from 1 to 4 in layer 2, but is 5"),
    ):
        code, out, err = tag(SENTENCE, *words)
        assert (code, out) == (2, "")
        assert message in err


def test_top_lists_so_many_and_zero_only_tags(tag):
    assert tag(SENTENCE, "--top", 1)[1].count("4 others") == 5
    assert "others" not in tag(SENTENCE, "--top", 5)[1]
    out = tag(SENTENCE, "--top", 0)[1]
    assert len(out.splitlines()) == 3
    assert "Layer" not in out
    assert tag(SENTENCE, "--top", -1)[0] == 2


def test_zero_tags_as_watching_does(tag):
    assert tag(SENTENCE, "--top", 0)[1].splitlines() == tag(SENTENCE)[1].splitlines()[2:5]


def test_the_map_comes_when_asked_for(tag):
    assert "in percent" not in tag(SENTENCE)[1]
    out = tag(SENTENCE, "--map")[1]
    assert "in percent" in out
    assert re.search(r"^2 saw \(2\) +\d+ +\d+ +\d+ +\d+ +\d+$", out, re.MULTILINE)
    assert "\x1b[" in tag(SENTENCE, "--map", "--color")[1]
    assert "\x1b[" not in tag(SENTENCE, "--map", "--no-color")[1]


def test_plain_is_sentences_only(tag):
    out = tag(SENTENCE, "--plain", "--map")[1]
    assert "Word 2, saw: " in out
    assert "saw (2) attends to" in out
    assert "Layer 2 of 2, average of heads 1-4." in out
    assert all(line.endswith(".") for line in out.splitlines())
    assert not re.search(r"[\u2500-\u259f\x1b]", out)


def test_json_is_exactly_this(tag):
    code, out, err = tag(SENTENCE, "--format", "json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["model"] == "toy"
    assert (found["layer"], found["head"], found["shown"]) == (2, None, "Layer 2 of 2, average of heads 1-4")
    assert [item["text"] for item in found["items"]] == SENTENCE.split()
    for item in found["items"]:
        assert list(item) == ["text", "label", "score", "attends"]
        assert 0 < item["score"] <= 1
        weights = [each["weight"] for each in item["attends"]]
        assert weights == sorted(weights, reverse=True)
        assert len(weights) == 3
        for each in item["attends"]:
            assert list(each) == ["text", "position", "weight"]
            assert each["text"] == SENTENCE.split()[each["position"] - 1]
    everything = json.loads(tag(SENTENCE, "--format", "json", "--top", 9)[1])["items"][0]["attends"]
    assert sum(each["weight"] for each in everything) == pytest.approx(1, abs=1e-5)


def test_json_for_many_is_a_line_each(tag, tmp_path):
    (tmp_path / "a.txt").write_text("I saw .\n\nA saw saw a saw .\n", "utf-8")
    out = tag("-f", tmp_path / "a.txt", "--format", "json")[1]
    found = [json.loads(line) for line in out.splitlines()]
    assert [[item["text"] for item in each["items"]] for each in found] == [
        ["I", "saw", "."],
        ["A", "saw", "saw", "a", "saw", "."],
    ]
    fast = [json.loads(line) for line in tag("-f", tmp_path / "a.txt", "--format", "json", "--top", 0)[1].splitlines()]
    assert [[item["label"] for item in each["items"]] for each in fast] == [
        [item["label"] for item in each["items"]] for each in found
    ]
    assert fast[0]["items"][0]["attends"] == []


def test_a_file_says_file_and_line(tag, tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffI saw .\r\n\r\n  \r\nA saw .".encode())
    out = tag("-f", path, "--width", 120)[1]
    assert f"{path}, line 1" in out.replace("\n", " ") or "line 1" in out
    assert "line 4" in out
    assert "\ufeff" not in out
    assert "\\ufeff" not in out


def test_standard_input(tag):
    code, out, _ = tag("-", stdin=b"I saw a saw .\nA saw .\n")
    assert code == 0
    assert "standard input, line 1" in out
    assert "standard input, line 2" in out
    assert tag("-f", "-", stdin=b"I saw .")[0] == 0
    # What can be read only once isn't looked at first.
    code, _, err = tag("-", stdin="saw".encode("utf-16"))
    assert (code, "line 1: it holds a zero byte: it looks like UTF-16; save it as UTF-8" in err) == (1, True)


def test_a_file_may_have_another_encoding(tag, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("I saw a saw .\n", encoding="utf-16")
    code, out, err = tag("-f", path)
    assert (code, "saw" in out) == (0, True)
    assert err == f"regard: {path} isn't UTF-8, and is read as UTF-16.\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "there is nothing to predict for, it is empty"),
        (b"\n \r\n\t\n", "there is nothing to predict for, every line in it is empty"),
        (b"fine .\nbad \xff byte\n", "line 2: it isn't UTF-8: byte 5 of the line is 0xff"),
        (b"\x7fELF\x02\x01\x00\x00", "line 1: it holds a zero byte: it isn't text"),
        (b"a" * 5_000_000, "line 1: the line has more than 1,000,000 bytes"),
        (b"ok .\n" + b"word " * 1_000_000, "line 2: the line has more than 1,000,000 bytes"),
        ("来福".encode() * 200_000, "line 1: the line has more than 1,000,000 bytes"),
        (b"a " * 10_001, "line 1: the sentence has 10,001 words, but may have 10,000"),
        ("\u200b\n".encode(), "line 1: there is no word in it"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_its_line(tag, tmp_path, content, message):
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    started = time.monotonic()
    code, _, err = tag("-f", path)
    assert code == 1
    assert err.startswith(f"regard: {path}")
    assert message in err
    assert err.count("\n") == 1
    assert time.monotonic() - started < 20


def test_a_long_sentence_has_lists_and_says_why_it_has_no_map(tag, monkeypatch):
    monkeypatch.setattr("regard.cli.answering.showing._MOST_MAPPED", 4)
    out = tag(SENTENCE, "--map")[1]
    assert "The source has 5 words; a map has 4 at most." in out
    assert "Layer 2 of 2, average of heads 1-4" in out
    assert "a map has" not in tag(SENTENCE)[1]
    found = json.loads(tag(SENTENCE, "--format", "json")[1])
    assert (found["layer"], len(found["items"][0]["attends"])) == (2, 3)


def test_top_zero_still_maps_a_layer(tag):
    assert "Layer 1 of 2, head 3 of 4" in tag(SENTENCE, "--top", 0, "--map", "--layer", 1, "--head", 3)[1]


def test_more_words_than_learned_positions_names_file_and_line(tag, tmp_path):
    torch.manual_seed(7)
    recipe = Recipe(width=8, heads=4, hidden=11, layers=1, position="learned")
    encoder = WordEncoder.fit([["I", "saw"]], minimum_count=1)
    folder = tmp_path / "places"
    Tagger(SourceNetwork(recipe, encoder, 2), encoder, Label(("A", "B")), recipe, name="places").save(folder)
    (tmp_path / "a.txt").write_text("I saw\n" + "saw " * 513, "utf-8")
    for words in ((), ("--top", 0)):
        code, _, err = tag("--model", folder, "-f", tmp_path / "a.txt", *words)
        assert code == 1
        assert f"{tmp_path / 'a.txt'}, line 2: the sentence has 513 words, but places has learned 512 positions" in err


def test_a_traditional_sentence_is_told_once_and_converted(capsys):
    pytest.importorskip("opencc")
    for words in (["我 在 讀書 ， 寫 東西 。"], ["我在讀書，寫東西。", "--split"]):
        assert main(["tag", *words, "--format", "json"]) == 0
        out, err = capsys.readouterr()
        assert err.count("\n") == err.count("is in traditional characters, but chinese-pos was trained on") == 1
        assert "讀書" in out
        assert main(["tag", *words, "--format", "json", "--script", "simplified"]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        # What is shown is the converted text.
        assert "讀" not in out
        assert "读书" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give one of the three"),
        (("a", "-f", "b"), "give one of the three"),
        (("",), "`TEXT` must hold a word, but is empty"),
        ((" \t ",), "`TEXT` must hold a word, but is empty"),
        (("bad \udcff",), "`TEXT` must be UTF-8"),
        (("a", "--plain", "--format", "json"), "`--plain` formats text"),
        (("a", "--map", "--format", "json"), "`--map` formats text"),
        (("a", "--html", "."), "`--html` must be a file to write, but . is a folder"),
        (("a", "--model", ""), "`--model` must be a model's name or its folder, but is empty"),
        (("a", "--top", 0, "--layer", 1), "`--layer` chooses what to show, but with `--top` 0 nothing is shown"),
        (("a", "--top", 0, "--head", 1), "`--head` chooses what to show, but with `--top` 0 nothing is shown"),
        (("a", "--width", 31), "`--width` must be 32 or more, but is 31"),
    ],
)
def test_usage_mistakes(tag, words, message):
    code, out, err = tag(*words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_models_and_files_that_are_not_there(tag, capsys):
    assert main(["tag", "a", "-m", "no-such-model"]) == 2
    assert "'no-such-model'" in capsys.readouterr().err
    code, _, err = tag("-f", "/nowhere/a.txt")
    assert (code, err) == (1, "regard: /nowhere/a.txt: No such file or directory.\n")


def test_hostile_words_are_shown_and_never_obeyed(tag):
    out = tag("\x1b[31m [bold] </script> \u202e 👩\u200d👩 a\0b " + "x" * 10_000, "--map")[1]
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", out)
    assert "bold" in out
    assert "x" * 80 not in out
    assert "…" in out


def test_the_page_is_written_whole_and_offline(tag, tmp_path):
    path = tmp_path / "new" / "saw.html"
    code, out, err = tag("I <b> saw", "--html", path)
    # A single sentence needs no heading below the page's own.
    assert "<h2>toy</h2>" not in path.read_text("utf-8")
    assert code == 0
    assert err == f"Wrote {path}.\n"
    assert "saw" in out
    text = path.read_text("utf-8")
    assert text.startswith("<!doctype html>")
    assert "<bdi>&lt;</bdi>" in text or "&lt;b&gt;" in text
    assert 'class="map"' in text
    assert "toy: what each word attended to" in text
    assert list(path.parent.iterdir()) == [path]


def test_a_text_is_not_written_over_unless_forced(tag, tmp_path):
    (tmp_path / "keep.txt").write_text("I saw\n")
    words = "-f", tmp_path / "keep.txt", "--html", tmp_path / "keep.txt"
    code, out, err = tag(*words)
    assert (code, out) == (2, "")
    assert "is neither. Give another name, or --force to write over it." in err
    assert (tmp_path / "keep.txt").read_text() == "I saw\n"
    assert tag(*words, "--force")[0] == 0
    assert (tmp_path / "keep.txt").read_text("utf-8").startswith("<!doctype html>")


def test_a_page_that_cannot_be_written_leaves_nothing(tag, tmp_path):
    (tmp_path / "file").write_text("mine")
    # Told before anything is tagged.
    code, out, err = tag("I saw", "--html", tmp_path / "file" / "saw.html")
    assert (code, out) == (2, "")
    assert f"of {tmp_path}/file/saw.html {tmp_path}/file is no folder." in err
    assert (tmp_path / "file").read_text() == "mine"
    (tmp_path / "many.txt").write_text("a .\n" * 51)
    code, _, err = tag("-f", tmp_path / "many.txt", "--html", tmp_path / "many.html")
    assert code == 0
    assert err == f"Wrote {tmp_path / 'many.html'}, with the first 50 sources of {tmp_path / 'many.txt'}.\n"
    assert (tmp_path / "many.html").read_text("utf-8").count("<h2>") == 50


@pytest.mark.parametrize("top", [0, 1])
def test_lines_before_a_broken_one_are_answered(tag, tmp_path, top):
    for broken in (b"\xff", b"\xe2\x80\x8b", b"a " * 10_001):
        (tmp_path / "list.txt").write_bytes(b"a saw\nI saw\n" + broken + b"\na .\n")
        code, out, err = tag("-f", tmp_path / "list.txt", "--format", "json", "--top", top)
        assert (code, len(out.splitlines())) == (1, 2)
        assert err.startswith(f"regard: {tmp_path / 'list.txt'}, line 3: ")


def test_chinese_without_spaces_is_split_by_the_words_of_the_model(tag):
    found = json.loads(tag("常威看见来福", "--format", "json")[1])
    assert [item["text"] for item in found["items"]] == ["常威", "看见", "来福"]
    found = json.loads(tag("常威 看 见 来福", "--format", "json")[1])
    assert [item["text"] for item in found["items"]] == ["常威", "看", "见", "来福"]


@pytest.mark.parametrize(
    ("source", "answers", "task", "message"),
    [
        (Words(), ["yes", "no"], "classifier", "is a classifier: use regard predict."),
        (Words(), [0.5, 1.5], "tagger", "is a tagger that predicts numbers: use regard predict."),
        (Texts("characters", size=64), ["yes", "no"], "tagger", "is a tagger of texts: use regard predict."),
        (Graphs(), ["yes", "no"], "tagger", "is a tagger of graphs: use it from Python."),
    ],
)
def test_a_model_that_is_no_tagger_of_words_is_told_who_asks_it(tag, tmp_path, source, answers, task, message):
    sources = [Graph(torch.eye(3), torch.tensor([[0], [1]]))] if source.kind == "graphs" else ["a b", "c"]
    targets = [answers] if task == "tagger" else answers
    untrained(source, sources, targets, task={"kind": task}).save(tmp_path / "other")
    code, out, err = tag("I saw", "--model", tmp_path / "other")
    assert (code, out) == (2, "")
    assert err == f"regard: `--model` must be a tagger of words, but {tmp_path / 'other'} {message}\n"


def test_the_language_chooses_the_model(model, monkeypatch, capsys):
    import regard.tasks

    asked, load = [], regard.tasks.load

    def loaded(name, **_):
        asked.append(name)
        return load(model)

    monkeypatch.setattr("regard.tasks.load", loaded)
    for text in ("I saw", "我 看见", "看见 it"):
        assert main(["tag", text]) == 0
    assert main(["tag", "我", "--model", "english-pos"]) == 0
    capsys.readouterr()
    assert asked == ["english-pos", "chinese-pos", "chinese-pos", "english-pos"]


def test_each_line_of_a_mixed_file_has_the_model_of_its_language(model, monkeypatch, capsys, tmp_path):
    import regard.tasks

    asked, load = [], regard.tasks.load

    def loaded(name, **_):
        asked.append(name)
        tagger = load(model)
        tagger.name = name
        return tagger

    monkeypatch.setattr("regard.tasks.load", loaded)
    (tmp_path / "a.txt").write_text("我 看见\nI saw\nA saw\n来福\n", "utf-8")
    for words in ((), ("--top", "0")):
        asked.clear()
        assert main(["tag", "-f", str(tmp_path / "a.txt"), "--format", "json", *words]) == 0
        found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [(each["model"], each["items"][0]["text"]) for each in found] == [
            ("chinese-pos", "我"),
            ("english-pos", "I"),
            ("english-pos", "A"),
            ("chinese-pos", "来福"),
        ]
        assert asked == ["chinese-pos", "english-pos"]
    assert main(["tag", "-f", str(tmp_path / "a.txt"), "--html", str(tmp_path / "a.html")]) == 0
    assert "chinese-pos and english-pos: what each word attended to" in (tmp_path / "a.html").read_text("utf-8")


SLOW = ("I saw .", "saw a saw")


def asks(sentence, write, read):
    """Write a line into a pipe, and expect its answer before there is another."""
    write.write(sentence + "\n")
    write.flush()
    # Were the line kept until more come, both would wait for ever.
    assert select.select([read], [], [], 60)[0], "no answer"
    assert [item["text"] for item in json.loads(read.readline())["items"]] == sentence.split()


@pytest.mark.parametrize("top", ["0", "3"])
def test_a_slow_pipe_is_answered_line_by_line(model, top, monkeypatch):
    (asked, ask), (answered, answer) = os.pipe(), os.pipe()
    # Buffered as the streams of a process are.
    with open(asked) as stdin, open(answer, "w") as stdout, open(answered) as read, ThreadPoolExecutor(1) as other:

        def slowly():
            # Closed after a failure too, so that nobody waits for more.
            with open(ask, "w") as write:
                for sentence in SLOW:
                    asks(sentence, write, read)

        monkeypatch.setattr("sys.stdin", stdin)
        monkeypatch.setattr("sys.stdout", stdout)
        asking = other.submit(slowly)
        assert main(["tag", "-", "-m", model, "--top", top, "--format", "json"]) == 0
        asking.result()


@pytest.mark.slow
def test_ctrl_c_while_waiting_is_one_word_and_130(model):
    words = ["tag", "-", "--model", model, "--top", "0", "--format", "json"]
    with subprocess.Popen(
        [sys.executable, "-c", "from regard.__main__ import run; run()", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        # With an answer it begins to wait for the next line.
        asks(SLOW[0], process.stdin, process.stdout)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "regard: interrupted\n")


def test_a_terminal_that_is_not_utf8_shows_escapes(model, monkeypatch):
    # As PYTHONIOENCODING=ascii makes it.
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stdout)
    assert main(["tag", "看见", "--model", model, "--map"]) == 0
    said = stdout.buffer.getvalue()
    assert b"\\u770b\\u89c1" in said
    said.decode("ascii")
