"""Telling that a file of a data set is there, and that it is the right one."""

import gzip
import hashlib
import zlib
from pathlib import Path

from regard.datasets.catalog import DatasetFile

__all__ = ["is_there", "sha256_of"]

_PIECE = 1 << 20


def is_there(path: Path, file: DatasetFile) -> bool:
    """Whether there is such a file, or folder, of the right size; what is packed in it isn't looked at."""
    if file.count:
        members = _members(path)
        return len(members) == file.count and sum(member.stat().st_size for member in members) == file.size
    return path.is_file() and (file.unpacked or path.stat().st_size == file.size)


def sha256_of(path: Path, file: DatasetFile) -> str:
    """The checksum of a file, of what is packed in it, or of a folder; "" if it can't be unpacked.

    That of a folder is the SHA-256 of a line for each of its files, sorted by name, as the command sha256sum writes it:
    the checksum, two spaces, the name. Hidden files don't count.
    """
    if file.count:
        lines = (f"{_digest(member)}  {member.name}\n" for member in _members(path))
        return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
    if not file.unpacked:
        return _digest(path)
    running, size = hashlib.sha256(), 0
    try:
        with gzip.open(path) as unpacked:
            # No further than what it should hold: a small file can be packed to unpack for hours.
            while size <= file.size and (piece := unpacked.read(_PIECE)):
                running.update(piece)
                size += len(piece)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return ""
    return running.hexdigest()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _members(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
