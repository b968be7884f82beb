"""`regard predict` and `regard classify`: what was looked at, for every kind of source; and files of any origin."""

import csv
import io
import json
import re
import sys

import numpy as np
import pytest
import torch
from rich.cells import cell_len

from regard.cli.main import main
from regard.inputs import Graph, Sound, social_graph, write_sound
from regard.tasks.sources import INPUTS, Graphs, Molecules, Pictures, Speech, Texts, Vectors, Words
from tasks.source_cases import CASES, case_of
from tasks.toys import untrained

WORDS = Words(features={"minimum_count": 1})
NOISE = Sound(torch.randn(1, 800, generator=torch.Generator().manual_seed(3)) / 9, 8000)
FRIENDS = social_graph({"Ann": {"age": 31}, "Bob": {"age": 33}}, [("Ann", "Bob")])
MODELS = {
    "words": lambda: untrained(WORDS, ["a warm film", "good"]),
    "mean": lambda: untrained(WORDS, ["a warm film", "good"], task={"kind": "classifier", "pooling": "mean"}),
    "recurrent": lambda: untrained(WORDS, ["a warm film", "good"], network="recurrent"),
    "learned": lambda: untrained(WORDS, ["a warm film", "good"], position="learned"),
    "tagger": lambda: untrained(WORDS, ["a warm film", "good"], task={"kind": "tagger"}),
    "number": lambda: untrained(WORDS, ["a warm film", "good"], [0.5, 1.5]),
    "several": lambda: untrained(WORDS, ["a warm film", "good"], [(1, 0), (0, 1)]),
    "characters": lambda: untrained(Texts("characters", size=64), ["abc def", "good"]),
    "speech": lambda: untrained(Speech(), [NOISE]),
    "frames": lambda: untrained(Speech(), [NOISE], task={"kind": "tagger"}),
    "pictures": lambda: untrained(Pictures(), [np.eye(28)]),
    "scaled": lambda: untrained(Pictures(height=28, width=28), [np.eye(28)]),
    "molecules": lambda: untrained(Molecules(), ["CCO"], [(1, 0), (0, 1)]),
    "three": lambda: untrained(WORDS, ["a warm film", "good"], task={"kind": "tagger"}, members=3),
    "solubility": lambda: untrained(Molecules(), ["CCO"], [0.5, -1.5]),
    "vectors": lambda: untrained(Vectors(), [torch.eye(3)]),
    "graphs": lambda: untrained(Graphs(), [Graph(torch.eye(3), torch.tensor([[0], [1]]))]),
    "friends": lambda: untrained(Graphs(), [FRIENDS], [("yes", "no")], task={"kind": "tagger"}, position="none"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture
def predict(folder, tmp_path, capsys, monkeypatch):
    """Run `regard predict` with a toy in an empty folder: code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(kind, *words, stdin=None):
        if not (folder / kind).exists():
            MODELS[kind]().save(folder / kind)
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(["predict", str(folder / kind), *map(str, words)])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def speech():
    pytest.importorskip("librosa")
    pytest.importorskip("soundfile")


@pytest.fixture
def pillow():
    return pytest.importorskip("PIL.Image")


@pytest.fixture
def chemistry():
    pytest.importorskip("rdkit")


def test_the_answer_then_what_it_was_drawn_from(predict):
    code, out, err = predict("words", "a warm film", "--top", 2)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[:4] == ["a warm film", "", "answer  sure", lines[3]]
    assert lines[5] == "Pooling"
    assert lines[7].startswith("the whole  ")
    assert "1 other " in lines[9]
    assert "Layer" not in out
    assert "Layer 1 of 2, average of heads 1-2" in predict("words", "a warm film", "--layer", 1)[1]
    assert "Layer 2 of 2, head 2 of 2" in predict("words", "a warm film", "--head", 2)[1]


def test_without_asking_nothing_is_shown(predict):
    code, out, _ = predict("words", "a warm film", "good")
    assert (code, len(out.splitlines())) == (0, 2)
    assert predict("words", "a warm film", "good", "--top", 0)[1] == out


def test_the_map_comes_when_asked_for(predict):
    out = predict("words", "a warm film", "--map")[1]
    assert "Each row attends to the columns (1 a, 2 warm, 3 film)." in out
    assert "Layer 2 of 2, average of heads 1-2" in out


def test_a_classifier_without_attention_in_its_pooling_shows_its_layers(predict):
    out = predict("mean", "a warm film", "--top", 1)[1]
    assert "Pooling" not in out
    assert out.count("2 others") == 3
    long = predict("mean", "good " * 70, "--top", 1)[1]
    assert "Layer 2 of 2, average of heads 1-2, average over all 70 words" in long
    assert long.count("others") == 1


def test_a_network_without_attention_says_so(predict):
    assert "This model has no attention" not in predict("recurrent", "a warm film", "--top", 1)[1]
    out = predict("recurrent", "a warm film", "--layer", 1)[1]
    assert "This model has no attention except for its pooling." in out
    found = json.loads(predict("recurrent", "a warm film", "--layer", 1, "--format", "json")[1])
    assert found["why_no_attention"] == "This model has no attention except for its pooling."
    assert len(found["pooling"]) == 3


def test_a_tagger_shows_each_word(predict):
    out = predict("tagger", "a warm film", "--top", 1)[1]
    assert re.search(r"^a +warm +film$", out, re.MULTILINE)
    assert out.count("2 others") == 3


def test_json_with_what_was_looked_at(predict):
    found = json.loads(predict("words", "a warm film", "--format", "json", "--top", 2)[1])
    assert list(found)[:4] == ["source", "label", "score", "model"]
    assert [each["text"] for each in found["pooling"]] == [
        ["a", "warm", "film"][each["position"] - 1] for each in found["pooling"]
    ]
    assert (found["layer"], found["items"]) == (None, [])
    everything = json.loads(predict("words", "a warm film", "--format", "json", "--top", 9, "--layer", 1)[1])
    assert sum(each["weight"] for each in everything["pooling"]) == pytest.approx(1, abs=1e-5)
    for item in everything["items"]:
        assert sum(each["weight"] for each in item["attends"]) == pytest.approx(1, abs=1e-5)
    tagged = json.loads(predict("tagger", "a warm film", "--format", "json", "--top", 1)[1])
    assert [list(item) for item in tagged["items"]] == [["text", "label", "score", "attends"]] * 3


def test_watching_answers_as_not_watching_does(predict):
    texts = ["a warm film", "", "good good", "film"]
    for kind in ("words", "tagger"):
        plain = [json.loads(line) for line in predict(kind, *texts, "--format", "json")[1].splitlines()]
        seen = [json.loads(line) for line in predict(kind, *texts, "--format", "json", "--top", 1)[1].splitlines()]
        for one, other in zip(plain, seen, strict=True):
            assert one.get("label") == other.get("label")
            labels = [[item["label"] for item in each.get("items", [])] for each in (one, other)]
            assert labels[0] == labels[1] or kind == "words"


def test_plain_is_sentences_only(predict):
    out = predict("words", "a warm film", "--plain", "--map")[1]
    assert "the whole attends to " in out
    assert all(line.endswith(".") for line in out.splitlines())
    assert predict("words", "good", "--plain")[1].splitlines()[0] == "good."


def test_the_page_holds_every_source(predict, tmp_path):
    code, out, err = predict("words", "a <b> film", "good", "", "--html", "seen.html")
    assert (code, err) == (0, "Wrote seen.html.\n")
    assert len(out.splitlines()) == 3
    text = (tmp_path / "seen.html").read_text("utf-8")
    assert text.count("<h2>") == 3
    assert "<h2>a &lt;b&gt; film</h2>" in text
    assert text.count('class="map"') == 4
    alone = predict("words", "good", "--format", "json")[1]
    assert predict("words", "good", "--format", "json", "--html", "seen.html")[1] == alone


def test_only_a_page_of_ours_is_written_over(predict, tmp_path):
    for name, held in (("keep.txt", b"good\n"), ("keep.html", b"<!doctype html><title>mine</title>"), ("none", b"")):
        (tmp_path / name).write_bytes(held)
        code, out, err = predict("words", "-f", "keep.txt", "--html", name)
        assert (code, out) == (2, "")
        assert f"must be a new file, or a page that regard wrote, but {name} is neither. Give another name, or" in err
        assert (tmp_path / name).read_bytes() == held
    for name in ("seen.html", "seen.html", "./seen.html"):
        assert predict("words", "good", "--html", name)[0] == 0
    assert predict("words", "-f", "keep.txt", "--html", "keep.html", "--force")[0] == 0
    assert (tmp_path / "keep.html").read_text("utf-8").count("<h2>") == 1
    # A device would be replaced by a file.
    assert "is no regular file" in predict("words", "good", "--html", "/dev/null", "--force")[2]


def test_a_page_holds_fifty_sources(predict, tmp_path):
    found = predict("words", *["good"] * 51, "--html", "many.html")
    assert found == (2, "", "regard: `--html` takes up to 50 sources, but there are 51. Give fewer, or leave it out.\n")
    assert not (tmp_path / "many.html").exists()
    (tmp_path / "list.txt").write_text("good\n" * 51)
    code, out, err = predict("words", "-f", "list.txt", "--html", "many.html")
    assert (code, len(out.splitlines()), err) == (0, 51, "Wrote many.html, with the first 50 sources of list.txt.\n")
    assert (tmp_path / "many.html").read_text("utf-8").count("<h2>") == 50


@pytest.mark.parametrize("width", [32, 60, 120])
def test_it_fits_the_width(predict, speech, tmp_path, width):
    write_sound(tmp_path / "noise.wav", NOISE)
    out = predict("speech", "noise.wav", "--map", "--layer", 1, "--width", width)[1]
    assert max(map(cell_len, out.splitlines())) <= width


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give either sources or -f FILE"),
        (("a", "-f", "b"), "give either sources or -f FILE"),
        (("a", "--top", -1), "`--top` must be 0 or more, but is -1"),
        (("a", "--top", 0, "--head", 1), "`--head` chooses what to show, but with `--top` 0 nothing is shown"),
        (("a", "--layer", 3), "`--layer` must be from 1 to 2, but is 3"),
        (("a", "--head", 3), "`--head` must be from 1 to 2 in layer 2, but is 3"),
        (("a", "--map", "--format", "json"), "`--map` formats text, but `--format` is json"),
        (("a", "--plain", "--format", "csv"), "`--plain` formats text, but `--format` is csv"),
        (("a", "--top", 1, "--format", "csv"), "`--top` lists weights, for which csv has no columns"),
        (("a", "--html", "."), "`--html` must be a file to write, but . is a folder"),
        (("a", "--html", "/dev/null/seen.html"), "but of /dev/null/seen.html /dev/null is no folder"),
        (("a", "--width", 31), "`--width` must be 32 or more"),
    ],
)
def test_usage_mistakes(predict, words, message):
    code, out, err = predict("words", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_standard_input(predict):
    for words in (("-",), ("-f", "-")):
        code, out, _ = predict("words", *words, stdin=b"a warm film\ngood\n")
        assert (code, [line.split("%")[1].strip() for line in out.splitlines()]) == (0, ["a warm film", "good"])


# Texts.


def test_a_text_that_holds_nothing_has_no_answer(predict):
    for kind in ("words", "tagger", "characters"):
        code, out, err = predict(kind, "", "good")
        assert (code, err) == (0, "")
        assert out.splitlines()[0].split() == ["nothing"]
    assert "There is no word in it" in predict("words", "", "--map")[1]
    assert json.loads(predict("words", "", "--format", "json", "--top", 1)[1])["label"] is None


@pytest.mark.parametrize(
    ("kind", "nothing", "columns"),
    [
        ("words", {"label": None}, "source,label,score"),
        ("number", {"number": None}, "source,number"),
        ("several", {"1": None, "2": None}, "source,1,2"),
        ("tagger", {"items": []}, "source,text,label,score"),
    ],
)
def test_nothing_has_the_names_of_an_answer(predict, kind, nothing, columns):
    assert json.loads(predict(kind, "", "--format", "json")[1]) == {"source": "", **nothing}
    assert json.loads(predict(kind, "", "--format", "json", "--top", 1)[1]).items() >= nothing.items()
    code, out, err = predict(kind, "", "good", "--format", "csv")
    assert (code, err) == (0, "")
    assert out.splitlines()[:2] == [columns, "," * columns.count(",")]
    assert out.splitlines()[2].startswith("good,")


# Of 20,000 items that look at each other a tiny model, too, takes seconds.
@pytest.mark.parametrize("kind", ["words", pytest.param("characters", marks=pytest.mark.exhaustive), "tagger"])
def test_20_000_characters(predict, kind):
    text = "warm " * 4000
    code, out, err = predict(kind, text)
    assert (code, err, len(out.splitlines())) == (0, "", 1)
    code, out, err = predict(kind, text, "--layer", 1, "--top", 1, "--map")
    assert (code, err) == (0, "")
    out = " ".join(out.split())
    items = {"words": "4,000 words", "characters": "20,000 pieces", "tagger": "4,000 words"}[kind]
    assert f"Layer 1 of 2, average of heads 1-2, average over all {items}" in out
    assert f"The source has {items}; a map has 2,000 at most." in out
    assert ("Pooling" in out) == (kind != "tagger")


def test_400_words_for_a_model_that_saw_three(predict):
    code, out, _ = predict("words", "warm " * 400, "--top", 1)
    assert code == 0
    assert "399 others" in out
    code, _, err = predict("learned", "good", "warm " * 513)
    assert code == 2
    assert "a source may have 512 words, the number of positions that learned has learned, but one has 513" in err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "list.txt: there is nothing to predict for, it is empty"),
        (b"\n \n", "list.txt: there is nothing to predict for, every line in it is empty"),
        (b"\x89PNG\r\n\x1a\n\0\0", "list.txt, line 1: it isn't UTF-8"),
        (b"good\n\0\0", "list.txt, line 2: it holds a zero byte: it isn't text"),
    ],
)
def test_a_list_that_can_not_be_used(predict, tmp_path, content, message):
    (tmp_path / "list.txt").write_bytes(content)
    code, _, err = predict("words", "-f", "list.txt")
    assert (code, message in err, err.count("\n")) == (1, True, 1)


@pytest.mark.parametrize("broken", [b"\xff", b"x" * 1_000_001])
def test_lines_before_a_broken_one_are_answered(predict, tmp_path, broken):
    (tmp_path / "list.txt").write_bytes(b"good\nwarm\n" + broken + b"\na film\n")
    code, out, err = predict("words", "-f", "list.txt")
    assert (code, [line.split()[-1] for line in out.splitlines()]) == (1, ["good", "warm"])
    assert err.startswith("regard: list.txt, line 3: ")


@pytest.mark.parametrize(
    ("name", "kind", "told"),
    [
        ("own.conllu", "tagger", "regard evaluate MODEL --data FILE"),
        ("own.ts", "vectors", "this is a source itself. Leave -f out"),
        ("own.csv", "vectors", "this is a table of series itself. Leave -f out"),
        ("own.wav", "speech", "this is a source itself"),
    ],
)
def test_a_source_itself_is_no_list_of_sources(predict, tmp_path, name, kind, told):
    (tmp_path / name).write_text("1,2,3\n4,5,6\n" * 5, encoding="utf-8")
    code, out, err = predict(kind, "-f", name)
    assert (code, out) == (1, "")
    assert told in " ".join(err.split())


def test_a_table_of_the_names_of_files_is_a_list(predict, tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3, dtype=np.float32))
    for head in ("path\n", ""):
        (tmp_path / "list.csv").write_text(f"{head}a.npy\n", encoding="utf-8")
        code, out, _ = predict("vectors", "-f", "list.csv")
        assert code == 0
        assert "a.npy" in out
    code, _, err = predict("vectors", "-f", "missing.npy")
    assert code == 1
    assert "source itself" not in err


def test_a_list_that_is_not_there(predict, tmp_path):
    assert predict("words", "-f", "missing.txt")[::2] == (1, "regard: missing.txt: No such file or directory.\n")
    assert predict("words", "-f", ".")[::2] == (1, "regard: .: Is a directory.\n")


# Recordings.


def test_recordings_of_any_origin(predict, speech, tmp_path):
    soundfile = pytest.importorskip("soundfile")
    noise = np.random.default_rng(0).standard_normal((44100, 2)) / 9
    soundfile.write(tmp_path / "stereo.wav", noise, 44100)
    soundfile.write(tmp_path / "silent.wav", np.zeros(0), 8000)
    code, out, err = predict("speech", "stereo.wav", "silent.wav")
    assert (code, err) == (0, "")
    assert out.splitlines()[1].split() == ["nothing", "silent.wav"]
    seen = json.loads(predict("speech", "stereo.wav", "--format", "json", "--top", 100)[1])
    assert {each["text"] for each in seen["pooling"]} == {f"{place / 100:.2f} s" for place in range(100)}
    out = predict("frames", "stereo.wav", "--top", 2)[1]
    assert "average over all 100 frames" in out
    assert out.count("the whole") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "a source must be the name of a file, but is empty"),
        ("missing.wav", "missing.wav: it can't be opened (No such file or directory)"),
        (".", ".: it can't be opened (Is a directory)"),
        ("text.wav", "text.wav: it can't be read as a sound"),
    ],
)
def test_what_is_no_recording(predict, speech, tmp_path, name, message):
    (tmp_path / "text.wav").write_text("no sound")
    write_sound(tmp_path / "noise.wav", NOISE)
    code, out, err = predict("speech", "noise.wav", name)
    assert (code, message in err, err.count("\n")) == (1, True, 1)
    # Those before it have been answered.
    assert out.endswith("noise.wav\n")
    (tmp_path / "list.txt").write_text(f"noise.wav\n{name or '?'}\n")
    code, out, err = predict("speech", "-f", "list.txt")
    assert (code, out.endswith("noise.wav\n")) == (1, True)
    assert err.startswith("regard: list.txt, line 2: ")


# Pictures.


def test_a_photograph_for_a_model_of_28_pixels(predict, pillow, tmp_path):
    levels = np.random.default_rng(0).integers(0, 255, (2000, 3000, 3), dtype=np.uint8)
    pillow.fromarray(levels).save(tmp_path / "photo.jpg")
    code, out, err = predict("pictures", "photo.jpg")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("regard: photo.jpg: a source may have 30,000 patches")
    assert "but one has 375,000. Scale it down first, or train a model whose input has a `height`" in err
    # A model whose pictures are all scaled takes one of any size.
    code, out, err = predict("scaled", "photo.jpg", "--map")
    assert (code, err) == (0, "")
    assert re.search(r"^  1 2 3 4 5 6 7$", out, re.MULTILINE)


def test_a_picture_of_another_size(predict, pillow, tmp_path):
    pillow.fromarray(np.zeros((13, 41), dtype=np.uint8)).save(tmp_path / "wide.png")
    code, out, _ = predict("pictures", "wide.png", "--map")
    assert code == 0
    assert "Rows and columns are those of the picture." in out
    assert re.search(r"^4 \S+$", out, re.MULTILINE)
    assert "Layer 2 of 2, average of heads 1-2, average over all 44 patches" in out
    # What each of the patches looked at is shown when its layer is asked for.
    assert "numbered as the rows are" not in out
    assert "numbered as the rows are" in predict("pictures", "wide.png", "--map", "--layer", 1)[1]


def test_a_broken_picture(predict, pillow, tmp_path):
    pillow.fromarray(np.eye(28, dtype=np.uint8)).save(tmp_path / "whole.png")
    (tmp_path / "half.png").write_bytes((tmp_path / "whole.png").read_bytes()[:50])
    (tmp_path / "empty.png").write_bytes(b"")
    for name in ("half.png", "empty.png"):
        code, out, err = predict("pictures", "whole.png", name)
        assert (code, err.count("\n")) == (1, 1)
        assert err.startswith(f"regard: {name}: it can't be read as a picture")
        assert out.endswith("whole.png\n")


# Texts of any kind.


@pytest.mark.parametrize("kind", [kind for kind in CASES if INPUTS[kind].argument == "text"])
def test_each_kind_that_is_typed_on_the_command_line(predict, monkeypatch, kind):
    source, (first, *others), names = case_of(kind)
    monkeypatch.setitem(MODELS, f"typed {kind}", lambda: untrained(source, [first, *others]))
    code, out, err = predict(f"typed {kind}", *others, first, "--top", len(names))
    assert (code, err) == (0, "")
    assert all(each in out for each in (*others, first))
    assert all(re.search(rf"^(the whole)? +{re.escape(name)} .*%$", out, re.MULTILINE) for name in names)


# Molecules.


def test_molecules(predict, chemistry):
    code, out, err = predict("molecules", "C" * 300, "CCO")
    assert (code, err) == (0, "")
    out = predict("molecules", "OCC", "--top", 2, "--map")[1]
    assert re.search(r"^the whole +[OC]\d ", out, re.MULTILINE)
    assert "0 is exactly 0" in out
    assert "299 others" in predict("solubility", "C" * 300, "--top", 1)[1]


@pytest.mark.parametrize(
    ("smiles", "message"),
    [
        ("CC(", "`smiles` must be a molecule, but 'CC(' isn't one: syntax error"),
        ("", "`smiles` must be a molecule, but is empty"),
        ("c1ccccc", "`smiles` must be a molecule, but 'c1ccccc' isn't one"),
    ],
)
def test_what_is_no_molecule(predict, chemistry, smiles, message):
    code, out, err = predict("solubility", "CCO", smiles)
    assert (code, message in err, err.count("\n")) == (2, True, 1)
    assert out.endswith("CCO\n")


def test_the_heads_of_several_nets_stand_side_by_side(predict):
    code, out, _ = predict("three", "a warm film", "--top", "1", "--head", "6", "--format", "json")
    assert (code, len(json.loads(out)["items"])) == (0, 3)
    code, out, _ = predict("three", "a warm film", "--map", "--head", "6")
    assert (code, "head 6 of 6" in out) == (0, True)
    code, _, err = predict("three", "a warm film", "--map", "--head", "7")
    assert (code, "must be from 1 to 6 in layer 2, but is 7" in err) == (2, True)


# Vectors, and graphs.


def test_files_of_vectors(predict, tmp_path):
    np.savez(tmp_path / "two.npz", first=np.ones((4, 3)), second=np.zeros((2, 3)))
    np.save(tmp_path / "one.npy", np.ones((4, 3)))
    rows = [*csv.DictReader(io.StringIO(predict("vectors", "two.npz", "one.npy", "--format", "csv")[1]))]
    assert [row["source"] for row in rows] == ["two.npz: first", "two.npz: second", "one.npy"]
    assert rows[0]["score"] == pytest.approx(rows[2]["score"])
    for name, message in (("missing.npy", "there is no such file"), ("a.wav", "`path` must end in one of .npy")):
        code, _, err = predict("vectors", name)
        assert (code, message in err, err.startswith(f"regard: {name}: ")) == (1, True, True)


def test_a_folder_with_a_graph(predict, tmp_path):
    (tmp_path / "friends").mkdir()
    (tmp_path / "friends" / "profiles.csv").write_text("name,age\nDan,40\nEve,\n")
    (tmp_path / "friends" / "edges.csv").write_text("Dan,Eve\n")
    rows = [*csv.DictReader(io.StringIO(predict("friends", "friends", "--format", "csv")[1]))]
    assert [(row["source"], row["text"]) for row in rows] == [("friends", "Dan"), ("friends", "Eve")]
    code, out, _ = predict("friends", "friends", "--top", "1", "--format", "json")
    assert (code, [item["text"] for item in json.loads(out)["items"]]) == (0, ["Dan", "Eve"])
    (tmp_path / "friends" / "profiles.csv").write_text("name,age,height\nDan,40,180\nEve,30,170\n")
    (tmp_path / "less").mkdir()
    (tmp_path / "less" / "profiles.csv").write_text("name,job\nDan,cook\nEve,smith\n")
    (tmp_path / "less" / "edges.csv").write_text("Dan,Eve\n")
    for name, message in (
        ("nowhere", "nowhere: it must be a folder with profiles.csv and edges.csv, but there is no such folder."),
        ("", "a source must be the name of a folder, but is empty."),
        ("friends", "friends/profiles.csv: `profiles` must be one of age, but is 'height'."),
        ("less", "less/profiles.csv, line 1: it must have a column 'age', which the encoder was fitted to"),
    ):
        code, out, err = predict("friends", name)
        assert (code > 0, out, err.startswith(f"regard: {message}"), err.count("\n")) == (True, "", True, 1)


def test_graphs_of_vectors_are_asked_from_python(predict):
    code, _, err = predict("graphs", "a")
    assert code == 2
    assert "graphs reads graphs whose nodes have vectors instead of profiles: use it from Python" in err


# Progress.


def test_progress_is_shown_on_a_terminal_only(predict, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    assert predict("words", *["good"] * 30)[0] == 0
    assert "predicting" in terminal.getvalue()
    terminal.truncate(0)
    assert predict("words", *["good"] * 3)[0] == 0
    assert "predicting" not in terminal.getvalue()


# The script of Chinese.


def test_a_traditional_text_is_told_and_converted(capsys, tmp_path):
    pytest.importorskip("opencc")
    traditional, simplified = "這個房間很乾淨，服務也好。", "这个房间很干净，服务也好。"
    assert main(["predict", "chinese-sentiment", simplified]) == 0
    wanted, err = capsys.readouterr()
    assert err == ""
    assert main(["predict", "chinese-sentiment", traditional]) == 0
    assert "is in traditional characters, but chinese-sentiment was trained on simplified" in capsys.readouterr().err
    (tmp_path / "list.txt").write_text(f"{traditional}\n", "utf-8")
    for words in (
        ["predict", "chinese-sentiment", traditional],
        ["classify", traditional],
        ["classify", "-f", str(tmp_path / "list.txt")],
    ):
        assert main([*words, "--script", "simplified"]) == 0
        # The converted text is shown, with the answer that it has by itself.
        assert capsys.readouterr() == (wanted, "")
    assert main(["translate", "他在讀書。", "--script", "simplified"]) == 0
    converted = capsys.readouterr().out
    assert main(["translate", "他在读书。"]) == 0
    assert capsys.readouterr().out == converted


def test_only_texts_have_a_script(predict, speech, capsys):
    write_sound("noise.wav", NOISE)
    code, _, err = predict("speech", "noise.wav", "--script", "simplified")
    assert (code, err) == (
        2,
        "regard: `--script` converts texts, but a source of speech is a recording. Leave it out.\n",
    )
    code, _, err = predict("words", "a", "--script", "simplifed")
    assert (code, err.count("\n")) == (2, 1)
    assert "`--script` must be one of simplified, traditional, but is simplifed." in err
    assert main(["transcribe", "noise.wav", "--script", "simplified"]) == 2
    assert "there is no option --script" in capsys.readouterr().err


def test_without_opencc_what_is_missing_is_named(predict, monkeypatch):
    from regard.inputs.text import script

    monkeypatch.setitem(sys.modules, "opencc", None)
    script._converter.cache_clear()
    code, _, err = predict("words", "a", "--script", "simplified")
    assert (code, err) == (
        1,
        "regard: `opencc` is not installed. It comes with an extra; in the clone of regard: pip install '.[data]'\n",
    )


# The short name.


def test_classify_says_what_there_is(capsys):
    for text, name in (("a film", "english-sentiment"), ("房间 干净", "chinese-sentiment")):
        code = main(["classify", text])
        if code:  # until such a model is bundled
            err = capsys.readouterr().err
            assert (code, err.count("\n")) == (2, 1)
            assert f"the model {name} doesn't come with this version of regard; chinese-pos, english-pos" in err
            assert "Name one of your own by `--model`" in err


@pytest.mark.parametrize("name", ["english-sentiment", "{folder}/words", "{folder}/run"])
def test_classify_tells_of_a_model_among_the_sources(tmp_path, capsys, name):
    for folder in ("words", "run/model"):
        MODELS["words"]().save(tmp_path / folder)
    model = name.format(folder=tmp_path)
    assert main(["classify", model, "a warm film"]) == 0
    # That the name of a folder is no English sentence may be told, too.
    told = capsys.readouterr().err.splitlines()[0]
    assert told == f"Note: {model} is taken for a source. If you mean the model, name it by --model {model}."


@pytest.mark.parametrize(
    "given",
    [
        ["english-sentiment"],
        ["a warm film", "english-sentiment"],
        ["x" * 5000, "a film"],
        ["--model", "english-sentiment", "english-sentiment", "a film"],
    ],
)
def test_classify_tells_of_nothing_else(capsys, given):
    assert main(["classify", *given]) == 0
    assert capsys.readouterr().err == ""


def test_classify_with_a_model_of_ones_own(predict, folder, capsys):
    out = predict("words", "a warm film", "--top", 1)[1]
    assert main(["classify", "--model", str(folder / "words"), "a warm film", "--top", "1"]) == 0
    assert capsys.readouterr().out == out
    assert main(["classify", "--model", "english-pos", "a film"]) == 2
    assert "`--model` must be a classifier, but english-pos is a tagger" in capsys.readouterr().err


def test_each_line_has_the_classifier_of_its_language(folder, predict, monkeypatch, tmp_path, capsys):
    import regard.tasks

    predict("words", "good")
    asked, load = [], regard.tasks.load

    def loaded(name, **_):
        asked.append(name)
        return load(folder / "words")

    monkeypatch.setattr("regard.tasks.load", loaded)
    monkeypatch.setattr("regard.tasks.bundled", lambda: {"english-sentiment": None, "chinese-sentiment": None})
    (tmp_path / "list.txt").write_text("房间\ngood\nwarm\n干净\n", "utf-8")
    assert main(["classify", "-f", "list.txt"]) == 0
    assert [line.split("%")[1].strip() for line in capsys.readouterr().out.splitlines()] == [
        "房间",
        "good",
        "warm",
        "干净",
    ]
    assert asked == ["chinese-sentiment", "english-sentiment"]


def test_the_sources_of_a_table_are_those_of_its_column(predict, tmp_path):
    (tmp_path / "a.csv").write_text('id,review,stars\n1,"warm, good",4\n2,,3\n3,film,1\n')

    def sources(*words):
        code, out, err = predict("words", "-f", *words, "--format", "csv")
        assert code == 0, err
        return [row["source"] for row in csv.DictReader(io.StringIO(out))], err

    wanted = ["warm, good", "film"]
    assert sources("a.csv", "--column", "text=review") == (wanted, "")
    found, err = sources("a.csv", "--columns", ",text,label")
    assert (found, "the first line (id, review, stars) seems to name the columns" in err) == (wanted, True)
    found, err = sources("a.csv")
    assert (len(found), "a.csv: each line is read as a source. If it is a table, name its column" in err) == (4, True)
    (tmp_path / "b.tsv").write_bytes("text\tlabel\nwärm\tx\n".encode("cp1252"))
    assert sources("b.tsv", "--encoding", "cp1252") == (["wärm"], "")
    (tmp_path / "b.jsonl").write_text('{"text": "warm"}\n')
    assert sources("b.jsonl") == (["warm"], "")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            ["-f", "a.csv", "--column", "text=revue"],
            1,
            "line 1: it has no column 'revue', but id, review. Name the one",
        ),
        (["-f", "a.txt", "--column", "text=review"], 2, "must end in .csv, .tsv, .jsonl to have columns, but is a.txt"),
        (["a text", "--column", "text=review"], 2, "`--column` names columns of a table, but none is given"),
        (["-f", "-", "--columns", "text"], 2, "`--columns` names columns of a table, but none is given"),
        (["-f", "none.csv", "--column", "text=review"], 1, "none.csv: there is no such file"),
        (["-f", "empty.csv"], 1, "empty.csv: there is nothing to predict for: no row has a source"),
    ],
)
def test_a_column_that_is_not_there(predict, tmp_path, words, code, message):
    (tmp_path / "a.csv").write_text("id,review\n1,warm\n")
    (tmp_path / "a.txt").write_text("warm\n")
    (tmp_path / "empty.csv").write_text("text,label\n,x\n")
    found, out, err = predict("words", *words)
    assert (found, out, message in err) == (code, "", True), err
