"""A data set of examples: its files and terms, and how they are read."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from regard.datasets.catalog import Dataset, DatasetFile
from regard.datasets.example import Example
from regard.datasets.splits import split_by_hash
from regard.inputs.lines import ErrorHandler

__all__ = ["ExampleSet", "Read", "files_at", "hashed"]

Read = Callable[[Path, str, str, ErrorHandler], Iterable[Example[Any, Any]]]
"""Reads one split: is given the folder, the split, the name of the label, and whom to tell of what is broken."""


@dataclass(frozen=True, kw_only=True)
class ExampleSet(Dataset):
    """A data set of examples that regard knows by name.

    Args:
        reads: what a source is: text, sound, picture, vectors, molecule or graph.
        gives: what a target is: "label", "number", "text", "sound", "items" (a label or a number for each item) or
            "labels" (a 1 or 0 for each of several questions); for each name of a label, if they differ.
        labels: the names of what it can be labelled with; `label` is the usual one.
        read: reads one split.
        questions: for "labels", what each of them answers; each may be a label of its own.
    """

    reads: str
    gives: str | Mapping[str, str]
    labels: tuple[str, ...]
    read: Read
    questions: tuple[str, ...] = ()

    def target(self, label: str) -> str:
        """What a target is, for the name of a label."""
        return self.gives if isinstance(self.gives, str) else self.gives[label]


def files_at(url: str, **files: tuple[str, str, int]) -> Mapping[str, DatasetFile]:
    """Files below one URL: for each part of the data set its path there, its checksum and its size.

    Example:
        >>> files_at("https://example.org/data", test=("raw/test.en.gz", "6d1c", 5))["test"].url
        'https://example.org/data/raw/test.en.gz'
    """
    return MappingProxyType(
        {part: DatasetFile(f"{url}/{path}", sha256, size) for part, (path, sha256, size) in files.items()}
    )


def hashed(examples: Iterable[Example[Any, Any]], split: str) -> Iterator[Example[Any, Any]]:
    """Those examples whose group, else whose text, `split_by_hash` puts into a split."""
    return (each for each in examples if split_by_hash(each.source if each.group is None else each.group) == split)
