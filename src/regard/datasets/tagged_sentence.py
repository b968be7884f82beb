"""A sentence whose words have labels; or whose characters have, which say where words begin."""

from dataclasses import dataclass

from regard.errors import ArgumentError
from regard.inputs import longest_match, trigrams

__all__ = ["BEGINS", "INSIDE", "SEGMENTATION", "TaggedSentence", "segmented"]


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """A sentence whose words have labels.

    Args:
        words: the words.
        labels: the label of each word.

    Raises:
        ArgumentError: the number of labels isn't the number of words.

    Example:
        >>> TaggedSentence(("I", "saw"), ("PRON", "VERB")).words
        ('I', 'saw')
    """

    words: tuple[str, ...]
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.words) != len(self.labels):
            raise ArgumentError(
                f"`labels` must have one label for each of the {len(self.words)} words, but has {len(self.labels)}."
            )


SEGMENTATION = "segmentation"
"""The name of these labels in `read`, in addition to the columns of a treebank."""

BEGINS, INSIDE = "B", "I"
"""The tags of a character that begins a word, and of one that continues it."""


def segmented(sentence: TaggedSentence) -> TaggedSentence:
    """A sentence as the trigrams of its characters, labelled with whether a word begins there.

    Runs of Latin letters and digits are kept together.

    Example:
        >>> found = segmented(TaggedSentence(("我", "看见", "2004年"), ("PRP", "VV", "CD")))
        >>> found.words
        ('^我看', '我看见', '看见2004', '见2004年', '2004年$')
        >>> found.labels
        ('B', 'B', 'I', 'B', 'I')

    Source: Xue 2003, "Chinese word segmentation as character tagging", section 2, with two tags instead of four.
    """
    units = [longest_match(word, ()) for word in sentence.words]
    labels = [BEGINS if index == 0 else INSIDE for word in units for index in range(len(word))]
    return TaggedSentence(tuple(trigrams([unit for word in units for unit in word])), tuple(labels))
