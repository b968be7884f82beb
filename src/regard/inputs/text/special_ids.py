"""The special ids of vocabularies, and checks that all vocabularies share."""

from collections import Counter
from collections.abc import Iterable, Sequence

from regard.errors import ArgumentError

__all__ = ["SPECIAL_IDS", "UNKNOWN_PIECE", "checked_ids", "checked_text", "numbered"]

SPECIAL_IDS = 3
"""The number of ids that aren't pieces of text: padding, start and end."""

UNKNOWN_PIECE = 3
"""The id of out-of-vocabulary pieces, in vocabularies that may have some."""


def numbered(name: str, pieces: Sequence[str], *, noun: str, first: int) -> dict[str, int]:
    """The id of each piece of a vocabulary, from `first` on.

    Args:
        name: the name of the argument, for the error.
        pieces: the pieces.
        noun: what the vocabulary calls a piece.
        first: the first id.

    Raises:
        ArgumentError: a piece occurs twice.

    Example:
        >>> numbered("listed", ["a", "b"], noun="piece", first=4)
        {'a': 4, 'b': 5}
    """
    ids = {piece: identity for identity, piece in enumerate(pieces, start=first)}
    if len(ids) != len(pieces):
        twice = Counter(pieces).most_common(1)[0][0]
        raise ArgumentError(f"`{name}` must name each {noun} once, but has {twice!r:.60} more than once.")
    return ids


def checked_text(text: str) -> str:
    """The text with lone surrogates, from a command line that isn't UTF-8, replaced by U+FFFD.

    Raises:
        ArgumentError: it isn't a text.

    Example:
        >>> checked_text("a\\udcffb")
        'a\ufffdb'
    """
    if not isinstance(text, str):
        raise ArgumentError(f"`text` must be a text, but is {text!r:.60}.")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def checked_ids(ids: Iterable[int], size: int) -> list[int]:
    """The ids of pieces of text, without padding, start and end.

    Raises:
        ArgumentError: an id that isn't in the vocabulary.

    Example:
        >>> checked_ids([1, 5, 2, 0, 0], size=7)
        [5]
    """
    integers = [int(identity) for identity in ids]
    for identity in integers:
        if not 0 <= identity < size:
            raise ArgumentError(f"`ids` must be from 0 to {size - 1}, the vocabulary's last, but one is {identity}.")
    return [identity for identity in integers if identity >= SPECIAL_IDS]
