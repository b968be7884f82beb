"""What a picture shows in words: the places of its boxes, and its largest weight."""

from regard.page.charts.axes import written
from regard.page.numbers import percent
from regard.page.pictures.picture import Box, Picture

__all__ = ["box_text", "picture_text", "weight_text"]


def box_text(box: Box) -> str:
    """A box in words.

    Example:
        >>> box_text(Box(4.2, 8, 20, 31.6, "a 7"))
        'a 7: columns 4 to 20, rows 8 to 32'
    """
    place = f"columns {box.left:.0f} to {box.right:.0f}, rows {box.top:.0f} to {box.bottom:.0f}"
    return f"{box.label}: {place}" if box.label else place


def weight_text(picture: Picture) -> str:
    """The largest weight, in percent unless it is above 1, and its place; "" if all weights are 0.

    Example:
        >>> weight_text(Picture(((0.0, 1.0), (0.5, 0.0)), weights=((0.25, 0.75),)))
        'largest weight 75%, in row 1 and column 2 of 1 x 2'
    """
    if not picture.highest:
        return ""
    rows, columns = len(picture.weights), len(picture.weights[0])
    largest = max(range(rows * columns), key=lambda cell: picture.weights[cell // columns][cell % columns])
    place = f"row {largest // columns + 1} and column {largest % columns + 1} of {rows} x {columns}"
    # The sum of rounded weights may be a little above 1.
    size = percent(picture.highest) if picture.highest < 1 + 1e-6 else written(picture.highest)
    return f"largest {picture.quantity} {size}, in {place}"


def picture_text(picture: Picture) -> str:
    """The picture in words, without its caption.

    Example:
        >>> picture_text(Picture(((0.0, 1.0),), boxes=(Box(1, 0, 2, 1, "dot"),)))
        '1 x 2 pixels; dot: columns 1 to 2, rows 0 to 1'
    """
    height, width = picture.size
    parts = [f"{height} x {width} pixels", *map(box_text, picture.boxes), weight_text(picture)]
    return "; ".join(filter(None, parts))
