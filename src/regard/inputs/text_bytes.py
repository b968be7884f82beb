"""Text as bytes: 256 ids are enough for every language, and nothing has to be learned."""

from collections.abc import Iterable
from typing import Any

from regard.errors import ArgumentError
from regard.inputs.saving import checked_names
from regard.inputs.special_ids import SPECIAL_IDS, checked_ids, checked_text

__all__ = ["Bytes"]


class Bytes:
    """Each byte of a text's UTF-8 is a piece: a Latin letter is one, a Chinese character three.

    Example:
        >>> vocabulary = Bytes()
        >>> vocabulary.encode("saw"), vocabulary.size
        ([118, 100, 122], 259)
        >>> vocabulary.decode(vocabulary.encode("看见 🙂"))
        '看见 🙂'
    """

    @classmethod
    def fit(cls, texts: Iterable[str] = (), size: int | None = None) -> "Bytes":
        """There is nothing to learn; as the other vocabularies have it.

        Raises:
            ArgumentError: another size than 259.
        """
        if size not in (None, cls().size):
            raise ArgumentError(f"`size` must be 259 for bytes (256, padding, start, end) or None, but is {size!r}.")
        return cls()

    @property
    def size(self) -> int:
        """How many ids there are."""
        return SPECIAL_IDS + 256

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without start and end.

        Raises:
            ArgumentError: it is no text.
        """
        return [SPECIAL_IDS + byte for byte in checked_text(text).encode("utf-8")]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; padding, start and end are nothing, and bytes that are no UTF-8 are U+FFFD.

        Raises:
            ArgumentError: an id that isn't in the vocabulary.
        """
        return bytes(identity - SPECIAL_IDS for identity in checked_ids(ids, self.size)).decode("utf-8", "replace")

    def pieces(self, text: str) -> list[str]:
        """Each id of a text as text, for showing; part of a character is U+FFFD."""
        return [self.decode([identity]) for identity in self.encode(text)]

    def to_json(self) -> dict[str, Any]:
        """What JSON needs to hold: the kind alone."""
        return {"kind": "bytes"}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "Bytes":
        """From what `to_json` gave.

        Raises:
            ArgumentError: something else.
        """
        checked_names("vocabulary", saved, ["kind"])
        return cls()
