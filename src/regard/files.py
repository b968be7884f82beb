"""Writing files so that a kill, Ctrl-C or a full disk leaves the old file or the new one, never half of one.

And what may have been meant by a path that isn't there.
"""

import difflib
import errno
import json
import os
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["nearest", "write_bytes", "write_json", "write_text"]


def nearest(path: str | Path, ending: str = "") -> list[str]:
    """What may be meant by a path that isn't there: the file or folder beside whose name is most like, if one is.

    Args:
        path: what isn't there.
        ending: of the names that may be meant.

    Returns:
        one path, written as the given one is, or none.

    Example:
        >>> import tempfile, pathlib
        >>> folder = tempfile.TemporaryDirectory()
        >>> (pathlib.Path(folder.name) / "friends").mkdir()
        >>> nearest(f"{folder.name}/frinds/") == [f"{folder.name}/friends"]
        True
        >>> nearest(f"{folder.name}/reviews")
        []
        >>> folder.cleanup()
    """
    # The names alone are compared: a long folder before them would make any two alike.
    folder, name = os.path.split(os.fspath(path).rstrip(os.sep))
    try:
        names = [each for each in sorted(os.listdir(folder or ".")) if each.endswith(ending) and each[0] != "."]
    except (OSError, ValueError):
        # No folder either, or nothing that could be one's name.
        return []
    return [os.path.join(folder, each) for each in difflib.get_close_matches(name, names, n=1)]


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write `content` to `path` as one step: into a neighbour first, onto the disk, then renamed over `path`.

    Raises:
        OSError: the disk is full or the folder can't be written; it names `path`, which is then as it was.

    Example:
        >>> import tempfile, pathlib
        >>> folder = tempfile.TemporaryDirectory()
        >>> write_bytes(pathlib.Path(folder.name) / "a.bin", b"abc")
        >>> pathlib.Path(folder.name, "a.bin").read_bytes()
        b'abc'
        >>> folder.cleanup()
    """
    path = Path(path)
    try:
        _write(path, content)
    except FileExistsError as error:
        # From mkdir: what should be the folder is a file.
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from error
    except OSError as error:
        # What failed is a neighbour of half a name, or has none; the file that was asked for says more.
        raise OSError(error.errno, error.strerror, str(path)) from error


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, neighbour = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files that only the owner can read; a model is meant to be shared.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(neighbour, 0o666 & ~umask)
        os.replace(neighbour, path)
    except BaseException:
        Path(neighbour).unlink(missing_ok=True)
        raise


def write_text(path: str | Path, content: str) -> None:
    """Write text as UTF-8, in one step; see `write_bytes`."""
    write_bytes(path, content.encode("utf-8"))


def write_json(path: str | Path, content: Any) -> None:
    """Write JSON that a person can read, in one step; see `write_bytes`."""
    write_text(path, json.dumps(content, ensure_ascii=False, indent=2) + "\n")
