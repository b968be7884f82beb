"""Sentences with their labels, in either form that users have them: (words, labels), or with those as attributes."""

import hashlib
from collections.abc import Collection, Iterable
from typing import Any

from regard.errors import ArgumentError
from regard.inputs import as_list

__all__ = ["Example", "as_examples", "digest"]

Example = tuple[tuple[str, ...], tuple[str, ...]]


def as_examples(sentences: Iterable[Any], *, argument: str = "sentences") -> list[Example]:
    """Check sentences with labels, and give them one form.

    Args:
        sentences: (words, labels) pairs, or objects with `words` and `labels`.
        argument: what to call them in an error.

    Raises:
        ArgumentError: an item is something else, or has not one label for each word.

    Example:
        >>> as_examples([(["I", "saw"], ["PRON", "VERB"])])
        [(('I', 'saw'), ('PRON', 'VERB'))]
    """
    given = as_list(argument, sentences, "(words, labels) pairs")
    return [_as_example(item, f"{argument}[{index}]") for index, item in enumerate(given)]


def digest(examples: Iterable[Example]) -> str:
    """A SHA-256 of words and labels: two lists of sentences with the same one are the same.

    Example:
        >>> digest([(("a",), ("X",))])[:8]
        'c6b4a25d'
    """
    running = hashlib.sha256()
    for words, labels in examples:
        # Characters that no word holds, so that other cuts give another digest.
        line = "\x1f".join(words) + "\x1e" + "\x1f".join(labels) + "\x1d"
        running.update(line.encode("utf-8", "surrogatepass"))
    return running.hexdigest()


def _as_example(item: Any, name: str) -> Example:
    if hasattr(item, "words") and hasattr(item, "labels"):
        words, labels = item.words, item.labels
    elif isinstance(item, list | tuple) and len(item) == 2:
        words, labels = item
    else:
        raise ArgumentError(f"`{name}` must be a pair (words, labels), but is {item!r:.80}.")
    for part, values in (("words", words), ("labels", labels)):
        if (
            isinstance(values, str)
            or not isinstance(values, Collection)
            or not all(isinstance(value, str) for value in values)
        ):
            raise ArgumentError(f"The {part} of `{name}` must be a list of strings, but are {values!r:.80}.")
    if len(words) != len(labels):
        raise ArgumentError(
            f"`{name}` must have a label for each word, but has {len(words)} words, {len(labels)} labels."
        )
    return tuple(words), tuple(labels)
