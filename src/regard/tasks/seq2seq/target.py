"""The target of seq2seq models: a text, as the pieces of a vocabulary."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from regard.inputs import VOCABULARIES, Bytes, Vocabulary
from regard.tasks.saved_target import SavedTarget, check_positive

__all__ = ["TextTarget"]


@dataclass(frozen=True, eq=False)
class TextTarget(SavedTarget):
    """What the ids that a net says mean.

    Args:
        vocabulary: ids to text and back.
        rate: how many source items go by in one piece of text, in training: where a guide looks at a time.

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
    def fit(cls, texts: Sequence[str], vocabulary: str, size: int, *, source_items: int) -> "TextTarget":
        """Learn the pieces of the training texts.

        Args:
            texts: of training.
            vocabulary: how they are cut, a name in `inputs.VOCABULARIES`.
            size: how many pieces there may be.
            source_items: how many items the sources of training have together.
        """
        known = Bytes() if vocabulary == "bytes" else VOCABULARIES[vocabulary].fit(texts, size)
        return cls(known, max(1, source_items) / max(1, cls._pieces(known, texts)))

    @staticmethod
    def _pieces(vocabulary: Vocabulary, texts: Iterable[str]) -> int:
        return sum(len(vocabulary.encode(text)) for text in texts)

    @property
    def description(self) -> str:
        """What is given, in a few words."""
        return f"a text of {self.vocabulary.size:,} pieces"
