"""Pairs of texts: of one file, and of two that must keep step."""

import gzip
import re

import pytest

from regard.datasets.example import Example
from regard.datasets.formats.pairs import read_aligned, read_pairs
from regard.errors import DataError


def write(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    return path


def test_pairs_are_the_first_two_columns(tmp_path):
    path = write(tmp_path, "a.txt", "\ufeffHi.\t嗨。\tCC-BY\nRun.\t跑。\n\n")
    assert list(read_pairs(path)) == [Example("Hi.", "嗨。"), Example("Run.", "跑。")]


@pytest.mark.parametrize("line", ["Hi.", "Hi.\t", "\t嗨。", "Hi.\t \tCC-BY"])
def test_a_line_without_two_texts_is_named(tmp_path, line):
    path = write(tmp_path, "a.txt", f"a\tb\n{line}\nc\td\n")
    with pytest.raises(DataError, match=re.escape(f"{path}, line 2: a line must have two texts with a tab")):
        list(read_pairs(path))
    problems = []
    assert len(list(read_pairs(path, on_error=problems.append))) == 2
    assert len(problems) == 1


def test_two_files_keep_step(tmp_path):
    first, second = write(tmp_path, "a.en.gz", "one\ntwo\n"), write(tmp_path, "a.de", "eins\nzwei")
    assert list(read_aligned(first, second)) == [Example("one", "eins"), Example("two", "zwei")]


@pytest.mark.parametrize("swapped", [False, True])
def test_files_of_different_lengths_are_named(tmp_path, swapped):
    files = write(tmp_path, "long", "one\ntwo\nthree\n"), write(tmp_path, "short", "eins\nzwei\n")
    with pytest.raises(DataError, match=r"long, line 3: it goes on where .*short has ended"):
        list(read_aligned(*(reversed(files) if swapped else files)))


def test_an_empty_side_is_named_and_its_pair_left_out(tmp_path):
    first, second = write(tmp_path, "a", "one\n\nthree\n"), write(tmp_path, "b", "eins\nzwei\ndrei\n")
    with pytest.raises(DataError, match=r"a, line 2: the line is empty"):
        list(read_aligned(first, second))
    with pytest.raises(DataError, match=r"a, line 2: the line is empty"):
        list(read_aligned(second, first))
    problems = []
    assert [each.target for each in read_aligned(first, second, on_error=problems.append)] == ["eins", "drei"]
    assert len(problems) == 1
