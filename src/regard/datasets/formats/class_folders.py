"""Folders with a folder for each class, which holds its sounds or pictures: folder/class/file."""

from collections.abc import Iterator
from pathlib import Path

from regard.datasets.example import Example
from regard.errors import DataError
from regard.inputs.lines import ErrorHandler, raise_error
from regard.inputs.text.special_ids import checked_text

__all__ = ["PICTURES", "SOUNDS", "read_class_folders"]

SOUNDS = (".wav", ".flac", ".ogg", ".mp3", ".aiff", ".aif")
"""The suffixes of sounds, in upper or lower case."""

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp")
"""The suffixes of pictures, in upper or lower case."""


def read_class_folders(folder: str | Path, *, on_error: ErrorHandler = raise_error) -> Iterator[Example[Path, str]]:
    """The sounds or pictures in the folders of classes, sorted by path, each labelled with the name of its folder.

    No file is opened. Hidden files are ignored, as are files next to the folders of classes that are neither a sound
    nor a picture, such as a licence.

    Args:
        folder: the folder that contains the folders of classes.
        on_error: called for everything else in it; by default it raises the error.

    Raises:
        DataError: no classes, or sounds and pictures in one folder.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name in ("cat/1.png", "cat/2.png", "dog/1.png"):
        ...         path = Path(folder, name)
        ...         path.parent.mkdir(exist_ok=True)
        ...         path.touch()
        ...     [(example.source.name, example.target) for example in read_class_folders(folder)]
        [('1.png', 'cat'), ('2.png', 'cat'), ('1.png', 'dog')]
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError("it is a file, not a folder." if folder.exists() else "there is no such folder.", path=folder)
    kinds: dict[str, Path] = {}
    for path in _visible(folder):
        if not path.is_dir():
            if _kind(path):
                on_error(DataError("it isn't in the folder of a class: move it to folder/class/file.", path=path))
            continue
        if path.name != checked_text(path.name):
            on_error(DataError("the name of a class must be UTF-8, but isn't. Rename the folder.", path=path))
            continue
        members = _visible(path)
        if not members:
            on_error(DataError("this class has no file.", path=path))
        for member in members:
            kind = _kind(member) if member.is_file() else None
            if kind is None:
                what = "neither a sound nor a picture"
                if not member.is_file():
                    # A link whose file isn't there, too.
                    what = "a folder in a class's folder" if member.is_dir() else "not a file that can be read"
                on_error(DataError(f"it is {what}.", path=member))
                continue
            kinds.setdefault(kind, member)
            if len(kinds) > 1:
                raise DataError(
                    f"it holds both sounds and pictures: {' and '.join(str(path) for path in kinds.values())}. "
                    "Give each a folder of its own.",
                    path=folder,
                )
            yield Example(member, path.name)
    if not kinds:
        raise DataError("it has no folder with sounds or pictures in it: folder/class/file.", path=folder)


def _visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _kind(path: Path) -> str | None:
    suffix = path.suffix.lower()
    return "sound" if suffix in SOUNDS else "picture" if suffix in PICTURES else None
