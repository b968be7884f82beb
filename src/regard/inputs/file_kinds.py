"""What a file is that can't be read as text, by its first bytes, and the next step."""

import struct
import zipfile
from pathlib import Path

from regard.files import open_regular

__all__ = ["other_kind", "unread_kind"]

_BEGINNING = 1 << 12


def other_kind(beginning: bytes, path: Path) -> str | None:
    """What a file is that can't be read as text, and the next step; None if it may be text.

    Args:
        beginning: its first bytes.
        path: the file.

    Example:
        >>> other_kind(b"BZh91AY", Path("a.csv"))
        "it is compressed. Unpack it first, or let a gzip's name end in .gz."
    """
    if beginning.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "it is UTF-16; it must be UTF-8. Save it as UTF-8."
    if (document := _document(beginning, path)) is not None:
        return (
            f"it is {document}. Save it as {'plain text' if 'Word' in document else 'CSV UTF-8'}, and name that file."
        )
    if beginning.startswith((b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ")):
        return "it is compressed. Unpack it first, or let a gzip's name end in .gz."
    return None


def unread_kind(path: Path) -> str | None:
    """What an existing file is whose suffix isn't one of those that are read, and the next step; None: unknown."""
    try:
        with open_regular(path) as file:
            beginning = file.read(_BEGINNING)
    except OSError:
        return None
    if path.suffix.lower() == ".gz":
        return None
    text = beginning.removeprefix(b"\xef\xbb\xbf").lstrip()
    if path.suffix.lower() != ".json" or not text.startswith((b"[", b"{")):
        return other_kind(beginning, path)
    what = "holds an array" if text.startswith(b"[") else "is JSON"
    return f"it {what}. Write one JSON object on each line, and call it .jsonl."


_DOCUMENTS = {"xl/": "an Excel workbook", "word/": "a Word document", "content.xml": "an OpenDocument file"}
"""What a zip is, by the beginning of the name of a file in it."""


def _document(beginning: bytes, path: Path) -> str | None:
    """The kind of an office document; None for other files."""
    if beginning.startswith(b"\xd0\xcf\x11\xe0"):
        # Word had such files, too.
        return "an Excel workbook" if path.suffix.lower() in (".xls", ".csv", ".txt", ".tsv") else None
    if not beginning.startswith(b"PK\x03\x04"):
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, ValueError, NotImplementedError, struct.error, zipfile.BadZipFile):
        return None
    return next((kind for start, kind in _DOCUMENTS.items() if any(name.startswith(start) for name in names)), None)
