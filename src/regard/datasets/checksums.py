"""Checks that a file of a data set is complete, and its checksum."""

import gzip
import hashlib
import zlib
from pathlib import Path

from regard.datasets.dataset import DatasetFile

__all__ = ["is_complete", "sha256_of"]

_PIECE = 1 << 20


def is_complete(path: Path, file: DatasetFile) -> bool:
    """Whether the file or folder exists and has the right size; compressed content isn't checked."""
    if file.count:
        members = _members(path)
        return len(members) == file.count and sum(member.stat().st_size for member in members) == file.size
    return path.is_file() and (file.unpacked or path.stat().st_size == file.size)


def sha256_of(path: Path, file: DatasetFile) -> str:
    """The checksum of a file, of its decompressed content, or of a folder; "" if it can't be decompressed.

    The checksum of a folder is the SHA-256 of the output of the command sha256sum for its files, sorted by name: a line
    with the checksum, two spaces and the name of each. Hidden files are ignored.
    """
    if file.count:
        lines = (f"{_digest(member)}  {member.name}\n" for member in _members(path))
        return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
    if not file.unpacked:
        return _digest(path)
    running, size = hashlib.sha256(), 0
    try:
        with gzip.open(path) as unpacked:
            # Not beyond the expected size: a small file can be made to decompress for hours.
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
