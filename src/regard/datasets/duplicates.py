"""Duplicates: examples in more than one split, which a model may have memorised."""

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from regard.datasets.example import Example, TaggedSentence
from regard.errors import UnknownNameError
from regard.extras import require
from regard.inputs import FOLDINGS, Graph
from regard.inputs.graph.smiles import read_smiles
from regard.inputs.sound.sound import Sound

__all__ = ["Duplicates", "canonical_smiles", "count_duplicates", "duplicate_key", "fold_spelling"]

# RDKit walks from atom to atom on the stack, which a chain of 20,000 fills.
_MOST_ATOMS = 4000


@dataclass(frozen=True)
class Duplicates:
    """The numbers of sentences (or sources of examples) in more than one split.

    Args:
        distinct: the number of distinct ones that are in more than one split.
        shared: for each pair of splits, the number of those in the second, repeats included, that are in the first.
        within: for each split, the number of those that repeat an earlier one in it.
    """

    distinct: int
    shared: Mapping[tuple[str, str], int]
    within: Mapping[str, int]


def count_duplicates(
    splits: Mapping[str, Sequence[TaggedSentence | Example[Any, Any]]],
    *,
    fold: str | Callable[[str], str] = "nothing",
    key: Callable[[Any], Hashable] | None = None,
) -> Duplicates:
    """Count the sentences, by their words, or examples, by their sources, that are in more than one split.

    Files are compared by content, and sounds, pictures and vectors by their numbers. A graph whose nodes belong to
    different splits is in all of them, and isn't counted.

    Args:
        splits: the sentences or examples of each split, in the order train, dev, test.
        fold: the character folding of words and texts before the comparison, a name in `inputs.FOLDINGS` or a function.
        key: computes what is compared from an example's source; by default as above.

    Raises:
        UnknownNameError: an unknown folding.

    Example:
        >>> one, two = TaggedSentence(("yes",), ("INTJ",)), TaggedSentence(("no",), ("INTJ",))
        >>> found = count_duplicates({"train": [one, two], "test": [one, one]})
        >>> found.distinct, found.shared, found.within
        (1, {('train', 'test'): 2}, {'train': 0, 'test': 1})
    """
    if not callable(fold) and fold not in FOLDINGS:
        raise UnknownNameError("fold", fold, FOLDINGS)
    folded = fold if callable(fold) else FOLDINGS[fold]
    counted = {
        split: Counter(duplicate_key(item, folded, key) for item in held if not _is_graph(item))
        for split, held in splits.items()
    }
    names = list(counted)
    shared = {
        (first, second): sum(count for words, count in counted[second].items() if words in counted[first])
        for index, first in enumerate(names)
        for second in names[index + 1 :]
    }
    splits_of_each = Counter(words for sentences in counted.values() for words in sentences)
    return Duplicates(
        distinct=sum(count > 1 for count in splits_of_each.values()),
        shared=shared,
        within={split: sum(sentences.values()) - len(sentences) for split, sentences in counted.items()},
    )


def _is_graph(item: Any) -> bool:
    return isinstance(getattr(item, "source", None), Graph)


def duplicate_key(item: Any, folded: Callable[[str], str], key: Callable[[Any], Hashable] | None = None) -> Hashable:
    """The key by which an item is compared: equal for duplicates, and the same in every process.

    Args:
        item: a `TaggedSentence`, an `Example`, or a pair of a source and its target.
        folded: the folding of words and texts.
        key: computes the key from an example's source; by default a text is its own key, and that of a file is its
            content.

    Example:
        >>> duplicate_key(("Good", "positive"), str.lower)
        'good'
    """
    source = item.words if hasattr(item, "words") else item.source if hasattr(item, "source") else item[0]
    return _default_key(source, folded) if key is None or hasattr(item, "words") else key(source)


def _default_key(source: Any, folded: Callable[[str], str]) -> Hashable:
    if isinstance(source, str):
        return folded(source)
    if isinstance(source, list | tuple):
        return tuple(_default_key(part, folded) for part in source)
    if isinstance(source, Path):
        return hashlib.sha256(source.read_bytes()).hexdigest()
    if isinstance(source, np.ndarray | Tensor):
        numbers = np.ascontiguousarray(source)
        return str(numbers.dtype), numbers.shape, hashlib.sha256(numbers.tobytes()).hexdigest()
    if isinstance(source, Sound):
        return _default_key(source.samples, folded)
    if isinstance(source, Graph):
        return tuple(_default_key(part, folded) for part in (source.vectors, source.edges, source.kinds))
    return source


def fold_spelling(text: str) -> str:
    """A text as it is compared: in lower case, one space between words, and accented letters as one character each.

    Example:
        >>> fold_spelling("  Cafe\u0301  au lait") == fold_spelling("café au Lait")
        True
    """
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def canonical_smiles(smiles: str) -> str:
    """The canonical SMILES of a molecule, which can be written in many ways: the key by which molecules are compared.

    One of more than 4,000 atoms is compared as it is written.

    Raises:
        ArgumentError: it isn't a molecule; see `read_smiles`.

    Example:
        >>> canonical_smiles("OCC") == canonical_smiles("C(O)C")
        True
    """
    read = read_smiles(smiles)
    if read.GetNumAtoms() > _MOST_ATOMS:
        return smiles.strip()
    return require("rdkit.Chem", extra="molecule").MolToSmiles(read)
