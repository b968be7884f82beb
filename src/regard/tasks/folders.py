"""Writing a whole folder as one step: a kill, Ctrl-C or a full disk leaves the old folder or the new one.

A folder can't be renamed over another that holds files, so there are two renames: the old folder steps aside to
`.NAME.old`, the new one, complete and on the disk, takes its name. A kill between the two leaves only `.NAME.old`:
readers find it by `standing`, writers bring it back by `settle`. What is still being written is called `.NAME.*.part`
and is never read. A folder that only has such a name, but holds a file that isn't ours, is left alone.
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

__all__ = ["filling", "settle", "standing", "sweep", "write_folder"]


def write_folder(folder: str | Path, files: Mapping[str, bytes]) -> None:
    """Write a folder of files in one step, in the place of the folder of that name, if there is one.

    Args:
        folder: the folder to write; all that it held before is gone afterwards.
        files: file name -> content.

    Raises:
        OSError: the disk is full or the place can't be written; `folder` is then as it was.

    Example:
        >>> import tempfile
        >>> place = tempfile.TemporaryDirectory()
        >>> write_folder(Path(place.name) / "a", {"one.txt": b"1"})
        >>> write_folder(Path(place.name) / "a", {"two.txt": b"2"})
        >>> sorted(str(p.relative_to(place.name)) for p in Path(place.name).rglob("*"))
        ['a', 'a/two.txt']
        >>> place.cleanup()
    """
    settle(folder, files)
    with filling(folder) as put:
        for name, content in files.items():
            put(name, content)


@contextmanager
def filling(folder: str | Path) -> Iterator[Callable[[str, bytes], None]]:
    """Fill a folder file by file: it takes the place of the folder of that name when all is written, or never does.

    Args:
        folder: the folder to write; all that it held before is gone afterwards.

    Yields:
        what writes a file: is given its name and its content.

    Raises:
        OSError: the disk is full or the place can't be written; `folder` is then as it was.

    Example:
        >>> import tempfile
        >>> place = tempfile.TemporaryDirectory()
        >>> with filling(Path(place.name) / "a") as put:
        ...     put("one.txt", b"1")
        ...     (Path(place.name) / "a").exists()
        False
        >>> (Path(place.name) / "a" / "one.txt").read_bytes()
        b'1'
        >>> place.cleanup()
    """
    # The real place behind a link, so that a link to a folder stays a link.
    folder = Path(folder).resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    old = _aside(folder)
    if old.exists() and folder.exists():
        raise FileExistsError(errno.EEXIST, "it stands in the way and holds other files; move it", str(old))
    aside = folder.exists()
    part = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.", suffix=".part"))

    def put(name: str, content: bytes) -> None:
        with open(part / name, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    try:
        # mkdtemp makes folders that only the owner can enter; a model is meant to be shared.
        umask = os.umask(0)
        os.umask(umask)
        part.chmod(0o777 & ~umask)
        yield put
        _sync(part)
        if aside:
            os.rename(folder, old)
        os.rename(part, folder)
        _sync(folder.parent)
    except BaseException:
        if aside and old.exists() and not folder.exists():
            os.rename(old, folder)
        shutil.rmtree(part, ignore_errors=True)
        raise
    if aside:
        shutil.rmtree(old, ignore_errors=True)


def settle(folder: str | Path, files: Collection[str]) -> None:
    """Put right what a kill in the middle of `write_folder` left: bring the old folder back, or drop it.

    Only for the one process that writes the folder; who only reads it asks `standing`.

    Args:
        folder: the folder that `write_folder` writes.
        files: the names of the files that it may hold; with any other, it isn't ours.

    Example:
        >>> import tempfile
        >>> place = tempfile.TemporaryDirectory()
        >>> write_folder(Path(place.name) / ".a.old", {"one.txt": b"1"})
        >>> settle(Path(place.name) / "a", ["one.txt"])
        >>> [path.name for path in Path(place.name).iterdir()]
        ['a']
        >>> place.cleanup()
    """
    folder = Path(folder).resolve()
    old = _aside(folder)
    if _holds_only(old, files):
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
        elif any(old.iterdir()):
            os.rename(old, folder)


def standing(folder: str | Path, files: Collection[str]) -> Path:
    """Where the folder is to be read: under its name, or aside, if a kill left only that. Nothing is touched.

    Args:
        folder: the folder that `write_folder` writes.
        files: the names of the files that it may hold.
    """
    folder = Path(folder)
    old = _aside(folder.resolve())
    return old if not folder.exists() and _holds_only(old, files) and any(old.iterdir()) else folder


def sweep(folder: str | Path, files: Collection[str]) -> None:
    """Drop the half-written neighbours of `folder` that killed runs left. Only for the one process that writes it."""
    folder = Path(folder).resolve()
    settle(folder, files)
    for part in folder.parent.glob(f".{folder.name}.*.part"):
        if _holds_only(part, files):
            shutil.rmtree(part, ignore_errors=True)


def _holds_only(folder: Path, files: Collection[str]) -> bool:
    return folder.is_dir() and not folder.is_symlink() and set(os.listdir(folder)) <= set(files)


def _aside(folder: Path) -> Path:
    return folder.parent / f".{folder.name}.old"


def _sync(folder: Path) -> None:
    # A rename is on the disk only when the folder that holds the name is; not every system can sync a folder.
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        return
    finally:
        os.close(handle)
