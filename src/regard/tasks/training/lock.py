"""The lock of a run's folder: one process at a time trains in it.

The operating system holds the lock, and lets go of it when the process ends, however it ends. What the file holds is
for people: who has the lock, and since when.
"""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from regard.errors import ArgumentError

try:
    import fcntl
except ImportError:  # not a POSIX system: nothing is locked
    fcntl = None

__all__ = ["LOCK", "locked"]

LOCK = "run.lock"
"""The name of the file in the run's folder."""


@contextmanager
def locked(folder: Path) -> Iterator[str]:
    """Hold the lock of a folder inside the block. The folder is made if need be, and removed if it stays empty.

    Where the file system has no locks, nothing is locked.

    Args:
        folder: the folder of a run.

    Yields:
        who had the lock before and was killed, in words; "" for nobody.

    Raises:
        ArgumentError: another process has the lock, or the folder can't be made or written.
    """
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = _take(folder / LOCK)
        before = os.read(handle, 1000)
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(_self()).encode(), 0)
    except OSError as error:
        _remove(made)
        raise ArgumentError(
            f"`out` must be a folder that can be made and written, but {error.filename or folder} can't be: "
            f"{error.strerror}. Name another."
        ) from error
    try:
        yield _who(before) if before else ""
    finally:
        # Removed while it is held, so that nobody else's is.
        (folder / LOCK).unlink(missing_ok=True)
        os.close(handle)
        _remove(made)


def _take(path: Path) -> int:
    """Open and lock the file."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            with open(handle, "rb") as file:
                who = _who(file.read(1000))
            raise ArgumentError(
                f"`out` must be a folder in which nobody else trains, but {who} does in {path.parent}. Wait until it "
                "has ended, or name another."
            ) from None
        except OSError:
            # This file system has no locks.
            return handle
        # Whoever had the lock until now may have removed the file meanwhile: then it locks nobody out.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        os.close(handle)


def _self() -> dict[str, str | int]:
    """What the file says of this process."""
    since = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
    return {"process": os.getpid(), "host": socket.gethostname(), "since": since}


def _who(content: bytes) -> str:
    """Who has the lock, in words."""
    try:
        held = json.loads(content)
        return f"process {held['process']} on {held['host']} (since {held['since']})"
    except (ValueError, LookupError, TypeError, RecursionError):
        # It hasn't said so yet.
        return "another process"


def _remove(folders: list[Path]) -> None:
    """Remove those of the folders that are empty."""
    for each in folders:
        with suppress(OSError):
            each.rmdir()
