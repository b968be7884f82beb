"""Where words begin: what a segmenter of a script without spaces learns from a treebank."""

from regard.datasets.sentences import TaggedSentence
from regard.inputs import longest_match, trigrams

__all__ = ["BEGINS", "INSIDE", "SEGMENTATION", "segmented"]

SEGMENTATION = "segmentation"
"""What `read` calls these labels of a treebank, beside its columns."""

BEGINS, INSIDE = "B", "I"
"""A character with which a word begins, and one that continues it."""


def segmented(sentence: TaggedSentence) -> TaggedSentence:
    """A sentence as its characters, each between its neighbours, and whether a word begins there.

    Latin letters and digits stay together.

    Example:
        >>> found = segmented(TaggedSentence(("我", "看见", "2004年"), ("PRP", "VV", "CD")))
        >>> found.words
        ('^我看', '我看见', '看见2004', '见2004年', '2004年$')
        >>> found.labels
        ('B', 'B', 'I', 'B', 'I')

    Source: Xue 2003, "Chinese word segmentation as character tagging", section 2, with two labels for its four.
    """
    units = [longest_match(word, ()) for word in sentence.words]
    labels = [BEGINS if place == 0 else INSIDE for word in units for place in range(len(word))]
    return TaggedSentence(tuple(trigrams([unit for word in units for unit in word])), tuple(labels))
