"""Vocabularies: the interface of all vocabularies, and their names."""

from collections.abc import Iterable
from typing import Any, Protocol, Self, runtime_checkable

from regard.errors import ArgumentError, UnknownNameError
from regard.inputs.text.characters import Characters, Words
from regard.inputs.text.subwords import Subwords
from regard.inputs.text.text_bytes import Bytes

__all__ = ["VOCABULARIES", "Vocabulary", "vocabulary_from_json"]


@runtime_checkable
class Vocabulary(Protocol):
    """Encodes text as ids, and decodes ids. Ids 0, 1 and 2 are padding, start and end (`regard.special_ids`).

    Example:
        >>> from regard.inputs.text.text_bytes import Bytes
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
