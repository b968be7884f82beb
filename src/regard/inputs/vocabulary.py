"""Text to ids and back: what every vocabulary offers, and which there are."""

from collections.abc import Iterable
from typing import Any, Protocol, Self, runtime_checkable

from regard.errors import ArgumentError, UnknownNameError
from regard.inputs.characters import Characters, Words
from regard.inputs.subwords import Subwords
from regard.inputs.text_bytes import Bytes

__all__ = ["VOCABULARIES", "Vocabulary", "vocabulary_from_json"]


@runtime_checkable
class Vocabulary(Protocol):
    """Text to ids and back. Ids 0, 1 and 2 are padding, start and end (`regard.inputs.special_ids`), never text.

    Example:
        >>> from regard.inputs.text_bytes import Bytes
        >>> isinstance(Bytes(), Vocabulary)
        True
    """

    @classmethod
    def fit(cls, texts: Iterable[str], size: int) -> Self:
        """Learn from the training texts; at most `size` ids."""
        ...

    @property
    def size(self) -> int:
        """How many ids there are."""
        ...

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without start and end."""
        ...

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; padding, start and end are nothing."""
        ...

    def pieces(self, text: str) -> list[str]:
        """Each id of a text as text, for showing."""
        ...

    def to_json(self) -> dict[str, Any]:
        """What JSON needs to hold to make this vocabulary again; `kind` is its name in `VOCABULARIES`."""
        ...

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> Self:
        """From what `to_json` gave."""
        ...


def vocabulary_from_json(saved: dict[str, Any]) -> Vocabulary:
    """The vocabulary that was saved, whatever its kind.

    Raises:
        UnknownNameError: of no kind in `VOCABULARIES`.
        ArgumentError: something is missing or isn't what `to_json` writes.

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
"""The ways to read text, by name."""
