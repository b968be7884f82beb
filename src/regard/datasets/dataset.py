"""The description of a data set: its files and terms, what it holds, and the function that reads it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from regard.datasets.example import Example
from regard.datasets.splits import split_by_hash
from regard.inputs.lines import ErrorHandler

__all__ = ["Dataset", "DatasetFile", "ReadSplit", "files_at", "select_split"]

ReadSplit = Callable[[Path, str, str, ErrorHandler], Iterable[Any]]
"""A function that reads one split. It takes the folder, the split, the name of the label, and the error handler."""


@dataclass(frozen=True)
class DatasetFile:
    """One file of a data set, or a folder of many small ones.

    Args:
        url: where it is downloaded from; None if it has to be downloaded by hand.
        sha256: the checksum of its bytes, in hexadecimal; for a folder, that of its files' names and checksums.
        size: the size in bytes.
        path: its path in the data set's folder; by default the last part of its URL.
        count: the number of files, if it is a folder; 0 if it is a file.
        unpacked: whether checksum and size are those of the decompressed content; compressed files of the same content
            may differ.
    """

    url: str | None
    sha256: str
    size: int
    path: str = ""
    count: int = 0
    unpacked: bool = False

    @property
    def filename(self) -> str:
        """The path of the file in the data set's folder."""
        return self.path or (self.url or "").rsplit("/", 1)[-1]


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A data set that regard knows by name.

    Args:
        name: its name.
        title: a short description.
        language: the language of its text.
        licence: its terms, as stated by its source.
        source: its source, with the version.
        citation: the paper to cite.
        modality: what a source is: words (a sentence whose words have labels), text, sound, picture, vectors, molecule
            or graph.
        target_type: what a target is: "label", "number", "text", "sound", "items" (a label or a number for each item)
            or "labels" (a 1 or 0 for each of several questions). If it depends on the label: a mapping from the name of
            each label to one of these.
        label: the name of the default label.
        labels: the names of all labels.
        read: the function that reads one split.
        fold: the character folding (a name in `inputs.FOLDINGS`) that gives all splits the same spelling.
        files: the files by name; for a treebank, by split.
        folder: the name of the folder with its files; by default its own name.
        by_hand: how to get it, as a sentence, if it can't be downloaded.
        library: the library that contains it, in which case it has no files; "" for none.
        extra: the extra that installs the library.
        questions: for the target type "labels", the names of the questions; each of them may be one of `labels`, too.
    """

    name: str
    title: str
    language: str
    licence: str
    source: str
    citation: str
    modality: str
    target_type: str | Mapping[str, str]
    label: str
    labels: tuple[str, ...]
    read: ReadSplit
    fold: str = "nothing"
    files: Mapping[str, DatasetFile]
    folder: str = ""
    by_hand: str = ""
    library: str = ""
    extra: str = ""
    questions: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The size of all its files in bytes."""
        return sum(file.size for file in self.files.values())

    @property
    def is_treebank(self) -> bool:
        """Whether its examples are sentences whose words have labels."""
        return self.modality == "words"

    def target_type_of(self, label: str) -> str:
        """The type of the targets of a label: one of those in `target_type`."""
        return self.target_type if isinstance(self.target_type, str) else self.target_type[label]


def files_at(url: str, **files: tuple[str, str, int]) -> Mapping[str, DatasetFile]:
    """The files below one URL, by name, from the path, the checksum and the size of each.

    Example:
        >>> files_at("https://example.org/data", test=("raw/test.en.gz", "6d1c", 5))["test"].url
        'https://example.org/data/raw/test.en.gz'
    """
    return MappingProxyType(
        {name: DatasetFile(f"{url}/{path}", sha256, size) for name, (path, sha256, size) in files.items()}
    )


def select_split(examples: Iterable[Example[Any, Any]], split: str) -> Iterator[Example[Any, Any]]:
    """The examples of a split, by the hash (`split_by_hash`) of their group, or of their source if they have none."""
    return (
        example
        for example in examples
        if split_by_hash(example.source if example.group is None else example.group) == split
    )
