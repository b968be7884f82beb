"""What belongs together stays together, and nothing depends on the order."""

import hashlib
import random
from collections import Counter

import numpy as np
import pytest
import torch

from regard.datasets import Example, TaggedSentence, canonical_smiles
from regard.datasets.splits import split_by_group, split_by_hash, split_by_scaffold, split_by_source
from regard.errors import ArgumentError
from regard.inputs import Graph, Sound


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


def test_a_source_falls_where_the_hash_of_its_text_does():
    texts = [f"text {number}" for number in range(200)]
    wanted = [split_by_hash(text) for text in texts]
    assert split_by_source([(text, "a") for text in texts]) == wanted
    assert split_by_source([Example(text, "b", "group") for text in texts]) == wanted
    assert split_by_source((text.upper() + "  ", "a") for text in texts) == wanted
    without_test = ["train" if split == "test" else split for split in wanted]
    assert split_by_source([(text, 1.0) for text in texts], ("train", "dev")) == without_test


def test_few_sources_have_a_dev_whatever_their_hashes():
    """Of ten sources or more in train the one with the smallest hash is dev, where none is."""
    texts = [text for text in map(str, range(200)) if split_by_hash(text) == "train"][:19]
    found = split_by_source([(text, 0) for text in texts])
    smallest = min(texts, key=lambda text: hashlib.sha256(text.encode()).hexdigest())
    assert [text for text, split in zip(texts, found, strict=True) if split == "dev"] == [smallest]
    assert split_by_source([(text, 0) for text in texts * 2]) == found * 2
    assert split_by_source([(text, 0) for text in texts[:9]]) == ["train"] * 9
    # One that the hash puts into dev is enough.
    own = next(text for text in map(str, range(200)) if split_by_hash(text) == "dev")
    assert split_by_source([(text, 0) for text in [*texts, own]]) == ["train"] * 19 + ["dev"]
    assert split_by_source([(text, 0) for text in texts], ("train", "test")) == ["train"] * 19


def test_what_is_added_moves_nothing(tmp_path):
    """Of every kind of source: the split of each is that which it has alone, and equal ones fall together."""
    (tmp_path / "a").write_bytes(b"content")
    (tmp_path / "b").write_bytes(b"content")
    numbers = torch.arange(6.0).reshape(2, 3)
    edges = torch.tensor([[0], [1]])
    pairs = [
        (tmp_path / "a", tmp_path / "b"),
        (numbers, numbers.clone()),
        (numbers.numpy(), np.array(numbers.numpy())),
        (Sound(numbers / 10, 8000), Sound(numbers / 10, 8000)),
        (Graph(numbers, edges, names=("a", "b")), Graph(numbers, edges, names=("c", "d"))),
        (["I", "saw"], ("I", "Saw")),
    ]
    together = split_by_source([(source, "x") for pair in pairs for source in pair])
    assert together == [each for pair in pairs for source in pair for each in split_by_source([(source, "y")])]
    assert together[::2] == together[1::2]
    assert split_by_source([TaggedSentence(("I", "saw"), ("A", "B"))]) == split_by_source([(["i", "SAW"], ["A", "B"])])
    # Sources that differ are no duplicates: of a hundred, not all fall into one split.
    several = split_by_source([(torch.full((2, 2), float(number)), "x") for number in range(100)])
    assert {*several} == {"train", "dev", "test"}


def test_molecules_fall_together_however_they_are_written():
    pytest.importorskip("rdkit")
    chains = ["C" * count + "O" for count in range(1, 60)]
    turned = [chain[::-1] for chain in chains]
    one, other = (
        split_by_source([(each, 1.0) for each in smiles], key=canonical_smiles) for smiles in (chains, turned)
    )
    assert one == other
    assert {*one} == {"train", "dev", "test"}
