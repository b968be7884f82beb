"""What a file is that can't be read as text, by its first bytes, and the next step."""

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
    if _is_workbook(beginning, path):
        return "it is an Excel workbook. Save it as CSV UTF-8 in Excel, and name that file."
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
    if path.suffix.lower() != ".json":
        return other_kind(beginning, path)
    what = "holds an array" if beginning.lstrip().startswith(b"[") else "is JSON"
    return f"it {what}. Write one JSON object on each line, and call it .jsonl."


def _is_workbook(beginning: bytes, path: Path) -> bool:
    if beginning.startswith(b"\xd0\xcf\x11\xe0"):
        return path.suffix.lower() in (".xls", ".csv", ".txt", ".tsv")  # Word had such files, too
    if not beginning.startswith(b"PK\x03\x04"):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.startswith("xl/") for name in archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False
