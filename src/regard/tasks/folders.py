"""Writing a whole folder as one step: a kill, Ctrl-C or a full disk leaves the old folder or the new one.

A folder can't be renamed over another that holds files, so there are two renames: the old folder steps aside to
`.NAME.old`, the new one, complete and on the disk, takes its name. A kill between the two leaves only `.NAME.old`;
`settle` brings it back. What is still being written is called `.NAME.*.part` and is never read.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["settle", "sweep", "write_folder"]


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
    # The real place behind a link, so that a link to a folder stays a link.
    folder = Path(folder).resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    old = _aside(folder)
    settle(folder)
    part = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.", suffix=".part"))
    try:
        # mkdtemp makes folders that only the owner can enter; a model is meant to be shared.
        umask = os.umask(0)
        os.umask(umask)
        part.chmod(0o777 & ~umask)
        for name, content in files.items():
            with open(part / name, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        _sync(part)
        if folder.exists():
            os.rename(folder, old)
        os.rename(part, folder)
        _sync(folder.parent)
    except BaseException:
        settle(folder)
        shutil.rmtree(part, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)


def settle(folder: str | Path) -> None:
    """Put right what a kill in the middle of `write_folder` left: bring the old folder back, or drop it.

    Args:
        folder: the folder that `write_folder` writes.

    Example:
        >>> import tempfile
        >>> place = tempfile.TemporaryDirectory()
        >>> Path(place.name, ".a.old").mkdir()
        >>> settle(Path(place.name) / "a")
        >>> [path.name for path in Path(place.name).iterdir()]
        ['a']
        >>> place.cleanup()
    """
    folder = Path(folder).resolve()
    old = _aside(folder)
    if old.exists():
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.rename(old, folder)


def sweep(folder: str | Path) -> None:
    """Drop the half-written neighbours of `folder` that killed runs left. Only for the one process that writes it."""
    folder = Path(folder).resolve()
    settle(folder)
    for part in folder.parent.glob(f".{folder.name}.*.part"):
        shutil.rmtree(part, ignore_errors=True)


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
