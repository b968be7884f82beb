"""Text as known pieces from a list: characters, or words."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

from regard.errors import ArgumentError
from regard.inputs.saving import checked_names
from regard.inputs.sentences import as_list
from regard.inputs.special_ids import UNKNOWN_PIECE, checked_ids, checked_text
from regard.inputs.splitting import split_words

__all__ = ["Characters", "Words"]

_UNKNOWN = "\ufffd"


class _Listed:
    """A vocabulary that is a list of pieces; what isn't in it has id 3 and is read back as U+FFFD."""

    kind: ClassVar[str]
    between: ClassVar[str]
    """What stands between pieces in a text."""
    saved_between: ClassVar[str]
    """What stands between them when saved: nothing that a piece can hold."""

    def __init__(self, listed: Sequence[str]):
        self.listed = tuple(listed)
        self._ids = {piece: place for place, piece in enumerate(self.listed, start=UNKNOWN_PIECE + 1)}
        if len(self._ids) != len(self.listed):
            twice = Counter(self.listed).most_common(1)[0][0]
            raise ArgumentError(f"`listed` must name each piece once, but has {twice!r:.60} more than once.")
        for piece in self.listed:
            if not isinstance(piece, str) or not self.is_piece(piece) or piece == _UNKNOWN:
                raise ArgumentError(f"`listed` must be {self.kind}, but holds {piece!r:.60}.")

    @classmethod
    def fit(cls, texts: Iterable[str], size: int | None = None) -> Self:
        """Learn the pieces of the training texts, the most frequent first.

        Args:
            texts: of the training data.
            size: how many ids there may be, with padding, start, end and unknown; by default every piece has one.

        Raises:
            ArgumentError: `texts` is no list of texts, or `size` leaves no room.
        """
        if size is not None and size < UNKNOWN_PIECE + 1:
            raise ArgumentError(f"`size` must be at least 4 (padding, start, end, unknown), but is {size}.")
        counts = Counter(piece for text in as_list("texts", texts, "texts") for piece in cls.split(checked_text(text)))
        del counts[_UNKNOWN]
        ordered = sorted(counts, key=lambda piece: (-counts[piece], piece))
        return cls(ordered if size is None else ordered[: size - UNKNOWN_PIECE - 1])

    @staticmethod
    def split(text: str) -> list[str]:
        """The pieces of a text."""
        raise NotImplementedError

    @staticmethod
    def is_piece(text: str) -> bool:
        """Whether a text may be one piece."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """How many ids there are: padding, start, end, unknown, and the list."""
        return UNKNOWN_PIECE + 1 + len(self.listed)

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without start and end.

        Raises:
            ArgumentError: it is no text.
        """
        return [self._ids.get(piece, UNKNOWN_PIECE) for piece in self.split(checked_text(text))]

    def unknown(self, text: str) -> list[str]:
        """The pieces of a text that aren't in the list, each once, in the text's order.

        Example:
            >>> Characters(["a", "b"]).unknown("acbdca")
            ['c', 'd']
        """
        return list(dict.fromkeys(piece for piece in self.split(checked_text(text)) if piece not in self._ids))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; padding, start and end are nothing.

        Raises:
            ArgumentError: an id that isn't in the vocabulary.
        """
        known = ("", "", "", _UNKNOWN, *self.listed)
        return self.between.join(known[identity] for identity in checked_ids(ids, self.size))

    def pieces(self, text: str) -> list[str]:
        """Each id of a text as text, for showing."""
        return [self.decode([identity]) for identity in self.encode(text)]

    def to_json(self) -> dict[str, Any]:
        """What JSON needs to hold to make this vocabulary again."""
        return {"kind": self.kind, "listed": self.saved_between.join(self.listed)}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> Self:
        """From what `to_json` gave.

        Raises:
            ArgumentError: something is missing or isn't what `to_json` writes.
        """
        listed = checked_names("vocabulary", saved, ["kind", "listed"])["listed"]
        if not isinstance(listed, str):
            raise ArgumentError(f"`listed` must be a text of {cls.kind}, but is {listed!r:.60}. Save it again.")
        return cls(listed.split(cls.saved_between) if cls.saved_between and listed else tuple(listed))


class Characters(_Listed):
    """Each character of a text (each code point, spaces too) is a piece; one that isn't known is read as U+FFFD.

    Args:
        listed: the characters that have an id, the first one id 4.

    Raises:
        ArgumentError: one stands twice, or isn't a single character.

    Example:
        >>> vocabulary = Characters.fit(["I saw a saw"])
        >>> vocabulary.listed
        (' ', 'a', 's', 'w', 'I')
        >>> vocabulary.encode("I see"), vocabulary.decode(vocabulary.encode("I see"))
        ([8, 4, 6, 3, 3], 'I s\ufffd\ufffd')
    """

    kind = "characters"
    between = ""
    saved_between = ""

    @staticmethod
    def split(text: str) -> list[str]:
        """The characters of a text."""
        return list(text)

    @staticmethod
    def is_piece(text: str) -> bool:
        """Whether a text is a single character."""
        return len(text) == 1


class Words(_Listed):
    """Each word and mark of a text, as `split_words` tells them apart, is a piece; spaces are not kept.

    Args:
        listed: the words that have an id, the first one id 4.

    Raises:
        ArgumentError: one stands twice, or isn't a single word.

    Example:
        >>> vocabulary = Words.fit(["I saw a saw."])
        >>> vocabulary.encode("I saw a dog."), vocabulary.decode([6, 4, 7, 3, 5])
        ([6, 4, 7, 3, 5], 'I saw a \ufffd .')
    """

    kind = "words"
    between = " "
    saved_between = "\n"

    @staticmethod
    def split(text: str) -> list[str]:
        """The words of a text."""
        return split_words(text)

    @staticmethod
    def is_piece(text: str) -> bool:
        """Whether a text may be a word: split by itself it could fall apart, as what stands around it counts."""
        return text != "" and not any(map(str.isspace, text))
