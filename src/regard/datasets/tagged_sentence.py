"""A sentence whose words have labels."""

from dataclasses import dataclass

from regard.errors import ArgumentError

__all__ = ["TaggedSentence"]


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
