"""A user's own files become splits, in whatever encoding and form they are."""

import dataclasses

import pytest

from regard.errors import ArgumentError, DataError, UnknownNameError
from regard.tasks import read_splits
from regard.tasks.readers import find_reader

ROWS = [f"die größte Schüssel {place} für schöne Gäste,{'ja' if place % 2 else 'öde'}" for place in range(60)]


def test_a_table_without_a_header_in_windows_1252(tmp_path):
    path = tmp_path / "reviews.csv"
    path.write_text("\n".join(ROWS), encoding="cp1252")
    with pytest.warns(UserWarning, match="is read as Windows-1252"):
        splits = read_splits(path, "classifier", columns={"header": ["text", "label"]})
    whole = tmp_path / "whole.csv"
    whole.write_text("\n".join(["text,label", *ROWS]), encoding="utf-8")
    assert splits.train == read_splits(whole, "classifier").train
    assert splits.dev == read_splits(whole, "classifier").dev
    # A named encoding isn't guessed, and may be wrong.
    splits = read_splits(path, "classifier", columns={"header": ["text", "label"]}, encoding="cp1250")
    assert "größte" in splits.train[0].source
    with pytest.raises(UnknownNameError, match="`encoding` must be one of utf-8"):
        read_splits(path, "classifier", encoding="klingon")


def test_words_in_columns_are_for_a_tagger(tmp_path):
    path = tmp_path / "ner.conll"
    path.write_text("\n\n".join(f"word{place} NN O\nsaid VB O" for place in range(40)), "utf-8")
    reader = find_reader(str(path), "tagger", usual_label="upos")
    # A model's label is taken only where the file has it.
    assert (reader.label, reader.title) == ("column3", "ner.conll: COLUMN3")
    assert find_reader(str(path), "tagger", usual_label="column2").label == "column2"
    assert len(read_splits(path, "tagger").train) > 20
    with pytest.raises(ArgumentError, match=r"has a label for each item. Take task='tagger'"):
        read_splits(path, "classifier")


@pytest.mark.parametrize(
    ("task", "advice", "other"),
    [
        ("tagger", "Write a sentence on each line, as word/TAG", "as a table"),
        ("classifier", "as a table", "word/TAG word"),
    ],
)
def test_the_advice_is_for_the_task(tmp_path, task, advice, other):
    path = tmp_path / "plain.txt"
    path.write_text("The room was clean.\n", "utf-8")
    with pytest.raises(DataError) as caught:
        find_reader(str(path), task)
    assert advice in str(caught.value)
    assert other not in str(caught.value)


def test_a_tagger_is_told_what_it_reads_instead_of_a_table(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\na,b\n", "utf-8")
    with pytest.raises(ArgumentError, match=r"Words with labels are read from CoNLL .* and from lines of word/TAG"):
        find_reader(str(path), "tagger")


def test_files_that_can_not_be_opened_are_left_out_if_asked(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for place in range(40):
        path = tmp_path / ("a", "b")[place % 2] / f"{place}.png"
        path.parent.mkdir(exist_ok=True)
        image.new("L", (8, 8), place).save(path)
    (tmp_path / "a" / "0.png").write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0")
    problems = []
    reader = dataclasses.replace(find_reader(str(tmp_path), "classifier").with_splits(), on_error=problems.append)
    assert sum(len(reader.read(split)) for split in reader.splits) == 40
    reader = dataclasses.replace(reader, opens=True)
    assert sum(len(reader.read(split)) for split in reader.splits) == 39
    (problem,) = problems
    assert "holds a HEIC picture" in str(problem)
    for path in tmp_path.rglob("*.png"):
        path.write_bytes(b"nothing")
    reader = dataclasses.replace(reader)
    with pytest.raises(DataError, match=r"every file of it is broken. The first: "):
        reader.read("train")


@pytest.mark.parametrize("point", [".", ","])
def test_labels_that_are_numbers_are_told(tmp_path, point):
    rows = "".join(f'walk {place},"{place}{point}5"\n' for place in range(60))
    (tmp_path / "a.csv").write_text(f"text,label\n{rows}", "utf-8")
    with pytest.raises(ArgumentError, match="They are numbers"):
        read_splits(tmp_path / "a.csv", "classifier")
