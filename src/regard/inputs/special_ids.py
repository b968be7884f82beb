"""The ids that every vocabulary keeps free, and the checks that all of them share."""

from collections.abc import Iterable

from regard.errors import ArgumentError

__all__ = ["SPECIAL_IDS", "UNKNOWN_PIECE", "checked_ids", "checked_text"]

SPECIAL_IDS = 3
"""How many ids are no pieces of text."""

UNKNOWN_PIECE = 3
"""The id of a piece that isn't known, in the vocabularies in which there is such a thing."""


def checked_text(text: str) -> str:
    """The text, with half characters (from a command line that isn't UTF-8) as U+FFFD: no encoding could hold them.

    Raises:
        ArgumentError: it is no text.

    Example:
        >>> checked_text("a\\udcffb")
        'a\ufffdb'
    """
    if not isinstance(text, str):
        raise ArgumentError(f"`text` must be a text, but is {text!r:.60}.")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def checked_ids(ids: Iterable[int], size: int) -> list[int]:
    """The ids that are pieces of text: all but padding, start and end.

    Raises:
        ArgumentError: an id that isn't in the vocabulary.

    Example:
        >>> checked_ids([1, 5, 2, 0, 0], size=7)
        [5]
    """
    whole = [int(identity) for identity in ids]
    for identity in whole:
        if not 0 <= identity < size:
            raise ArgumentError(f"`ids` must be from 0 to {size - 1}, the vocabulary's last, but one is {identity}.")
    return [identity for identity in whole if identity >= SPECIAL_IDS]
