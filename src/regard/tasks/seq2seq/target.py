"""The target of seq2seq models: a text, as the pieces of a vocabulary."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from regard.inputs import VOCABULARIES, Bytes, Vocabulary
from regard.tasks.saving.saved_target import SavedTarget, check_positive

__all__ = ["TextTarget"]


@dataclass(frozen=True, eq=False)
class TextTarget(SavedTarget):
    """A text as the ids of its pieces.

    Args:
        vocabulary: converts texts to ids and back.
        rate: the number of source items for one piece of text in training, from which a guide computes positions.

    Example:
        >>> text = TextTarget.fit(["saw", "was"], "characters", 20, source_items=12)
        >>> text.vocabulary.decode(text.vocabulary.encode("was")), text.rate
        ('was', 2.0)
    """

    vocabulary: Vocabulary
    rate: float

    kind: ClassVar[str] = "text"

    def __post_init__(self) -> None:
        check_positive("rate", self.rate)

    @classmethod
    def fit(
        cls, texts: Sequence[str], vocabulary: str, size: int, *, source_items: int, beside: Sequence[str] = ()
    ) -> "TextTarget":
        """Learn the pieces of the training texts.

        Args:
            texts: the training texts.
            vocabulary: how they are split, a name in `inputs.VOCABULARIES`.
            size: the largest number of pieces.
            source_items: the total number of items in the training sources.
            beside: further texts whose pieces it must know.
        """
        known = Bytes() if vocabulary == "bytes" else VOCABULARIES[vocabulary].fit([*texts, *beside], size)
        return cls(known, max(1, source_items) / max(1, cls._pieces(known, texts)))

    @staticmethod
    def _pieces(vocabulary: Vocabulary, texts: Iterable[str]) -> int:
        return sum(len(vocabulary.encode(text)) for text in texts)

    @property
    def description(self) -> str:
        """The target in a few words."""
        return f"a text of {self.vocabulary.size:,} pieces"
