"""Deterministic splits into train, dev and test, which don't separate examples that belong together."""

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from regard.datasets.duplicates import duplicate_key, fold_spelling
from regard.errors import ArgumentError

__all__ = ["SPLITS", "split_by_group", "split_by_hash", "split_by_scaffold", "split_by_source"]

SPLITS = ("train", "dev", "test")
"""The splits of a data set: for training, for choosing a model, and for the final score."""

_TENTHS = ("train",) * 8 + ("dev", "test")
_LEAST = 10
"""The number of different sources in train from which dev is filled, where the hash leaves it empty."""


def split_by_hash(key: str) -> str:
    """The split of a key, by its SHA-256: it depends on nothing else, and is the same in all versions.

    Equal keys are in the same split, so that duplicates are never separated.

    Args:
        key: the key: a text, a word, the name of a group.

    Example:
        >>> [split_by_hash(text) for text in ("good", "bad", "good")]
        ['train', 'test', 'train']
    """
    return _TENTHS[_number(key) % len(_TENTHS)]


def _number(key: str) -> int:
    return int.from_bytes(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest())


def split_by_source(
    items: Iterable[Any],
    splits: Sequence[str] = SPLITS,
    *,
    key: Callable[[Any], Hashable] | None = None,
) -> list[str]:
    """The split of each example, by a hash of its source: independent of their order.

    Sources that differ only in case and spaces, or in how their letters are composed, are in the same split, as are
    files with the same content. Adding examples doesn't change the splits of the others. One exception: if the hash
    leaves dev empty and train has ten different sources or more, the tenth of them with the smallest hashes becomes
    dev.

    Args:
        items: examples, as `regard.train` takes them.
        splits: the splits to make; examples of other splits go to train.
        key: computes what is compared from a source, as in `count_duplicates`.

    Example:
        >>> split_by_source([("good", 1), ("bad", 0), ("Good ", 1)])
        ['train', 'test', 'train']
        >>> split_by_source([("good", 1), ("bad", 0)], ("train", "dev"))
        ['train', 'train']
    """
    keys = [str(duplicate_key(item, fold_spelling, key)) for item in items]
    found = [split if split in splits else "train" for split in map(split_by_hash, keys)]
    if "dev" in found or "dev" not in splits:
        return found
    train = sorted({own for own, split in zip(keys, found, strict=True) if split == "train"}, key=_number)
    dev = set(train[: len(train) // 10 if len(train) >= _LEAST else 0])
    return ["dev" if own in dev else split for own, split in zip(keys, found, strict=True)]


def split_by_group(keys: Iterable[Sequence[str]]) -> list[str]:
    """The split of each example, where examples that share a key, directly or through others, form a group.

    Translations need this: "Hi." occurs in many pairs, and so do its translations. The split of a group is that of its
    smallest key in lexicographic order, so that the order of the examples doesn't matter.

    Args:
        keys: the keys of each example.

    Raises:
        ArgumentError: an example without keys.

    Example:
        >>> split_by_group([("en: Hi.", "zh: 嗨。"), ("en: Hi.", "zh: 你好。"), ("en: Hello.", "zh: 你好。")])
        ['train', 'train', 'train']
    """
    groups = [tuple(names) for names in keys]
    # A disjoint-set forest, whose roots are the smallest keys.
    parent: dict[str, str] = {}

    def root(key: str) -> str:
        while parent[key] != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    for index, names in enumerate(groups):
        if not names:
            raise ArgumentError(f"`keys[{index}]` must have at least one key, but is empty.")
        for key in names:
            parent.setdefault(key, key)
            one, other = root(names[0]), root(key)
            parent[max(one, other)] = min(one, other)
    return [split_by_hash(root(names[0])) for names in groups]


def split_by_scaffold(scaffolds: Sequence[Hashable]) -> list[str]:
    """The split of each molecule, by its scaffold: the rarest scaffolds go to test, which is thus out of distribution.

    Molecules with the same scaffold are in the same split. The scaffolds are assigned in the order of frequency: to
    train while they fit into 8 of 10, else to dev (1 of 10), else to test. Among equally frequent scaffolds, the one
    whose first molecule comes later is assigned first.

    Args:
        scaffolds: the Bemis-Murcko scaffold of each molecule.

    Source: Wu et al. 2018, MoleculeNet (arXiv 1703.00564), section 3.2, "scaffold splitting"; the order of equally
        frequent scaffolds is that of DeepChem's `ScaffoldSplitter`.

    Example:
        >>> split_by_scaffold(["ring"] * 8 + ["chain", "cage"])
        ['train', 'train', 'train', 'train', 'train', 'train', 'train', 'train', 'test', 'dev']
    """
    members: dict[Hashable, list[int]] = {}
    for index, scaffold in enumerate(scaffolds):
        members.setdefault(scaffold, []).append(index)
    tenth = len(scaffolds) / len(_TENTHS)
    splits = ["test"] * len(scaffolds)
    train = dev = 0
    for group in sorted(members.values(), key=lambda group: (len(group), group[0]), reverse=True):
        if train + len(group) <= 8 * tenth:
            split, train = "train", train + len(group)
        # Dev also gets the room that is left in train.
        elif train + dev + len(group) <= 9 * tenth:
            split, dev = "dev", dev + len(group)
        else:
            continue
        for index in group:
            splits[index] = split
    return splits
