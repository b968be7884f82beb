"""Pronunciations: variants, comments, broken lines."""

import re

import pytest

from regard.datasets.example import Example
from regard.datasets.known.pronunciations import read_pronunciations
from regard.errors import DataError


def test_variants_share_their_word(tmp_path):
    path = tmp_path / "a.dict"
    path.write_text(
        ";;; old comment\n'bout B AW1 T\na AH0\na(2) EY1 # letter\n(paren P ER0 EH1 N\n\n", encoding="utf-8"
    )
    assert list(read_pronunciations(path)) == [
        Example("'bout", "B AW1 T", "'bout"),
        Example("a", "AH0", "a"),
        Example("a", "EY1", "a"),
        Example("(paren", "P ER0 EH1 N", "(paren"),
    ]


def test_without_stress_what_only_it_set_apart_is_one(tmp_path):
    path = tmp_path / "a.dict"
    path.write_text("object AA1 B JH EH0 K T\nobject(2) AH0 B JH EH1 K T\nobject(3) AA0 B JH EH1 K T\nobjekt AA1\n")
    assert [(each.source, each.target) for each in read_pronunciations(path, stress=False)] == [
        ("object", "AA B JH EH K T"),
        ("object", "AH B JH EH K T"),
        ("objekt", "AA"),
    ]
    assert len(list(read_pronunciations(path))) == 4


@pytest.mark.parametrize("line", ["saw", "saw s ao", "saw S  AO1", "saw\tS AO1", "saw S AO3", "saw # S"])
def test_a_broken_line_is_named(tmp_path, line):
    path = tmp_path / "a.dict"
    path.write_text(f"a AH0\n{line}\nb B IY1\n", encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(f"{path}, line 2: a line must be a word and its phonemes")):
        list(read_pronunciations(path))
    problems = []
    assert [each.source for each in read_pronunciations(path, on_error=problems.append)] == ["a", "b"]
    assert len(problems) == 1
