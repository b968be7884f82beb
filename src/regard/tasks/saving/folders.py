"""Replace a whole folder atomically: after a kill, Ctrl-C or a full disk there is the old folder or the new one.

No system call replaces a folder that holds files, so there are two renames. First the old folder NAME becomes
`.NAME.old`, then the new folder, which is complete and synced to disk, becomes NAME. A kill between the two leaves only
`.NAME.old`: `find_folder` returns it to readers, and `recover` renames it back for writers. A folder that is being
written is called `.NAME.*.part` and is never read. Folders with such names that hold any other file are left alone.
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from regard.inputs.text.special_ids import checked_text

__all__ = ["clean_up", "find_folder", "folder_name", "recover", "replace_folder", "write_folder"]


def write_folder(folder: str | Path, files: Mapping[str, bytes]) -> None:
    """Write a folder of files atomically; it replaces a folder of the same name.

    Args:
        folder: the folder to write; its former content is deleted.
        files: the content of each file, by file name.

    Raises:
        OSError: the disk is full or not writable; `folder` is then unchanged.

    Example:
        >>> import tempfile
        >>> place = tempfile.TemporaryDirectory()
        >>> write_folder(Path(place.name) / "a", {"one.txt": b"1"})
        >>> write_folder(Path(place.name) / "a", {"two.txt": b"2"})
        >>> sorted(str(p.relative_to(place.name)) for p in Path(place.name).rglob("*"))
        ['a', 'a/two.txt']
        >>> place.cleanup()
    """
    recover(folder, files)
    with replace_folder(folder) as put:
        for name, content in files.items():
            put(name, content)


@contextmanager
def replace_folder(folder: str | Path) -> Iterator[Callable[[str, bytes], None]]:
    """Write a folder file by file; when the block ends without an error, it replaces a folder of the same name.

    Args:
        folder: the folder to write; its former content is deleted.

    Yields:
        a function that writes a file, given its name and its content.

    Raises:
        OSError: the disk is full or not writable; `folder` is then unchanged.

    Example:
        >>> import tempfile
        >>> place = tempfile.TemporaryDirectory()
        >>> with replace_folder(Path(place.name) / "a") as put:
        ...     put("one.txt", b"1")
        ...     (Path(place.name) / "a").exists()
        False
        >>> (Path(place.name) / "a" / "one.txt").read_bytes()
        b'1'
        >>> place.cleanup()
    """
    # Resolved, so that a link to a folder stays a link.
    folder = _resolved(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    old = _aside(folder)
    if old.exists() and folder.exists():
        raise FileExistsError(errno.EEXIST, "it is in the way and holds other files; move it", str(old))
    aside = folder.exists()
    part = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.", suffix=".part"))

    def put(name: str, content: bytes) -> None:
        with open(part / name, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    try:
        # mkdtemp makes folders that only the owner can enter, but models are shared.
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


def recover(folder: str | Path, files: Collection[str]) -> None:
    """Undo or finish a `write_folder` that was killed: rename the old folder back, or delete it.

    Only the one process that writes the folder may call this; readers call `find_folder`.

    Args:
        folder: the folder that `write_folder` writes.
        files: the names of the files that it may hold; a folder with any other file is left alone.

    Example:
        >>> import tempfile
        >>> place = tempfile.TemporaryDirectory()
        >>> write_folder(Path(place.name) / ".a.old", {"one.txt": b"1"})
        >>> recover(Path(place.name) / "a", ["one.txt"])
        >>> [path.name for path in Path(place.name).iterdir()]
        ['a']
        >>> place.cleanup()
    """
    folder = _resolved(folder)
    old = _aside(folder)
    if _holds_only(old, files):
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
        elif any(old.iterdir()):
            os.rename(old, folder)


def find_folder(folder: str | Path, files: Collection[str]) -> Path:
    """The folder to read: the folder itself, or `.NAME.old` if a kill left only that. Nothing is changed.

    Args:
        folder: the folder that `write_folder` writes.
        files: the names of the files that it may hold.
    """
    folder = Path(folder)
    old = _aside(_resolved(folder))
    return old if not folder.exists() and _holds_only(old, files) and any(old.iterdir()) else folder


def clean_up(folder: str | Path, files: Collection[str]) -> None:
    """Delete the incomplete copies of `folder` that killed runs left; only the one process that writes it may do so."""
    folder = _resolved(folder)
    recover(folder, files)
    for part in folder.parent.glob(f".{folder.name}.*.part"):
        if _holds_only(part, files):
            shutil.rmtree(part, ignore_errors=True)


def folder_name(folder: str | Path) -> str:
    """The name of a folder as text, which a file in UTF-8 can hold: bytes that aren't UTF-8 become U+FFFD.

    Example:
        >>> folder_name("runs/a\\udcff")
        'a\ufffd'
    """
    return checked_text(_resolved(folder).name)


def _resolved(folder: str | Path) -> Path:
    # Unlike `Path.resolve`, this raises no error for links that lead to each other: reading the folder does.
    return Path(os.path.realpath(folder))


def _holds_only(folder: Path, files: Collection[str]) -> bool:
    return folder.is_dir() and not folder.is_symlink() and set(os.listdir(folder)) <= set(files)


def _aside(folder: Path) -> Path:
    return folder.parent / f".{folder.name}.old"


def _sync(folder: Path) -> None:
    # A rename is durable only after the parent folder is synced; not every system can sync a folder.
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
