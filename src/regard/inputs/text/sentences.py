"""Validation of sentences that users pass: lists of words, not texts."""

from collections.abc import Iterable, Sequence
from typing import Any

from regard.errors import ArgumentError

__all__ = ["as_list", "as_sentences"]


def as_list(argument: str, value: Any, of: str) -> list[Any]:
    """The elements of an iterable as a list; texts and mappings are refused.

    Args:
        argument: the name of the argument, for the error.
        value: the value that was passed.
        of: what the elements must be, for the error.

    Raises:
        ArgumentError: it isn't iterable, or is a text or a mapping.

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
        ArgumentError: a sentence is a text or isn't a list, or a word isn't a string.

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
