"""Renaming labels when data are read: 0 and 1 become negative and positive."""

import csv
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from regard.datasets.example import TaggedSentence
from regard.errors import ArgumentError, nearest

__all__ = ["check_label_names", "labels_of", "parse_label_names", "rename_labels"]


def parse_label_names(text: str) -> dict[str, str]:
    """Parse a list such as 0=negative,1=positive: the new name of each label.

    An entry that contains a comma is in double quotes: "yes, please=yes",no=no. Spaces around labels and names are
    removed.

    Raises:
        ArgumentError: it isn't such a list, or has a label twice on the left.

    Example:
        >>> parse_label_names("0=negative, 1=positive")
        {'0': 'negative', '1': 'positive'}
    """
    try:
        (cells,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError) as error:
        raise _malformed(text) from error
    names: dict[str, str] = {}
    for cell in cells:
        label, equals, name = (part.strip() for part in cell.partition("="))
        if not (label and equals and name):
            raise _malformed(cell)
        if label in names:
            raise ArgumentError(
                f"`--labels` must name a label once on the left, but names {label!r:.60} twice: "
                f"{label}={names[label]} and {label}={name}."
            )
        names[label] = name
    if not names:
        raise _malformed(text)
    return names


def _malformed(text: str) -> ArgumentError:
    return ArgumentError(
        f"`--labels` must be OLD=NEW for each label, such as 0=negative,1=positive, but is {text!r:.60}."
    )


def labels_of(examples: Iterable[Any]) -> list[str]:
    """The labels in examples or sentences, sorted; empty if targets are numbers or answers to questions.

    Example:
        >>> from regard.datasets.example import Example
        >>> labels_of([Example("good", "1"), Example("bad", "0"), Example("so so", None)])
        ['0', '1']
    """
    labels: set[str] = set()
    for example in examples:
        labels.update(target for target in _targets(example) if isinstance(target, str))
    return sorted(labels)


def rename_labels(examples: Sequence[Any], names: Mapping[str, str]) -> list[Any]:
    """Rename some labels of examples or sentences; other labels aren't changed.

    Labels with the same new name become one label.

    Example:
        >>> from regard.datasets.example import Example
        >>> renamed = rename_labels([Example("good", "1"), Example("bad", "0")], {"0": "negative"})
        >>> [example.target for example in renamed]
        ['1', 'negative']
    """
    return [_renamed(example, names) for example in examples]


def check_label_names(names: Mapping[str, str], labels: Sequence[str], given: object) -> None:
    """Check that all labels to rename are in the data.

    Args:
        names: the new name of each label.
        labels: the labels of the data.
        given: the name of the data, for messages.

    Raises:
        ArgumentError: a label isn't in the data, or the data have no labels.
    """
    if not labels:
        raise ArgumentError(
            f"`--labels` must be left out for {given}, whose targets aren't labels but numbers, texts or questions."
        )
    for label in names:
        if label not in labels:
            near = nearest(label, labels)
            hint = f" Did you mean {near!r}?" if near else ""
            omitted = f", ... ({len(labels):,} labels)" if len(labels) > _MOST_LISTED else ""
            raise ArgumentError(
                f"`--labels` must have labels of {given} on the left, which are "
                f"{', '.join(labels[:_MOST_LISTED])}{omitted}, but has {label!r:.60}.{hint}"
            )


_MOST_LISTED = 50


def _targets(example: Any) -> tuple[Any, ...]:
    if isinstance(example, TaggedSentence):
        return example.labels
    return example.target if isinstance(example.target, tuple) else (example.target,)


def _renamed(example: Any, names: Mapping[str, str]) -> Any:
    if isinstance(example, TaggedSentence):
        return TaggedSentence(example.words, tuple(names.get(label, label) for label in example.labels))
    target = example.target
    if isinstance(target, str):
        return dataclasses.replace(example, target=names.get(target, target))
    if isinstance(target, tuple) and any(isinstance(label, str) for label in target):
        return dataclasses.replace(example, target=tuple(names.get(label, label) for label in target))
    return example
