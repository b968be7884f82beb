"""Vocabularies: the interface of all, their names, and those of bytes, characters and words."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from regard.errors import ArgumentError, UnknownNameError
from regard.inputs.saved import checked_names
from regard.inputs.text.sentences import as_list
from regard.inputs.text.special_ids import SPECIAL_IDS, UNKNOWN_PIECE, checked_ids, checked_text, numbered
from regard.inputs.text.subwords import Subwords
from regard.inputs.text.tokenisation import split_words

__all__ = ["VOCABULARIES", "Bytes", "Characters", "Vocabulary", "Words", "vocabulary_from_json"]

_UNKNOWN = "\ufffd"


class _PieceVocabulary:
    """A vocabulary that is a list of pieces. An unknown piece has id 3 and is decoded as U+FFFD."""

    kind: ClassVar[str]
    separator: ClassVar[str]
    """The separator of pieces in a text."""
    saved_separator: ClassVar[str]
    """The separator of pieces in JSON, which no piece can contain."""

    def __init__(self, listed: Sequence[str]):
        self.listed = tuple(listed)
        self._ids = numbered("listed", self.listed, noun="piece", first=UNKNOWN_PIECE + 1)
        for piece in self.listed:
            if not isinstance(piece, str) or not self.is_piece(piece) or piece == _UNKNOWN:
                raise ArgumentError(f"`listed` must be {self.kind}, but holds {piece!r:.60}.")

    @classmethod
    def fit(cls, texts: Iterable[str], size: int | None = None) -> Self:
        """Build the vocabulary from the training texts, the most frequent pieces first.

        Args:
            texts: the training texts.
            size: the maximum number of ids, including padding, start, end and unknown; by default all pieces have one.

        Raises:
            ArgumentError: `texts` isn't a list of texts, or `size` is too small.
        """
        if size is not None and size < UNKNOWN_PIECE + 1:
            raise ArgumentError(f"`size` must be at least 4 (padding, start, end, unknown), but is {size}.")
        counts = Counter(piece for text in as_list("texts", texts, "texts") for piece in cls.split(checked_text(text)))
        del counts[_UNKNOWN]
        by_frequency = sorted(counts, key=lambda piece: (-counts[piece], piece))
        return cls(by_frequency if size is None else by_frequency[: size - UNKNOWN_PIECE - 1])

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
        """The number of ids: padding, start, end, unknown, and the pieces."""
        return UNKNOWN_PIECE + 1 + len(self.listed)

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without start and end.

        Raises:
            ArgumentError: it isn't a text.
        """
        return [self._ids.get(piece, UNKNOWN_PIECE) for piece in self.split(checked_text(text))]

    def unknown_pieces(self, text: str) -> list[str]:
        """The out-of-vocabulary pieces of a text, each once, in the order of the text.

        Example:
            >>> Characters(["a", "b"]).unknown_pieces("acbdca")
            ['c', 'd']
        """
        return list(dict.fromkeys(piece for piece in self.split(checked_text(text)) if piece not in self._ids))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; padding, start and end are left out.

        Raises:
            ArgumentError: an id that isn't in the vocabulary.
        """
        text_of_id = ("", "", "", _UNKNOWN, *self.listed)
        return self.separator.join(text_of_id[identity] for identity in checked_ids(ids, self.size))

    def pieces(self, text: str) -> list[str]:
        """The text that each id of a text stands for, for display."""
        return [self.decode([identity]) for identity in self.encode(text)]

    def to_json(self) -> dict[str, Any]:
        """The vocabulary as a JSON object."""
        return {"kind": self.kind, "listed": self.saved_separator.join(self.listed)}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> Self:
        """The vocabulary of the JSON object that `to_json` returned.

        Raises:
            ArgumentError: something is missing or invalid.
        """
        listed = checked_names("vocabulary", saved, ["kind", "listed"])["listed"]
        if not isinstance(listed, str):
            raise ArgumentError(f"`listed` must be a text of {cls.kind}, but is {listed!r:.60}. Save it again.")
        return cls(listed.split(cls.saved_separator) if cls.saved_separator and listed else tuple(listed))


class Characters(_PieceVocabulary):
    """A vocabulary of characters: code points, including spaces. An unknown character is decoded as U+FFFD.

    Args:
        listed: the characters; their ids start at 4.

    Raises:
        ArgumentError: a duplicate, or an entry that isn't a single character.

    Example:
        >>> vocabulary = Characters.fit(["I saw a saw"])
        >>> vocabulary.listed
        (' ', 'a', 's', 'w', 'I')
        >>> vocabulary.encode("I see"), vocabulary.decode(vocabulary.encode("I see"))
        ([8, 4, 6, 3, 3], 'I s\ufffd\ufffd')
    """

    kind = "characters"
    separator = ""
    saved_separator = ""

    @staticmethod
    def split(text: str) -> list[str]:
        """The characters of a text."""
        return list(text)

    @staticmethod
    def is_piece(text: str) -> bool:
        """Whether a text is a single character."""
        return len(text) == 1


class Words(_PieceVocabulary):
    """A vocabulary of words and punctuation marks, as `split_words` splits them. Spaces are not kept.

    Args:
        listed: the words; their ids start at 4.

    Raises:
        ArgumentError: a duplicate, or an entry that isn't a single word.

    Example:
        >>> vocabulary = Words.fit(["I saw a saw."])
        >>> vocabulary.encode("I saw a dog."), vocabulary.decode([6, 4, 7, 3, 5])
        ([6, 4, 7, 3, 5], 'I saw a \ufffd .')
    """

    kind = "words"
    separator = " "
    saved_separator = "\n"

    @staticmethod
    def split(text: str) -> list[str]:
        """The words of a text."""
        return split_words(text)

    @staticmethod
    def is_piece(text: str) -> bool:
        """Whether a text may be a word. Without its context, `split` might split a word further, so it isn't asked."""
        return text != "" and not any(map(str.isspace, text))


class Bytes:
    """A vocabulary of the bytes of UTF-8: a Latin letter is one piece, a Chinese character three.

    Example:
        >>> vocabulary = Bytes()
        >>> vocabulary.encode("saw"), vocabulary.size
        ([118, 100, 122], 259)
        >>> vocabulary.decode(vocabulary.encode("看见 🙂"))
        '看见 🙂'
    """

    @classmethod
    def fit(cls, texts: Iterable[str] = (), size: int | None = None) -> "Bytes":
        """Make the vocabulary; there is nothing to learn.

        Raises:
            ArgumentError: `size` isn't 259 or None.
        """
        if size not in (None, cls().size):
            raise ArgumentError(f"`size` must be 259 for bytes (256, padding, start, end) or None, but is {size!r}.")
        return cls()

    @property
    def size(self) -> int:
        """The number of ids."""
        return SPECIAL_IDS + 256

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without start and end.

        Raises:
            ArgumentError: it isn't a text.
        """
        return [SPECIAL_IDS + byte for byte in checked_text(text).encode("utf-8")]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; padding, start and end are left out, and invalid UTF-8 becomes U+FFFD.

        Raises:
            ArgumentError: an id that isn't in the vocabulary.
        """
        return bytes(identity - SPECIAL_IDS for identity in checked_ids(ids, self.size)).decode("utf-8", "replace")

    def pieces(self, text: str) -> list[str]:
        """The text that each id of a text stands for, for display; a part of a character is U+FFFD."""
        return [self.decode([identity]) for identity in self.encode(text)]

    def to_json(self) -> dict[str, Any]:
        """The vocabulary as a JSON object: only its kind."""
        return {"kind": "bytes"}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "Bytes":
        """The vocabulary of the JSON object that `to_json` returned.

        Raises:
            ArgumentError: it isn't the object of a `Bytes`.
        """
        checked_names("vocabulary", saved, ["kind"])
        return cls()


@runtime_checkable
class Vocabulary(Protocol):
    """Encodes text as ids, and decodes ids. Ids 0, 1 and 2 are padding, start and end (`regard.special_ids`).

    Example:
        >>> isinstance(Bytes(), Vocabulary)
        True
    """

    @classmethod
    def fit(cls, texts: Iterable[str], size: int) -> Self:
        """Build the vocabulary from the training texts, with at most `size` ids."""
        ...

    @property
    def size(self) -> int:
        """The number of ids."""
        ...

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without start and end."""
        ...

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; padding, start and end are left out."""
        ...

    def pieces(self, text: str) -> list[str]:
        """The text of each id of a text, for display."""
        ...

    def to_json(self) -> dict[str, Any]:
        """The vocabulary as a JSON object; `kind` is its name in `VOCABULARIES`."""
        ...

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "Vocabulary":
        """The vocabulary of the JSON object that `to_json` returned; `Vocabulary.from_json` reads those of any kind."""
        return vocabulary_from_json(saved)


def vocabulary_from_json(saved: dict[str, Any]) -> Vocabulary:
    """The vocabulary of any kind that was saved as JSON.

    Raises:
        UnknownNameError: a kind that isn't in `VOCABULARIES`.
        ArgumentError: something is missing or invalid.

    Example:
        >>> vocabulary_from_json(Characters(["a", "b"]).to_json()).encode("ab")
        [4, 5]
    """
    if not isinstance(saved, dict) or not isinstance(saved.get("kind"), str):
        raise ArgumentError(f"`vocabulary` must be what `to_json` gave, but is {saved!r:.60}.")
    if saved["kind"] not in VOCABULARIES:
        raise UnknownNameError("kind", saved["kind"], VOCABULARIES)
    return VOCABULARIES[saved["kind"]].from_json(saved)


VOCABULARIES: dict[str, type[Vocabulary]] = {
    "subwords": Subwords,
    "characters": Characters,
    "bytes": Bytes,
    "words": Words,
}
"""The kinds of vocabularies by name."""
