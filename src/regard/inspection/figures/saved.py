"""Figures of records as files."""

from pathlib import Path

from regard.inspection.figures.figure import figure
from regard.inspection.figures.written import format_of, write_figure
from regard.inspection.record.record import Record

__all__ = ["save_figure"]


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
    # A wrong ending is told before anything is drawn.
    format_of(path)
    write_figure(figure(record, view, **options), path)  # pyright: ignore[reportArgumentType]
