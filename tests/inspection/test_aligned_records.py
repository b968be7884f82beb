"""Which item of one record is which of another, worked by hand and by the table of lengths."""

import random

import numpy as np
import pytest

from regard.inspection import DrawnPicture, Outcomes, Place, Record
from regard.inspection.explain.alignment import align, align_texts

N = None
BY_HAND = {
    "the same": ("I saw it", "I saw it", ((0, 0), (1, 1), (2, 2))),
    "a word replaced": ("I saw a saw .", "I saw a cat .", ((0, 0), (1, 1), (2, 2), (3, 3), (4, 4))),
    "a word added": ("I saw a saw .", "I saw a big saw .", ((0, 0), (1, 1), (2, 2), (N, 3), (3, 4), (4, 5))),
    "a word left out": ("a big saw", "a saw", ((0, 0), (1, N), (2, 1))),
    "one for two": ("I saw it .", "I saw a cat .", ((0, 0), (1, 1), (2, N), (N, 2), (N, 3), (3, 4))),
    "moved by one": ("a b c d", "b c d e", ((0, N), (1, 0), (2, 1), (3, 2), (N, 3))),
    "nothing in common": ("a b", "c d", ((0, 0), (1, 1))),
    "nothing in common, other lengths": ("a", "c d", ((0, N), (N, 0), (N, 1))),
    "beside the next": ("a b , a c", "a c", ((0, N), (1, N), (2, N), (3, 0), (4, 1))),
    "as many neighbours": ("a b b c", "a b c", ((0, 0), (1, 1), (2, N), (3, 2))),
    "elsewhere, too": ("a d p , a g e", "a g p", ((0, N), (1, N), (2, N), (3, N), (4, 0), (5, 1), (6, N), (N, 2))),
    "places changed": ("the dog saw the cat", "the cat saw the dog", tuple((at, at) for at in range(5))),
    "the first is empty": ("", "c", ((N, 0),)),
    "both are empty": ("", "", ()),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_texts_by_hand(name):
    first, second, expected = BY_HAND[name]
    assert align_texts(first.split(), second.split()) == expected


def test_a_space_at_the_end_of_a_piece_changes_nothing():
    assert align_texts((" I", " saw", " it"), ("I", "it")) == ((0, 0), (1, None), (2, 1))
    assert align_texts((" ", "a"), ("a",)) == ((0, None), (1, 0))


def longest(first, second):
    """The length of the longest common subsequence, by the table of all prefixes."""
    table = np.zeros((len(first) + 1, len(second) + 1), int)
    for i, a in enumerate(first, start=1):
        for j, b in enumerate(second, start=1):
            table[i, j] = table[i - 1, j - 1] + 1 if a == b else max(table[i - 1, j], table[i, j - 1])
    return int(table[-1, -1])


def test_as_many_items_are_the_same_as_can_be():
    chance = random.Random(0)
    for _ in range(400):
        first, second = ([chance.choice("abc") for _ in range(chance.randrange(9))] for _ in range(2))
        pairs = align_texts(first, second)
        assert [one for one, _ in pairs if one is not None] == list(range(len(first)))
        assert [other for _, other in pairs if other is not None] == list(range(len(second)))
        same = sum(first[a] == second[b] for a, b in pairs if a is not None and b is not None)
        assert same == longest(first, second)


def test_a_long_text_takes_no_time():
    chance = random.Random(1)
    texts = [[str(chance.randrange(3000)) for _ in range(8192)] for _ in range(2)]
    pairs = align_texts(*texts)
    assert {one for one, _ in pairs} >= set(range(8192))


def picture(rows, columns):
    drawn = DrawnPicture(np.zeros((rows, columns, 3), np.uint8), (rows, columns))
    items = tuple(f"{row}, {column}" for row in range(rows) for column in range(columns))
    return Record(items, grid=(rows, columns), noun="patch", input=drawn)


def test_what_is_no_text_corresponds_item_by_item_or_not_at_all():
    same = align(picture(2, 3), picture(2, 3))
    assert (same.obstacle, same.items) == ("", tuple((number, number) for number in range(6)))
    turned = align(picture(2, 3), picture(3, 2))
    assert (turned.obstacle, turned.items[:2], turned.items[-1]) == ("sizes", ((0, None), (1, None)), (None, 5))
    text = Record(("a", "b"))
    assert align(picture(2, 3), text).obstacle == "kinds"
    assert align(picture(2, 3), text).kinds == ("picture", "text")
    assert align(text, Record(("a", "b"), queries=("c",))).obstacle == "queries"


def predicting(items, *places, queries=None):
    made = tuple(Place(name, query, "x", 0.5) for name, query in places)
    return Record(items, queries=queries, outcomes=Outcomes("labels", "item", made))


def test_predictions_correspond_by_their_queries_and_by_their_names():
    first = predicting(("a", "b"), ("b", 1), ("a", 0))
    second = predicting(("a", "c", "b"), ("a", 0), ("c", 1), ("b", 2))
    assert align(first, second).places == ((1, 0), (None, 1), (0, 2))
    questions = predicting(("a",), ("warm", None), ("quiet", None))
    others = predicting(("a",), ("quiet", None))
    assert align(questions, others).places == ((0, None), (1, 0))
    whole = predicting(("a",), ("the whole", None))
    assert align(whole, whole).places == ((0, 0),)
    assert align(first, whole).places == ((1, None), (0, None), (None, 0))
    assert align(first, Record(("a", "b"))).places == ()


def test_what_is_written_is_aligned_by_itself():
    first = predicting(("ein", "Mann"), ("A", 0), ("man", 1), queries=("A", "man"))
    second = predicting(("ein", "Mann"), ("One", 0), ("tall", 1), ("man", 2), queries=("One", "tall", "man"))
    found = align(first, second)
    assert found.items == ((0, 0), (1, 1))
    assert found.queries == ((0, None), (None, 0), (None, 1), (1, 2))
    assert found.places == ((0, None), (None, 0), (None, 1), (1, 2))
