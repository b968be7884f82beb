"""Sentences as users give them, checked: lists of words, never texts."""

from collections.abc import Iterable, Sequence
from typing import Any

from regard.errors import ArgumentError

__all__ = ["as_list", "as_sentences"]


def as_list(argument: str, value: Any, of: str) -> list[Any]:
    """A list of whatever can be gone through, except a text and an object of names.

    Args:
        argument: what to call it in an error.
        value: what was given.
        of: of what it must be a list.

    Raises:
        ArgumentError: it is something else.

    Example:
        >>> as_list("words", (word for word in ("I", "saw")), "words")
        ['I', 'saw']
        >>> as_list("words", None, "words")
        Traceback (most recent call last):
            ...
        regard.errors.ArgumentError: `words` must be a list of words, but is None.
    """
    if isinstance(value, str | bytes):
        hint = " Split it with regard.inputs.split_words." if isinstance(value, str) and "words" in of else ""
        raise ArgumentError(f"`{argument}` must be a list of {of}, but is the text {value!r:.60}.{hint}")
    if isinstance(value, dict) or not isinstance(value, Iterable):
        raise ArgumentError(f"`{argument}` must be a list of {of}, but is {value!r:.60}.")
    return list(value)


def as_sentences(sentences: Any) -> list[Sequence[str]]:
    """Sentences as lists of words.

    Raises:
        ArgumentError: a sentence is a text or no list at all, or a word is no string.

    Example:
        >>> as_sentences([("I", "saw"), []])
        [['I', 'saw'], []]
    """
    checked: list[Sequence[str]] = []
    for index, given in enumerate(as_list("sentences", sentences, "lists of words")):
        words = as_list(f"sentences[{index}]", given, "words")
        for word in words:
            if not isinstance(word, str):
                raise ArgumentError(f"`sentences[{index}]` must be a list of words, but holds {word!r:.60}.")
        checked.append(words)
    return checked
