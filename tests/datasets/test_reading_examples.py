"""A user's own files by their paths, and what has to be got by hand."""

import dataclasses
import gzip
import hashlib

import pytest
import torch

from regard.datasets import DatasetFile, canonical_smiles, check, count_duplicates, fetch, find, find_source, read
from regard.datasets import fetching as fetching_room
from regard.datasets.example import Example
from regard.errors import ArgumentError, DataError, MissingExtraError
from regard.inputs.sound.sound import Sound


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path_factory):
    monkeypatch.delenv("REGARD_DATA", raising=False)
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path_factory.mktemp("cache")))


def test_a_table_is_every_split(tmp_path):
    (tmp_path / "a.CSV").write_text("text,label\ngood,yes\n")
    for split in ("train", "dev", "test"):
        assert read(tmp_path / "a.CSV", split) == read(str(tmp_path / "a.CSV"), split) == [Example("good", "yes")]
    with pytest.raises(
        ArgumentError, match=r"`label` must be None for .*a.CSV, whose columns or folders give the label"
    ):
        read(tmp_path / "a.CSV", label="stars")


def test_columns_are_of_tables_alone(tmp_path):
    (tmp_path / "train.tsv").write_text("review\tstars\ngood\t4\n")
    (tmp_path / "cats" / "cat").mkdir(parents=True)
    (tmp_path / "cats" / "cat" / "1.wav").touch()
    columns = {"text": "review", "number": "stars"}
    assert read(tmp_path, "train", columns=columns) == [Example("good", 4.0)]
    assert [split.sentences for split in check(tmp_path, columns=columns).splits] == [1]
    (tmp_path / "graph").mkdir()
    (tmp_path / "graph" / "profiles.csv").write_text("name,label\na,x\nb,y\n")
    (tmp_path / "graph" / "edges.csv").write_text("a,b\n")
    # What lies there beside, and is no split, doesn't make tables of it.
    (tmp_path / "graph" / "train.csv").touch()
    (tmp_path / "cats" / ".train.csv").touch()
    (tmp_path / "a.npy").touch()
    (tmp_path / "a.conllu").touch()
    others = [tmp_path / name for name in ("cats", "graph", "a.npy", "a.conllu")]
    for other in (*others, "sst2", "ud-english-ewt"):
        for reads in (read, check):
            with pytest.raises(ArgumentError, match=r"`columns` .* must be left out for .*: only a table of your own"):
                reads(other, columns=columns)
    for reads in (read, check):
        with pytest.raises(DataError, match="there is no such file or folder"):
            reads(tmp_path / "nowhere", columns=columns)


def test_columns_are_of_the_split_that_is_read(tmp_path):
    (tmp_path / "train.csv").write_text("review,label\ngood,yes\n")
    (tmp_path / "dev.npz").touch()
    assert read(tmp_path, "train", columns={"text": "review"}) == [Example("good", "yes")]
    with pytest.raises(ArgumentError, match=r"must be left out for .*dev\.npz"):
        read(tmp_path, "dev", columns={"text": "review"})


def test_a_packed_table_is_one(tmp_path):
    for name in ("a.csv.gz", "train.tsv.gz"):
        row = "text,label\ngood,yes\n".replace(",", "\t" if "tsv" in name else ",")
        (tmp_path / name).write_bytes(gzip.compress(row.encode()))
    assert read(tmp_path / "a.csv.gz") == read(tmp_path, "train") == [Example("good", "yes")]
    assert read(tmp_path / "a.csv.gz", columns={"text": "label", "target": "text"}) == [Example("yes", "good")]


def test_a_folder_of_tables_has_splits(tmp_path):
    for split, label in (("train", "yes"), ("dev", "no")):
        (tmp_path / f"my-{split}.jsonl").write_text(f'{{"text": "{split}", "label": "{label}"}}\n')
    assert read(tmp_path, "dev") == [Example("dev", "no")]
    with pytest.raises(DataError, match=r"it has no file for the split 'test': none named like test.csv"):
        read(tmp_path, "test")
    (tmp_path / "my-train.csv").touch()
    with pytest.raises(DataError, match=r"one file for the split 'train', but has my-train.csv, my-train.jsonl"):
        read(tmp_path, "train")


@pytest.mark.parametrize("splits", [("train", "test"), ("",)])
def test_a_folder_of_classes(tmp_path, splits):
    for split in splits:
        for label in ("cat", "dog"):
            (tmp_path / split / label).mkdir(parents=True)
            (tmp_path / split / label / "1.wav").touch()
    assert [each.target for each in read(tmp_path, "test")] == ["cat", "dog"]
    assert read(tmp_path, "train")[0].source == tmp_path / splits[0] / "cat" / "1.wav"
    if splits != ("",):
        with pytest.raises(DataError, match="it has no folder for the split 'dev'"):
            read(tmp_path, "dev")


def test_vectors_are_read(tmp_path):
    path = tmp_path / "a.ts"
    path.write_text("@dimensions 1\n@classLabel true yes no\n@data\n1,2:yes\n7:no\n")
    assert [(each.source.tolist(), each.target) for each in read(path)] == [([[1], [2]], "yes"), ([[7]], "no")]
    path.write_text("@dimensions 1\n@classLabel false\n@data\n1,2\n")
    with pytest.raises(DataError, match="it has no labels, so there is nothing to learn"):
        read(path)


def test_problems_of_a_users_own_file_are_raised_or_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,number\ngood,x\nbad,1\n")
    with pytest.raises(DataError, match=r"a.csv, line 2: the column `number`"):
        read(path)
    problems = []
    assert len(read(path, on_error=problems.append)) == 1
    assert len(problems) == 1


def test_a_name_comes_before_a_folder_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fsdd" / "cat").mkdir(parents=True)
    with pytest.raises(DataError, match="fsdd has to be got by hand"):
        read("fsdd")


@pytest.mark.parametrize("name", ["fsdd", "fsdd-strings", "mnist"])
def test_what_can_not_be_downloaded_says_how_to_get_it(name, tmp_path, monkeypatch):
    assert find(name) is None
    with pytest.raises(DataError) as caught:
        fetch(name)
    folder = "fsdd" if name.startswith("fsdd") else name
    assert f"{name} has to be got by hand: g" in str(caught.value)
    assert str(caught.value).endswith(
        f"put the files into a folder {folder}, and let REGARD_DATA name the folder above it."
    )
    monkeypatch.setenv("REGARD_DATA", str(tmp_path))
    (tmp_path / folder / "recordings").mkdir(parents=True)
    assert find(name) is None


def test_what_comes_with_a_library_needs_no_file(monkeypatch):
    assert find("digits") == fetch("digits")
    assert fetch("digits").name == "sklearn"
    monkeypatch.setitem(__import__("sys").modules, "sklearn", None)
    assert find("digits") is None
    with pytest.raises(MissingExtraError, match=r"`sklearn` is not installed.*pip install '\.\[train\]'"):
        fetch("digits")


def test_a_file_below_a_folder_is_downloaded_to_its_place(tmp_path, monkeypatch):
    content = b"(3 good)\n"
    known = fetching_room.DATASETS["sst2-phrases"]
    file = DatasetFile(
        "https://example.org/raw/train.txt", hashlib.sha256(content).hexdigest(), 9, path="trees/train.txt"
    )
    toy = dataclasses.replace(known, name="toy", folder="", files={"trees": file})
    monkeypatch.setattr(fetching_room, "DATASETS", {"toy": toy})

    def receive(requests, url, output, *_):
        assert url == file.url
        output.write_bytes(content)
        return True

    monkeypatch.setattr(fetching_room, "_receive", receive)
    folder = fetch("toy")
    assert (folder / "trees" / "train.txt").read_bytes() == content
    assert [path.name for path in folder.rglob("*")] == ["trees", "train.txt"]
    assert find("toy") == folder


def test_a_treebank_is_asked_for_and_something_else_given():
    with pytest.raises(ArgumentError, match=r"`data` must be a treebank, .* but sst2 isn't: its sources are text"):
        _ = find_source("sst2").files


def test_duplicates_of_examples_are_counted(tmp_path):
    for name, content in (("1", b"x"), ("2", b"x"), ("3", b"y")):
        (tmp_path / name).write_bytes(content)
    one, same, other = (Example(tmp_path / name, "a") for name in "123")
    found = count_duplicates({"train": [one, other], "test": [same, same]})
    assert (found.distinct, found.shared, found.within) == (1, {("train", "test"): 2}, {"train": 0, "test": 1})
    texts = [Example("ａ", "x"), Example("a", "y")]
    assert count_duplicates({"train": texts}).within == {"train": 0}
    assert count_duplicates({"train": texts}, fold="width").within == {"train": 1}
    assert count_duplicates({"train": texts}, key=len).within == {"train": 1}
    pictures = [
        Example(torch.tensor([[1, 2]]), "x"),
        Example(torch.tensor([[1, 2]]), "x"),
        Example(torch.tensor([[1], [2]]), "x"),
    ]
    assert count_duplicates({"train": pictures}).within == {"train": 1}
    sounds = [Example(Sound(torch.zeros(1, 5), 8000), "x")] * 2
    assert count_duplicates({"train": sounds}).within == {"train": 1}


def test_a_graph_in_every_split_is_no_leak():
    report = check("karate")
    assert report.duplicates.distinct == 0
    assert [(each.split, each.sentences) for each in report.splits] == [("train", 1), ("dev", 1), ("test", 1)]
    assert sum(sum(each.labels.values()) for each in report.splits) == 34


@pytest.mark.parametrize(
    ("column", "one", "other"),
    [("text", "a warm  film", "A Warm film "), ("text", "café", "cafe\u0301"), ("smiles", "OCC", "[2H]OCC")],
)
def test_an_example_that_is_written_otherwise_is_the_same_one(tmp_path, column, one, other):
    for split, source in (("train", one), ("test", other)):
        (tmp_path / f"{split}.csv").write_text(f"{column},label\n{source},yes\n", "utf-8")
    assert check(tmp_path).duplicates.shared == {("train", "test"): 1}


def test_a_molecule_too_large_to_be_written_canonically_is_compared_as_it_is():
    assert canonical_smiles("C" * 20_000 + " ") == "C" * 20_000


def test_words_of_own_sentences_are_compared_without_capitals(tmp_path):
    for split, word in (("train", "Saw"), ("test", "saw")):
        line = "\t".join(("1", word, "_", "VERB", *"______"))
        (tmp_path / f"{split}.conllu").write_text(f"{line}\n", "utf-8")
    assert check(tmp_path).duplicates.shared == {("train", "test"): 1}


def test_own_tables_are_looked_over(tmp_path):
    (tmp_path / "train.csv").write_text("text,label\ngood film,pos\nbad film,neg\n", "utf-8")
    (tmp_path / "dev.csv").write_text("text,label\ngood film,pos\n,neg\nhm,odd\nmore\n", "utf-8")
    report = check(tmp_path)
    assert [(split.split, split.sentences) for split in report.splits] == [("train", 2), ("dev", 2)]
    assert report.duplicates.shared == {("train", "dev"): 1}
    empty, broken, new = report.problems
    assert "dev.csv, line 3: the column `text` is empty." in empty
    assert "dev.csv, line 5" in broken
    assert "never stands in the training split, so no model can learn it: odd" in new
    alone = check(tmp_path / "train.csv")
    assert [(split.split, split.labels) for split in alone.splits] == [("all", {"pos": 1, "neg": 1})]


def test_a_single_label_is_a_problem(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\ngood film,pos\nbad film,pos\n", "utf-8")
    assert check(tmp_path / "a.csv").problems == (
        f"{tmp_path / 'a.csv'}: every example has the label pos, so there is nothing to learn.",
    )
    (tmp_path / "a.conll").write_text("I X\nsaw X\n", "utf-8")
    assert check(tmp_path / "a.conll").problems == (
        f"{tmp_path / 'a.conll'}: every word has the label X, so there is nothing to learn.",
    )
