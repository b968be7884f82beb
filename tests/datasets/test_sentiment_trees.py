"""Trees of phrases, by hand and real."""

import re
from pathlib import Path

import pytest

from regard.datasets.example import Example
from regard.datasets.formats.sentiment_trees import read_phrases
from regard.errors import DataError


def read(tmp_path, content):
    (tmp_path / "a.txt").write_text(content, encoding="utf-8")
    return list(read_phrases(tmp_path / "a.txt"))


def test_every_phrase_with_its_degree(tmp_path):
    tree = "(4 (2 It) (3 (2 's) (0 (2 not) (1 BAD))))"
    assert read(tmp_path, f"{tree}\n\n(2 neutral)\n") == [
        Example("it", "neutral"),
        Example("'s", "neutral"),
        Example("not", "neutral"),
        Example("bad", "negative"),
        Example("not bad", "very negative"),
        Example("'s not bad", "positive"),
        Example("it 's not bad", "very positive"),
        Example("neutral", "neutral"),
    ]
    whole = read_phrases(tmp_path / "a.txt", sentences=True)
    assert [each.source for each in whole] == ["it 's not bad", "neutral"]


@pytest.mark.parametrize(
    ("tree", "wrong_from"),
    [
        ("(3 good", 8),
        ("(3 good))", 9),
        ("3 good", 1),
        ("(5 good)", 1),
        ("(3)", 1),
        ("(3 )", 4),
        ("()", 1),
        ("(3 good) (2 film)", 10),
        ("good", 1),
        ("(3 good) x", 10),
        (")", 1),
    ],
)
def test_brackets_that_do_not_match_are_named(tmp_path, tree, wrong_from):
    said = f"it must be a tree, as (3 (2 so) (3 good)), but isn't from character {wrong_from} on."
    with pytest.raises(DataError, match=re.escape(f"a.txt, line 2: {said}")):
        read(tmp_path, f"(2 fine)\n{tree}\n")


def test_a_broken_tree_is_told_and_left_out(tmp_path):
    (tmp_path / "a.txt").write_text("(3 (2 so) (3 good)\n(1 bad)\n")
    told = []
    assert list(read_phrases(tmp_path / "a.txt", on_error=told.append)) == [Example("bad", "negative")]
    assert [str(each).split(": ")[0][-6:] for each in told] == ["line 1"]


def test_a_deep_tree_needs_no_stack(tmp_path):
    assert len(read(tmp_path, "(3 " * 5003 + "x" + ")" * 5003)) == 5003


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_the_roots_are_the_sentences_of_sst2(real_data: Path, split):
    trees = real_data / "sst2" / "trees" / f"{split}.txt"
    sentences = (real_data / "sst2" / f"stsa.binary.{split}").read_text("utf-8").splitlines()
    wanted = {(line[2:], ("negative", "positive")[int(line[0])]) for line in sentences}
    roots = {(each.source, each.target.removeprefix("very ")) for each in read_phrases(trees, sentences=True)}
    assert wanted == {root for root in roots if root[1] != "neutral"}
