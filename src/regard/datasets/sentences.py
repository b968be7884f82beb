"""A sentence whose words have labels."""

from dataclasses import dataclass

from regard.errors import ArgumentError

__all__ = ["TaggedSentence"]


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """A sentence whose words each have a label.

    Args:
        words: the words.
        labels: as many labels.

    Raises:
        ArgumentError: more or fewer labels than words.

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
