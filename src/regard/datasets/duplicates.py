"""What stands in more than one split, and a model may have learned by heart."""

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from regard.datasets.example import Example
from regard.datasets.sentences import TaggedSentence
from regard.errors import UnknownNameError
from regard.extras import require
from regard.inputs import FOLDINGS, Graph
from regard.inputs.sound import Sound

__all__ = ["Duplicates", "count_duplicates", "identity", "in_one_spelling"]


@dataclass(frozen=True)
class Duplicates:
    """How many sentences (or sources of examples) stand in more than one split.

    Args:
        distinct: how many different ones stand in more than one split.
        shared: for each pair of splits, how many of the second (each time it stands there) the first has.
        within: for each split, how many are repeats of an earlier one in it.
    """

    distinct: int
    shared: Mapping[tuple[str, str], int]
    within: Mapping[str, int]


def count_duplicates(
    splits: Mapping[str, Sequence[TaggedSentence | Example[Any, Any]]],
    *,
    fold: str = "nothing",
    same: Callable[[Any], Hashable] | None = None,
) -> Duplicates:
    """Count the sentences, by their words, or the examples, by their sources, that stand in more than one split.

    A file is compared by what is in it, a sound, a picture or vectors by their numbers. A graph whose nodes are in
    different splits is meant to stand in all of them, and not counted.

    Args:
        splits: the sentences or examples of each split, in the order train, dev, test.
        fold: how words and texts are folded before they are compared, a name in `inputs.FOLDINGS`.
        same: makes of an example's source what is compared; by default the above.

    Raises:
        UnknownNameError: no folding of that name.

    Example:
        >>> one, two = TaggedSentence(("yes",), ("INTJ",)), TaggedSentence(("no",), ("INTJ",))
        >>> found = count_duplicates({"train": [one, two], "test": [one, one]})
        >>> found.distinct, found.shared, found.within
        (1, {('train', 'test'): 2}, {'train': 0, 'test': 1})
    """
    if fold not in FOLDINGS:
        raise UnknownNameError("fold", fold, FOLDINGS)
    folded = FOLDINGS[fold]
    counted = {
        split: Counter(identity(each, folded, same) for each in held if not _graph(each))
        for split, held in splits.items()
    }
    names = list(counted)
    shared = {
        (first, second): sum(count for words, count in counted[second].items() if words in counted[first])
        for place, first in enumerate(names)
        for second in names[place + 1 :]
    }
    standing = Counter(words for sentences in counted.values() for words in sentences)
    return Duplicates(
        distinct=sum(count > 1 for count in standing.values()),
        shared=shared,
        within={split: sum(sentences.values()) - len(sentences) for split, sentences in counted.items()},
    )


def _graph(item: Any) -> bool:
    return isinstance(getattr(item, "source", None), Graph)


def identity(item: Any, folded: Callable[[str], str], same: Callable[[Any], Hashable] | None = None) -> Hashable:
    """What an item is compared by: equal for duplicates, and the same in every process.

    Args:
        item: a `TaggedSentence`, an `Example`, or a pair of a source and its target.
        folded: what is done to words and texts first.
        same: makes of an example's source what is compared; by default a text is itself, and a file what is in it.

    Example:
        >>> identity(("Good", "positive"), str.lower)
        'good'
    """
    source = item.words if hasattr(item, "words") else item.source if hasattr(item, "source") else item[0]
    return _compared(source, folded) if same is None or hasattr(item, "words") else same(source)


def _compared(source: Any, folded: Callable[[str], str]) -> Hashable:
    if isinstance(source, str):
        return folded(source)
    if isinstance(source, list | tuple):
        return tuple(_compared(each, folded) for each in source)
    if isinstance(source, Path):
        return hashlib.sha256(source.read_bytes()).hexdigest()
    if isinstance(source, np.ndarray | Tensor):
        numbers = np.ascontiguousarray(source)
        return str(numbers.dtype), numbers.shape, hashlib.sha256(numbers.tobytes()).hexdigest()
    if isinstance(source, Sound):
        return _compared(source.samples, folded)
    if isinstance(source, Graph):
        return tuple(_compared(each, folded) for each in (source.vectors, source.edges, source.kinds))
    return source


def in_one_spelling(smiles: str) -> str:
    """A molecule can be written in many ways; this is one for all: what molecules are compared by.

    Example:
        >>> in_one_spelling("OCC") == in_one_spelling("C(O)C")
        True
    """
    # RDKit prints what it thinks of some.
    with require("rdkit.rdBase", extra="molecule").BlockLogs():
        return require("rdkit.Chem", extra="molecule").CanonSmiles(smiles)
