"""Figures as files: PNG, SVG with its text as text, and PDF with its fonts inside."""

import io
import re
from pathlib import Path
from typing import Any

from regard.errors import ArgumentError
from regard.extras import require
from regard.files import write_bytes

__all__ = ["FIGURE_FORMATS", "figure_bytes", "format_of", "is_own_figure", "write_figure"]

FIGURE_FORMATS = ("png", "svg", "pdf")
"""The formats, which are the endings of files."""

_DOTS = 300
_MARK = "regard figure"
# What a user's own settings of matplotlib would change.
_SETTINGS = {
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": _MARK,
    "svg.id": _MARK.replace(" ", "-"),
    "savefig.bbox": None,
    "savefig.transparent": False,
    "image.composite_image": True,
    "path.simplify": False,
}
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": _MARK},
    "svg": dict.fromkeys(("Creator", "Date", "Format", "Type")),
    "pdf": {"Creator": _MARK, "CreationDate": None},
}


def write_figure(drawn: Any, path: str | Path) -> None:
    """Write a figure of matplotlib's to a file, in the format that its ending says; the same figure, the same bytes.

    Raises:
        ArgumentError: the ending is another one.
        OSError: the disk is full, or the folder isn't writable.
    """
    write_bytes(path, figure_bytes(drawn, format_of(path)))


def format_of(path: str | Path, argument: str = "path") -> str:
    """The format of a file's name.

    Args:
        path: the name.
        argument: what it is called in the error.

    Raises:
        ArgumentError: its ending is another one.

    Example:
        >>> format_of("saw.PDF")
        'pdf'
    """
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in FIGURE_FORMATS:
        raise ArgumentError(f"`{argument}` must end in .png, .svg or .pdf, but is {str(path)!r:.100}.")
    return ending


def is_own_figure(path: str | Path) -> bool:
    """Whether a file is a figure that `write_figure` wrote."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return False
    begins = {b"\x89PNG": b"Software\0" + _MARK.encode(), b"<?xml": b"regard-figure", b"%PDF": _MARK.encode()}
    return any(content.startswith(begin) and mark in content for begin, mark in begins.items())


def figure_bytes(drawn: Any, kind: str) -> bytes:
    """The bytes of a file of a drawn figure, in one of `FIGURE_FORMATS`; the same figure gives the same bytes."""
    held = io.BytesIO()
    matplotlib = require("matplotlib", extra="figures")
    with matplotlib.rc_context(_SETTINGS):
        drawn.savefig(held, format=kind, dpi=_DOTS, facecolor="white", edgecolor="none", metadata=_METADATA[kind])
    return _self_contained(held.getvalue()) if kind == "svg" else held.getvalue()


def _self_contained(svg: bytes) -> bytes:
    """Without the address of a document type, and with a font for readers that lack the named ones."""
    text = re.sub(r"<!DOCTYPE[^>]*>\s*", "", svg.decode("utf-8"), count=1)
    if "xlink:href" not in text:
        text = text.replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "", 1)
    return re.sub(r"(font-family: [^;\"]*)", r"\1, sans-serif", text).encode("utf-8")
