"""Sequences of letters: the labels, found again by another way."""

import numpy as np
import pytest

from regard.lab.synthetic.letter_sequences import LETTERS, clues, distant_letters, nearest_letters


def written(vectors, more):
    """One-hot vectors as a text: the letters, and `more` for the kinds after them."""
    assert (vectors.sum(1) == 1).all()
    assert vectors.dtype == np.float32
    return "".join((LETTERS + more)[kind] for kind in vectors.argmax(1))


@pytest.mark.parametrize("distance", [-3, -1, 1, 2])
def test_a_distant_letter_is_the_one_at_the_distance(distance):
    for vectors, labels in distant_letters(20, 7, distance, seed=3):
        text = written(vectors, "")
        assert len(text) == len(labels) == 7
        shifted = text[distance:] + "-" * distance if distance > 0 else "-" * -distance + text[:distance]
        assert "".join(label or "-" for label in labels) == shifted


def test_letters_are_equally_frequent():
    text = "".join(written(vectors, "") for vectors, _ in distant_letters(200, 50, 1, seed=0))
    assert all(abs(text.count(letter) / len(text) - 1 / 8) < 0.015 for letter in LETTERS)


def test_each_question_asks_for_the_clue_at_its_distance():
    sides = set()
    for vectors, labels in clues(40, (1, 2, 5), seed=1):
        text = written(vectors, "?" + "." * 16)
        (place,) = (i for i, item in enumerate(text) if item in LETTERS)
        questions = [i for i, item in enumerate(text) if item == "?"]
        assert sorted(abs(i - place) for i in questions) == [1, 2, 5]
        assert [i for i, label in enumerate(labels) if label is not None] == questions
        assert {labels[i] for i in questions} == {text[place]}
        sides.add(questions[0] > place)
        assert all(i > place for i in questions) or all(i < place for i in questions)
    assert sides == {True, False}


def test_only_one_question_has_a_label_if_one_is_chosen():
    every, chosen = clues(10, (1, 4), seed=2), clues(10, (1, 4), seed=2, only=4)
    for (vectors, labels), (same, own) in zip(every, chosen, strict=True):
        assert (vectors == same).all()
        text = written(vectors, "?" + "." * 16)
        (place,) = (i for i, item in enumerate(text) if item in LETTERS)
        assert own == [label if abs(i - place) == 4 else None for i, label in enumerate(labels)]


def test_the_nearest_letter_is_found_by_walking_to_both_sides():
    seen = 0
    for vectors, labels in nearest_letters(30, 5, 20, seed=4):
        text = written(vectors, ".")
        assert 5 <= len(text) <= 20
        for i, label in enumerate(labels):
            found: set[str] = set()
            for step in range(1, len(text)):
                at = [j for j in (i - step, i + step) if 0 <= j < len(text) and text[j] != "."]
                if at:
                    found = {text[j] for j in at}
                    break
            expected = found.pop() if text[i] == "." and len(found) == 1 else None
            assert label == expected
            seen += label is not None
    assert seen > 100


@pytest.mark.parametrize("make", [lambda seed: distant_letters(3, 9, 1, seed), lambda seed: clues(3, (1, 4), seed)])
def test_the_seed_decides(make):
    one, again, other = make(1), make(1), make(2)
    assert all((a[0] == b[0]).all() and a[1] == b[1] for a, b in zip(one, again, strict=True))
    assert [labels for _, labels in one] != [labels for _, labels in other]
