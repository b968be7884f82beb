"""An example: a source and its target; or a sentence whose words, or characters, have labels."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from regard.errors import ArgumentError
from regard.inputs import longest_match, trigrams

__all__ = ["BEGINS", "INSIDE", "SEGMENTATION", "BinaryLabels", "Example", "TaggedSentence", "segmented"]

_In = TypeVar("_In")
_Out = TypeVar("_Out")


class BinaryLabels(tuple[int | None, ...]):
    """A multi-label target: 1 or 0 (yes or no) for each of several questions, None if unknown; with their names.

    Args:
        answers: the answer to each question.
        names: the names of the questions.

    Example:
        >>> found = BinaryLabels((1, None), ("toxic", "bitter"))
        >>> found == (1, None), found.names
        (True, ('toxic', 'bitter'))
    """

    names: tuple[str, ...]

    def __new__(cls, answers: Iterable[int | None], names: Iterable[str]) -> "BinaryLabels":
        made = super().__new__(cls, answers)
        made.names = tuple(names)
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self), self.names


@dataclass(frozen=True, slots=True)
class Example(Generic[_In, _Out]):
    """An example: a source and its target.

    One class serves all kinds of data: the input encoder knows what the source is (see `Dataset.modality`), and the
    type of the target says what it is.

    | target | what it is |
    |---|---|
    | `str` | a label of the source, or a target text (`Dataset.target_type` says which) |
    | `float` | a number |
    | `Sound` | a sound to synthesise |
    | tuple of `str` or None | a label for each item of the source; None if it is unknown or belongs to another split |
    | tuple of `float` or None | a number for each item of the source; None if it is unknown |
    | `BinaryLabels`, or a tuple of `int` or None | 1 or 0 (yes or no) for each question; None if it is unknown |

    Args:
        source: a text, the path of a file, a sound, a picture (height, width), vectors (length, width), a molecule as
            SMILES, or a graph.
        target: the target.
        group: the group, whose examples must not be separated by a split: a speaker, a word, a scaffold; None for none.

    Example:
        >>> Example("a warm , funny , engaging film .", "positive").target
        'positive'
    """

    source: _In
    target: _Out
    group: str | None = None


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
