"""What belongs together stays together, and nothing depends on the order."""

import random
from collections import Counter

import pytest

from regard.datasets.splits import split_by_group, split_by_hash, split_by_scaffold
from regard.errors import ArgumentError


def test_a_hash_falls_where_it_always_fell():
    assert [split_by_hash(text) for text in ("good", "bad", "", "看见", "\ud800")] == [
        "train",
        "test",
        "test",
        "train",
        "train",
    ]


def test_the_hash_is_what_others_compute():
    empty = 0xE3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855  # SHA-256 of nothing
    assert empty % 10 == 9
    assert split_by_hash("") == "test"


def test_hashes_are_eight_to_one_to_one():
    counts = Counter(split_by_hash(str(number)) for number in range(10_007))
    assert 7850 < counts["train"] < 8160
    assert 900 < counts["dev"] < 1100
    assert 900 < counts["test"] < 1100


def test_groups_are_what_a_walk_over_the_keys_finds():
    draw = random.Random(11)
    keys = [(f"e{draw.randrange(60)}", f"z{draw.randrange(60)}") for _ in range(47)]
    found = split_by_group(keys)
    for place, start in enumerate(keys):
        reached = set(start)
        while (grown := reached.union(*(pair for pair in keys if reached & set(pair)))) != reached:
            reached = grown
        assert found[place] == split_by_hash(min(reached))
    shuffled = list(range(len(keys)))
    draw.shuffle(shuffled)
    assert split_by_group([keys[place] for place in shuffled]) == [found[place] for place in shuffled]


def test_groups_of_a_long_chain_and_of_nothing():
    chain = [(str(number), str(number + 1)) for number in range(20_011)]
    assert len(set(split_by_group(chain))) == 1
    assert split_by_group([]) == []
    with pytest.raises(ArgumentError, match=r"`keys\[1\]` must have at least one key"):
        split_by_group([("a",), ()])


def test_scaffolds_fill_train_then_dev_then_test():
    # 20 molecules: room for 16 and 2. Six fit, five fit, five fit (16); three don't fit into dev; one and one do.
    scaffolds = ["a"] * 6 + ["b"] * 5 + ["c"] * 5 + ["d"] * 2 + ["e"] + ["f"]
    assert split_by_scaffold(scaffolds) == ["train"] * 16 + ["dev"] * 2 + ["test"] * 2
    # A large one that finds no room goes on to test, though smaller ones still find some.
    assert split_by_scaffold(["a"] * 7 + ["b"] * 3) == ["train"] * 7 + ["test"] * 3
    # Of equals the later goes first; in any order the sizes are the same.
    assert split_by_scaffold(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]) == ["test", "dev", *["train"] * 8]
    assert split_by_scaffold([]) == []
    assert split_by_scaffold(["a"]) == ["test"]


def test_no_scaffold_is_in_two_splits():
    draw = random.Random(5)
    scaffolds = [f"{draw.randrange(1, 30) ** 2 % 17}" for _ in range(211)]
    splits = split_by_scaffold(scaffolds)
    assert all(len({splits[place] for place, each in enumerate(scaffolds) if each == one}) == 1 for one in scaffolds)
    assert Counter(splits)["train"] <= 0.8 * len(scaffolds)
