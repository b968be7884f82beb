"""Opening the sounds and pictures of examples, as training will."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from regard.datasets.formats.class_folders import PICTURES
from regard.datasets.formats.vectors import VECTORS
from regard.errors import DataError
from regard.inputs import read_picture, read_sound

__all__ = ["open_file", "readable"]


def open_file(path: Path) -> None:
    """Read the sound or the picture in a file, by its suffix.

    Raises:
        DataError: it can't be read.
        MissingExtraError: the library that reads it is not installed.
    """
    suffix = path.suffix.lower()
    if suffix not in VECTORS:
        (read_picture if suffix in PICTURES else read_sound)(path)


def readable(examples: Iterable[Any], on_error: Callable[[DataError], None]) -> Iterator[Any]:
    """The examples whose files can be read, if their sources or targets are files.

    Args:
        examples: `Example`s, or other objects, which are passed on.
        on_error: called for each file that can't be read, whose example is then skipped.

    Raises:
        MissingExtraError: the library that reads a file is not installed.
    """
    for example in examples:
        try:
            for each in (getattr(example, "source", None), getattr(example, "target", None)):
                if isinstance(each, Path):
                    open_file(each)
        except DataError as error:
            on_error(error)
        else:
            yield example
