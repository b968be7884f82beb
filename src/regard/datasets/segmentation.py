"""Word segmentation as tagging: the characters of a treebank, labelled with where words begin."""

from regard.datasets.tagged_sentence import TaggedSentence
from regard.inputs import longest_match, trigrams

__all__ = ["BEGINS", "INSIDE", "SEGMENTATION", "segmented"]

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
