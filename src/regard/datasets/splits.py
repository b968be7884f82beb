"""Train, dev and test for data that come without: always the same, and nothing that belongs together apart."""

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from regard.datasets.duplicates import identity
from regard.errors import ArgumentError

__all__ = ["split_by_group", "split_by_hash", "split_by_scaffold", "split_by_source"]

_TENTHS = ("train",) * 8 + ("dev", "test")


def split_by_hash(key: str) -> str:
    """The split that a key falls into, by its SHA-256: the same in every year, whatever else there is.

    Equal keys fall together, so that what stands twice never stands on both sides.

    Args:
        key: what decides: the text itself, a word, the name of a group.

    Example:
        >>> [split_by_hash(text) for text in ("good", "bad", "good")]
        ['train', 'test', 'train']
    """
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
    return _TENTHS[int.from_bytes(digest) % len(_TENTHS)]


def split_by_source(
    items: Iterable[Any],
    splits: Sequence[str] = ("train", "dev", "test"),
    *,
    same: Callable[[Any], Hashable] | None = None,
) -> list[str]:
    """The split of each example, by a hash of its source: the same whatever else there is, and in whatever order.

    Sources that differ only in capitals and spaces fall together, and so do files of the same content. An example that
    is added later leaves all others where they are.

    Args:
        items: examples, as `regard.train` takes them.
        splits: those that are wanted; what would fall into another goes to train.
        same: what a source is compared by, as `count_duplicates` has it.

    Example:
        >>> split_by_source([("good", 1), ("bad", 0), ("Good ", 1)])
        ['train', 'test', 'train']
        >>> split_by_source([("good", 1), ("bad", 0)], ("train", "dev"))
        ['train', 'train']
    """
    found = [split_by_hash(str(identity(item, _folded, same))) for item in items]
    return [split if split in splits else "train" for split in found]


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def split_by_group(keys: Iterable[Sequence[str]]) -> list[str]:
    """The split of each example, where examples that share any key fall together, and those that share with these.

    Translations are the case: "Hi." stands in many pairs, and so do its translations. A group falls where its first
    key in the order of characters falls, so that the order of the examples doesn't matter.

    Args:
        keys: for each example, its keys.

    Raises:
        ArgumentError: an example without a key.

    Example:
        >>> split_by_group([("en: Hi.", "zh: 嗨。"), ("en: Hi.", "zh: 你好。"), ("en: Hello.", "zh: 你好。")])
        ['train', 'train', 'train']
    """
    keys = [tuple(each) for each in keys]
    above: dict[str, str] = {}

    def top(key: str) -> str:
        while above[key] != key:
            above[key] = above[above[key]]
            key = above[key]
        return key

    for place, each in enumerate(keys):
        if not each:
            raise ArgumentError(f"`keys[{place}]` must have at least one key, but is empty.")
        for key in each:
            above.setdefault(key, key)
            one, other = top(each[0]), top(key)
            above[max(one, other)] = min(one, other)
    return [split_by_hash(top(each[0])) for each in keys]


def split_by_scaffold(scaffolds: Sequence[Hashable]) -> list[str]:
    """The split of each molecule, by its scaffold: the rarest go to test, where a model meets what it never saw.

    All molecules of one scaffold fall together. The scaffolds go, the most frequent first, to train while there is
    room for them (8 of 10), else to dev (1 of 10), else to test. Of scaffolds that are equally frequent, the one whose
    first molecule stands later goes first.

    Args:
        scaffolds: for each molecule, its Bemis-Murcko scaffold.

    Source: Wu et al. 2018, MoleculeNet (arXiv 1703.00564), section 3.2, "scaffold splitting"; the order of the equally
        frequent is that of DeepChem's `ScaffoldSplitter`.

    Example:
        >>> split_by_scaffold(["ring"] * 8 + ["chain", "cage"])
        ['train', 'train', 'train', 'train', 'train', 'train', 'train', 'train', 'test', 'dev']
    """
    members: dict[Hashable, list[int]] = {}
    for place, scaffold in enumerate(scaffolds):
        members.setdefault(scaffold, []).append(place)
    tenth = len(scaffolds) / len(_TENTHS)
    found = ["test"] * len(scaffolds)
    train = dev = 0
    for places in sorted(members.values(), key=lambda places: (len(places), places[0]), reverse=True):
        if train + len(places) <= 8 * tenth:
            split, train = "train", train + len(places)
        # Room that train has left is dev's.
        elif train + dev + len(places) <= 9 * tenth:
            split, dev = "dev", dev + len(places)
        else:
            continue
        for place in places:
            found[place] = split
    return found
