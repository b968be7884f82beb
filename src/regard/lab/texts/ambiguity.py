"""Ambiguous words: those that have several labels in the training sentences, such as "saw"."""

import warnings
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any

from regard.errors import UnreliablePrediction
from regard.tasks import Tagger
from regard.tasks.examples import as_examples

__all__ = ["accuracy_on_words", "ambiguous_words"]


def ambiguous_words(examples: Iterable[Any]) -> frozenset[str]:
    """The words, in lower case, that have more than one label in some sentences.

    Args:
        examples: pairs (words, labels), or objects with `words` and `labels`.

    Example:
        >>> sorted(ambiguous_words([(["I", "saw", "a", "Saw"], ["PRON", "VERB", "DET", "NOUN"])]))
        ['saw']
    """
    labels_of: dict[str, set[str]] = defaultdict(set)
    for words, labels in as_examples(examples):
        for word, label in zip(words, labels, strict=True):
            labels_of[word.lower()].add(label)
    return frozenset(word for word, labels in labels_of.items() if len(labels) > 1)


def accuracy_on_words(tagger: Tagger, examples: Iterable[Any], words: Collection[str]) -> float:
    """The fraction of right labels among the occurrences of some words; NaN if none occurs.

    Args:
        tagger: a tagger of words.
        examples: as in `ambiguous_words`.
        words: the words, in lower case.
    """
    pairs = as_examples(examples)
    with warnings.catch_warnings():
        # The accuracy already shows the errors on unusual sentences.
        warnings.simplefilter("ignore", UnreliablePrediction)
        rows = tagger.tag([sentence for sentence, _ in pairs])
    right = []
    for items, (_, labels) in zip(rows, pairs, strict=True):
        right += [item.label == label for item, label in zip(items, labels, strict=True) if item.text.lower() in words]
    return sum(right) / len(right) if right else float("nan")
