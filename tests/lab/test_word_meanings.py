"""Vectors of words that are counted, and the closeness of words, by hand."""

import math

import pytest
import torch

from regard.lab.texts.word_meanings import closeness, counted_vectors, drawn_vectors, usual_labels

SENTENCES = [["The", "cat", "sleeps"], ["the", "dog", "sleeps"], ["an", "apple", "falls"], ["an", "pear", "falls"]] * 2


def test_words_with_the_same_neighbours_have_the_same_vector():
    words = counted_vectors(SENTENCES, 4)
    near = dict(words.nearest("cat"))
    assert near["dog"] == pytest.approx(1, abs=1e-4)
    assert near["apple"] == pytest.approx(0, abs=1e-3)


def test_cosines_are_those_of_the_information():
    # In full width the decomposition only turns the vectors. "a" is twice before "x" and once before "y", "b" once
    # before "x" and once before "y"; both begin their sentences: the same row but for the words after.
    sentences = [["a", "x"], ["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"]]
    found = counted_vectors(sentences, 10, minimum=2)
    table = {("a", "<"): 3, ("a", "x"): 2, ("a", "y"): 1, ("b", "<"): 2, ("b", "x"): 1, ("b", "y"): 1}
    table |= {("x", "a"): 2, ("x", "b"): 1, ("x", ">"): 3, ("y", "a"): 1, ("y", "b"): 1, ("y", ">"): 2}
    rows, columns = {}, {}
    for (row, column), count in table.items():
        rows[row], columns[column] = rows.get(row, 0) + count, columns.get(column, 0) + count
    total = sum(rows.values())

    def information(row, column):
        count = table.get((row, column), 0)
        return max(0.0, math.log(count * total / (rows[row] * columns[column]))) if count else 0.0

    vectors = {row: torch.tensor([information(row, column) for column in columns]) for row in rows}
    for one in rows:
        for other in rows:
            got = found.vectors[found.words.index(one)] @ found.vectors[found.words.index(other)]
            assert float(got) == pytest.approx(float(vectors[one] @ vectors[other]), abs=1e-4)


def test_rare_words_have_no_vector_and_letters_are_small():
    words = counted_vectors([["The", "cat"], ["the", "dog"]], 2)
    assert words.words == ("the",)


def test_drawn_vectors_mean_nothing():
    names = [str(number) for number in range(400)]
    drawn = drawn_vectors(names, 64, seed=0)
    assert closeness(drawn.vectors, ["NOUN", "VERB"] * 200) == pytest.approx(0, abs=0.005)
    assert not torch.equal(drawn.vectors, drawn_vectors(names, 64, seed=1).vectors)


def test_closeness_by_hand():
    # Same: cos 0 (a, b), cos 1 (c, d). Different: a c 1, a d 1, b c 0, b d 0. Their means are equal.
    vectors = torch.tensor([[1.0, 0], [0, 2], [3, 0], [4, 0]])
    assert closeness(vectors, ["NOUN", "NOUN", "VERB", "VERB"]) == pytest.approx(0)
    # Opposite vectors of different labels: 1 - (-1).
    assert closeness(torch.tensor([[1.0], [1.0], [-1.0]]), ["NOUN", "NOUN", "VERB"]) == pytest.approx(2)


def test_closeness_of_a_single_label_is_none():
    assert closeness(torch.eye(2), ["NOUN", "NOUN"]) == 0


def test_usual_labels_are_the_most_frequent_of_frequent_words():
    pairs = [(["a", "A", "a", "b"], ["X", "Y", "X", "X"])]
    assert usual_labels(pairs, minimum=2) == {"a": "X"}
