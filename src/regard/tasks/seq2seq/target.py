"""The target of seq2seq models: a text, as the pieces of a vocabulary."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from regard.errors import ModelError
from regard.inputs import VOCABULARIES, Bytes, Vocabulary, vocabulary_from_json

__all__ = ["TextTarget"]


@dataclass(frozen=True, eq=False)
class TextTarget:
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
        return cls(known, source_items / max(1, cls._pieces(known, texts)))

    @staticmethod
    def _pieces(vocabulary: Vocabulary, texts: Iterable[str]) -> int:
        return sum(len(vocabulary.encode(text)) for text in texts)

    @property
    def said(self) -> str:
        """What is given, in a few words."""
        return f"a text of {self.vocabulary.size:,} pieces"

    def to_json(self) -> dict[str, Any]:
        """What JSON needs to hold to make this again."""
        return {"kind": self.kind, "vocabulary": self.vocabulary.to_json(), "rate": self.rate}

    @classmethod
    def from_json(cls, saved: Any) -> "TextTarget":
        """From what `to_json` gave.

        Raises:
            ModelError: it isn't that.
            ArgumentError: its vocabulary can't be read.
        """
        if not isinstance(saved, dict) or saved.keys() != {"kind", "vocabulary", "rate"} or saved["kind"] != cls.kind:
            raise ModelError(f"`answer` must be of kind {cls.kind!r}, with vocabulary and rate, but is {saved!r:.60}.")
        rate = saved["rate"]
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate < float("inf"):
            raise ModelError(f"`answer` must have a rate above 0, but has {rate!r:.60}.")
        return cls(vocabulary_from_json(saved["vocabulary"]), float(rate))
