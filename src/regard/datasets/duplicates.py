"""Sentences that stand in more than one split: what a model may have learned by heart."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regard.datasets.sentences import TaggedSentence
from regard.errors import UnknownNameError
from regard.inputs import FOLDS

__all__ = ["Duplicates", "count_duplicates"]


@dataclass(frozen=True)
class Duplicates:
    """How many sentences stand in more than one split, compared by their words.

    Args:
        distinct: how many different sentences stand in more than one split.
        shared: for each pair of splits, how many sentences of the second (each time it stands there) the first has.
        within: for each split, how many sentences are repeats of an earlier one in it.
    """

    distinct: int
    shared: Mapping[tuple[str, str], int]
    within: Mapping[str, int]


def count_duplicates(splits: Mapping[str, Sequence[TaggedSentence]], *, fold: str = "nothing") -> Duplicates:
    """Count the sentences, by their words, that stand in more than one split.

    Args:
        splits: the sentences of each split, in the order train, dev, test.
        fold: how words are folded before they are compared, a name in `inputs.FOLDS`.

    Raises:
        UnknownNameError: no folding of that name.

    Example:
        >>> one, two = TaggedSentence(("yes",), ("INTJ",)), TaggedSentence(("no",), ("INTJ",))
        >>> found = count_duplicates({"train": [one, two], "test": [one, one]})
        >>> found.distinct, found.shared, found.within
        (1, {('train', 'test'): 2}, {'train': 0, 'test': 1})
    """
    if fold not in FOLDS:
        raise UnknownNameError("fold", fold, FOLDS)
    folded = FOLDS[fold]
    counted = {
        split: Counter(tuple(map(folded, sentence.words)) for sentence in sentences)
        for split, sentences in splits.items()
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
