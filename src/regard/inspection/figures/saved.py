"""Figures as files: PNG, SVG with its text as text, and PDF with its fonts inside."""

import io
import re
from pathlib import Path
from typing import Any

from regard.errors import ArgumentError
from regard.extras import require
from regard.files import write_bytes
from regard.inspection.figures.figure import figure
from regard.inspection.record import Record

__all__ = ["FIGURE_FORMATS", "format_of", "is_own_figure", "save_figure"]

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


def save_figure(record: Record, path: str | Path, view: str | None = None, **options: int | float | str | None) -> None:
    """Write a figure of a record to a file, in the format that its ending says.

    The same record gives the same bytes. An SVG file has its text as text, a PDF file its fonts inside (Type 42), and a
    PNG file 300 dots an inch.

    Args:
        record, view: as in `figure`.
        path: the file, which ends in .png, .svg or .pdf; an old one is replaced, in one step.
        options: `layer`, `head`, `query`, `width` and `font` of `figure`.

    Raises:
        ArgumentError: another ending, or as in `figure`.
        MissingExtraError: matplotlib isn't installed.
        OSError: the disk is full, or the folder isn't writable.

    Example:
        >>> import tempfile
        >>> import torch
        >>> from regard.inspection import LayerRecord
        >>> layer = LayerRecord.of_weights("layer 1", torch.tensor([[[0.75, 0.25], [0.25, 0.75]]]))
        >>> record = Record(("a", "saw"), ("DET", "NOUN"), (0.75, 0.75), (layer,))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_figure(record, f"{folder}/saw.svg", "map")
        ...     Path(f"{folder}/saw.svg").read_text().count(">75</text>")
        2
    """
    kind = format_of(path)
    write_bytes(path, _bytes_of(figure(record, view, **options), kind))  # pyright: ignore[reportArgumentType]


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
    """Whether a file is a figure that `save_figure` wrote."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return False
    begins = {b"\x89PNG": b"Software\0" + _MARK.encode(), b"<?xml": b"regard-figure", b"%PDF": _MARK.encode()}
    return any(content.startswith(begin) and mark in content for begin, mark in begins.items())


def _bytes_of(drawn: Any, kind: str) -> bytes:
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
