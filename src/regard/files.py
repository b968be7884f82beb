"""Atomic writing of files: a kill, Ctrl-C or a full disk leaves the old file or the new one, never a part of it.

And reading of files that users name: regular ones alone, of a bounded size; and suggestions for a path that doesn't
exist.
"""

import difflib
import errno
import json
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

__all__ = [
    "looks_like_path",
    "open_regular",
    "read_regular",
    "similar_paths",
    "write_bytes",
    "write_json",
    "write_text",
    "write_together",
]


def looks_like_path(text: str | Path) -> bool:
    """Whether a text is meant as a path where a name would do as well: it has a separator or a suffix.

    Example:
        >>> [looks_like_path(text) for text in ("reviews.csv", "mine/", "ud-english-ewt")]
        [True, True, False]
    """
    text = os.fspath(text)
    return os.sep in text or "/" in text or bool(Path(text).suffix)


def open_regular(path: str | Path) -> BinaryIO:
    """Open a regular file to read its bytes: what is read from a pipe may never begin, and from a device never end.

    Raises:
        OSError: there is no such file, it can't be opened, or it is a folder, a pipe or a device.
    """
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(path))
    return Path(path).open("rb")


def read_regular(path: str | Path, most: int) -> bytes:
    """Read the bytes of a regular file.

    Args:
        path: the file.
        most: the size in bytes above which nothing is read.

    Raises:
        OSError: as in `open_regular`, or it is larger.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"it has {size:,} bytes, and may have {most:,}", str(path))
        return file.read(most)


def similar_paths(path: str | Path, ending: str = "") -> list[str]:
    """Suggest a path for one that doesn't exist: the file or folder in the same place with the most similar name.

    Args:
        path: the path that doesn't exist.
        ending: only names with this ending are suggested.

    Returns:
        a list of one path, relative or absolute like the given one, or an empty list.

    Example:
        >>> import tempfile, pathlib
        >>> folder = tempfile.TemporaryDirectory()
        >>> (pathlib.Path(folder.name) / "friends").mkdir()
        >>> similar_paths(f"{folder.name}/frinds/") == [f"{folder.name}/friends"]
        True
        >>> similar_paths(f"{folder.name}/reviews")
        []
        >>> folder.cleanup()
    """
    # Only the names are compared: with a long folder in front, any two paths would be similar.
    folder, name = os.path.split(os.fspath(path).rstrip(os.sep))
    try:
        names = [each for each in sorted(os.listdir(folder or ".")) if each.endswith(ending) and each[0] != "."]
    except (OSError, ValueError):
        # The folder doesn't exist, or the name is invalid.
        return []
    return [os.path.join(folder, each) for each in difflib.get_close_matches(name, names, n=1)]


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write `content` to `path` atomically: to a temporary file in the same folder, which is synced and then renamed.

    Raises:
        OSError: the disk is full or the folder can't be written; it names `path`, which is unchanged.

    Example:
        >>> import tempfile, pathlib
        >>> folder = tempfile.TemporaryDirectory()
        >>> write_bytes(pathlib.Path(folder.name) / "a.bin", b"abc")
        >>> pathlib.Path(folder.name, "a.bin").read_bytes()
        b'abc'
        >>> folder.cleanup()
    """
    write_together({Path(path): content})


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write several files: all of them are complete, on the disk and under other names before the first is renamed.

    So a full disk leaves the old files as they are. A kill between two renames may leave some new and some old ones.

    Raises:
        OSError: as in `write_bytes`; nothing is changed.

    Example:
        >>> import tempfile, pathlib
        >>> folder = tempfile.TemporaryDirectory()
        >>> write_together({pathlib.Path(folder.name, name): b"1" for name in ("a", "b")})
        >>> sorted(path.name for path in pathlib.Path(folder.name).iterdir())
        ['a', 'b']
        >>> folder.cleanup()
    """
    staged: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            with _naming(path):
                staged[path] = _staged(path, content)
        for path, temporary in staged.items():
            with _naming(path):
                os.replace(temporary, path)
    finally:
        for temporary in staged.values():
            temporary.unlink(missing_ok=True)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let errors name the file that was asked for: they name the temporary one, or none."""
    try:
        yield
    except FileExistsError as error:
        # From mkdir: a parent of the path is a file.
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from error
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _staged(path: Path, content: bytes) -> Path:
    """Write the content to a new file in the same folder, and return its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files that only the owner can read, but models are meant to be shared.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return Path(temporary)


def write_text(path: str | Path, content: str) -> None:
    """Write text as UTF-8, atomically; see `write_bytes`."""
    write_bytes(path, content.encode("utf-8"))


def write_json(path: str | Path, content: Any) -> None:
    """Write indented JSON, atomically; see `write_bytes`."""
    write_text(path, json.dumps(content, ensure_ascii=False, indent=2) + "\n")
