"""A vocabulary of bytes: 256 ids are enough for every language, and nothing has to be learned."""

from collections.abc import Iterable
from typing import Any

from regard.errors import ArgumentError
from regard.inputs.saved import checked_names
from regard.inputs.text.special_ids import SPECIAL_IDS, checked_ids, checked_text

__all__ = ["Bytes"]


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
