"""A figure of a record: the view, and whether it can be drawn; and the file that holds it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import ArgumentError, UnknownNameError
from regard.inspection.figures.compared import draw_compared, why_not_compared
from regard.inspection.figures.heads import draw_heads
from regard.inspection.figures.inputs.arcs import draw_arcs, why_no_arcs
from regard.inspection.figures.map import draw_map
from regard.inspection.figures.sheet import Sheet, points_of
from regard.inspection.figures.shown import Shown, shown_of
from regard.inspection.figures.written import format_of, write_figure
from regard.inspection.record.record import Record

__all__ = ["FIGURE_VIEWS", "FigureView", "figure", "save_figure"]


class FigureView(NamedTuple):
    """A view of a record.

    Args:
        draw: draws it on a sheet.
        refuse: why it can't be drawn of a record; "" if it can.
    """

    draw: Callable[[Sheet, Shown], None]
    refuse: Callable[[Shown], str] = lambda shown: ""


FIGURE_VIEWS = {
    "arcs": FigureView(draw_arcs, why_no_arcs),
    "map": FigureView(draw_map),
    "heads": FigureView(draw_heads),
    "compared": FigureView(draw_compared, why_not_compared),
}
"""The views, by name: the input with what one item attended to; all items by all items; all heads, small; what was
attended to beside what mattered."""


def figure(
    record: Record,
    view: str | None = None,
    *,
    layer: int | None = None,
    head: int | None = None,
    query: int | None = None,
    width: float = 5.5,
    font: str | None = None,
) -> Any:
    """Draw a record as a figure for a paper, in the colours of the page.

    Args:
        record: a record with attention, such as `Model.see` or `Model.look` makes.
        view: "arcs", "map", "heads" or "compared"; None: the first of them that can be drawn.
        layer, head: whose weights, from 1; None: the last layer, or the pooling of a pooled answer, and the average of
            the heads.
        query: the number of the item whose answer is explained, from 1; None: the one whose answer changes most. The
            map frames its row if it is given.
        width: the most inches that the figure may be wide. It takes no more than it needs, and its letters have 7 to
            17 points whatever the width.
        font: the name of an installed font; None: DejaVu Sans, which comes with matplotlib. Characters that it lacks
            are taken from another font.

    Returns:
        a `matplotlib.figure.Figure` of one pair of axes whose unit is the point, 1/72 inch. pyplot doesn't know it.

    Raises:
        MissingExtraError: matplotlib isn't installed.
        UnknownNameError: there is no such view.
        ArgumentError: the record has no attention, no such layer, head or query, or can't be drawn in this view.

    Example:
        >>> import torch
        >>> from regard.inspection import LayerRecord
        >>> layer = LayerRecord.of_weights("layer 1", torch.tensor([[[0.75, 0.25], [0.25, 0.75]]]))
        >>> record = Record(("a", "saw"), ("DET", "NOUN"), (0.75, 0.75), (layer,))
        >>> drawn = figure(record, "map")
        >>> [text.get_text() for text in drawn.axes[0].texts][:4]
        ['75', '25', '25', '75']
    """
    if view is not None and view not in FIGURE_VIEWS:
        raise UnknownNameError("view", view, FIGURE_VIEWS)
    points = points_of(width)
    shown = shown_of(record, layer, head, query)
    reasons = {name: each.refuse(shown) for name, each in FIGURE_VIEWS.items()}
    fitting = [name for name, reason in reasons.items() if not reason]
    name = fitting[0] if view is None else view
    if reasons[name]:
        raise ArgumentError(
            f"`view` must be one that this record can be drawn in, which are {', '.join(fitting)}, but is {name}: "
            f"{reasons[name]}."
        )
    sheet = Sheet(points, font)
    FIGURE_VIEWS[name].draw(sheet, shown)
    return sheet.finish()


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
