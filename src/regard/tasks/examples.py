"""Checks of examples, which may be pairs or objects with attributes."""

import dataclasses
import hashlib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard import datasets, inputs
from regard.errors import ArgumentError
from regard.inputs import as_list

__all__ = [
    "Example",
    "Pair",
    "answers_questions",
    "as_examples",
    "as_pairs",
    "digest_pairs",
    "first_target",
    "is_sound",
    "mostly_different",
    "spread",
]

Example = tuple[tuple[str, ...], tuple[str, ...]]
Pair = tuple[Any, Any]


def as_examples(sentences: Iterable[Any], *, argument: str = "examples") -> list[Example]:
    """Check sentences with labels, and convert them to pairs of tuples.

    Args:
        sentences: (words, labels) pairs, or objects with `words` and `labels`.
        argument: their name in an error.

    Raises:
        ArgumentError: an example has another form, or doesn't have one label for each word.

    Example:
        >>> as_examples([(["I", "saw"], ["PRON", "VERB"])])
        [(('I', 'saw'), ('PRON', 'VERB'))]
    """
    given = as_list(argument, sentences, "(words, labels) pairs")
    return [_as_example(item, f"{argument}[{index}]") for index, item in enumerate(given)]


def as_pairs(examples: Iterable[Any], *, argument: str = "examples") -> list[Pair]:
    """Check that each example has a source and a target, and convert them to pairs.

    Args:
        examples: (source, target) pairs, or objects with `source` and `target`, or with `words` and `labels`.
        argument: their name in an error.

    Raises:
        ArgumentError: an example has another form.

    Example:
        >>> as_pairs([("a good film", "positive"), ["a bad one", "negative"]])
        [('a good film', 'positive'), ('a bad one', 'negative')]
    """
    pairs: list[Pair] = []
    for place, item in enumerate(as_list(argument, examples, "(source, target) pairs")):
        if hasattr(item, "source") and hasattr(item, "target"):
            pairs.append((item.source, item.target))
        elif hasattr(item, "words") and hasattr(item, "labels"):
            pairs.append((item.words, item.labels))
        elif isinstance(item, list | tuple) and len(item) == 2:
            pairs.append((item[0], item[1]))
        else:
            raise ArgumentError(f"`{argument}[{place}]` must be a pair (source, target), but is {item!r:.80}.")
    return pairs


def first_target(pairs: Sequence[Pair]) -> Any:
    """The first known target; None if there is none.

    Example:
        >>> first_target([("a good film", None), ("a bad one", "negative")])
        'negative'
    """
    return next((target for _, target in pairs if target is not None), None)


def is_sound(target: Any) -> bool:
    """Whether a target is a sound, or the path of one."""
    return isinstance(target, inputs.Sound | Path)


def answers_questions(pairs: Sequence[Pair]) -> bool:
    """Whether the targets are lists of 1, 0 and None, for several questions; any other list has a target per item.

    Example:
        >>> answers_questions([("CCO", [1, None])]), answers_questions([(["I", "saw"], ["PRON", "VERB"])])
        (True, False)
    """
    first = first_target(pairs)
    if not isinstance(first, list | tuple) or isinstance(pairs[0][0], inputs.Graph):
        return False
    return isinstance(first, datasets.BinaryLabels) or all(answer is None or type(answer) is int for answer in first)


def mostly_different(pairs: Sequence[Pair]) -> bool:
    """Whether the targets are texts, more than half of which differ: labels repeat.

    Example:
        >>> mostly_different([("hi", "salut"), ("yes", "oui")]), mostly_different([("a", "x"), ("b", "x")])
        (True, False)
    """
    targets = [target for _, target in pairs if target is not None]
    return bool(targets) and isinstance(targets[0], str) and 2 * len({*targets}) > len(targets)


def spread(examples: Sequence[Any], most: int) -> list[Any]:
    """At most `most` of the examples, evenly spaced.

    Example:
        >>> spread([1, 2, 3, 4, 5, 6], 3)
        [1, 3, 5]
    """
    count = min(len(examples), most)
    return [examples[place * len(examples) // count] for place in range(count)]


def digest_pairs(pairs: Iterable[Pair]) -> str:
    """A SHA-256 of sources and targets; for a source that is a file, of its content.

    Example:
        >>> digest_pairs([("a", 1)]) == digest_pairs([("a", 1)]) != digest_pairs([("a", "1")])
        True
    """
    running = hashlib.sha256()
    for pair in pairs:
        for value in pair:
            _take(running, value)
    return running.hexdigest()


def _take(running: Any, value: Any) -> None:
    """Add a value to a digest: its type, size and content, so that different values have different digests."""
    if isinstance(value, Path):
        value = value.read_bytes()
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    if dataclasses.is_dataclass(value):
        value = [getattr(value, entry.name) for entry in dataclasses.fields(value)]
    if isinstance(value, np.ndarray):
        running.update(f"array {value.dtype} {value.shape}\n".encode())
        running.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, list | tuple):
        running.update(f"list {len(value)}\n".encode())
        for item in value:
            _take(running, item)
    else:
        held = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
        running.update(f"{type(value).__name__} {len(held)}\n".encode())
        running.update(held)


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
