"""Pictures as text: coloured half blocks, or shades without colours; as many beside each other as there is room for."""

import math
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from regard.page.colours import BOX, COVER, WEIGHT
from regard.page.pictures.picture import Picture, Pictures
from regard.page.pictures.picture_numbers import box_text, weight_text
from regard.page.terminal import Terminal
from regard.page.wrapping import wrap

if TYPE_CHECKING:
    import numpy as np

__all__ = ["pictures_lines"]

_GAP = 2
# So that two drawings stand beside each other in a terminal of 80 columns.
_WIDEST = 39

_Drawing = list[Text]


def pictures_lines(block: Pictures, terminal: Terminal) -> list[Text]:
    """Draw pictures, each above its caption, its boxes and its largest weight."""
    lines = wrap(block.title, terminal.width, "bold") if block.title else []
    # All pictures of a block are drawn to one scale.
    widest = max(picture.size[1] for picture in block.pictures)
    factor = -(-widest // min(_WIDEST, terminal.width))
    drawings = [each for picture in block.pictures for each in _drawings(picture, factor, terminal)]
    row: list[_Drawing] = []
    for drawing in drawings:
        used = sum(_width(each) + _GAP for each in row)
        if row and used + _width(drawing) > terminal.width:
            lines += [*_beside(row), Text()]
            row = []
        row.append(drawing)
    return lines + _beside(row)


def _drawings(picture: Picture, factor: int, terminal: Terminal) -> list[_Drawing]:
    """A drawing of the picture; without colours the weights are a second one."""
    import numpy as np

    height, width = picture.size
    pixels = _averaged(np.clip(np.asarray(picture.pixels), 0.0, 1.0), factor)
    room = max(pixels.shape[1], 16)
    told = [picture.caption, *map(box_text, picture.boxes), weight_text(picture)]
    legend = [line for text in told if text for line in wrap(text, room, "dim" if text != picture.caption else "")]
    strengths = None
    if picture.weights:
        rows, columns = picture.strengths.shape
        # Each pixel has the weight of the cell that it is in.
        tall, wide = np.arange(height) * rows // height, np.arange(width) * columns // width
        strengths = _averaged(picture.strengths[np.ix_(tall, wide)], factor)
    if terminal.colours:
        return [[*_half_blocks(_coloured(picture, pixels, strengths, factor), terminal), *legend]]
    shades = " .:+*#" if terminal.ascii else " ░▒▓█"
    drawings = [[*_shades(pixels, shades), *legend]]
    if strengths is not None:
        drawings.append([*_shades(strengths, shades), *wrap("its weights", room, "dim")])
    return drawings


def _averaged(values: "np.ndarray", factor: int) -> "np.ndarray":
    """The means of squares of so many pixels; the last row and column are repeated where they don't divide it."""
    import numpy as np

    values = np.pad(values, [(0, -size % factor) for size in values.shape], mode="edge")
    rows, columns = (size // factor for size in values.shape)
    return values.reshape(rows, factor, columns, factor).mean((1, 3))


def _coloured(picture: Picture, pixels: "np.ndarray", strengths: "np.ndarray | None", factor: int) -> "np.ndarray":
    """The colours (row, column, 3), from 0 to 255."""
    import numpy as np

    colours = np.repeat(255 * pixels[..., None], 3, axis=2)
    if strengths is not None:
        cover = COVER * strengths[..., None]
        colours = (1 - cover) * colours + cover * np.asarray(WEIGHT)
    height, width = picture.size
    for box in picture.boxes_inside:
        rows, horizontal = _cells(box.top, box.bottom, height, factor)
        columns, vertical = _cells(box.left, box.right, width, factor)
        colours[horizontal, columns] = BOX
        colours[rows, vertical] = BOX
    return np.rint(colours).astype(int)


def _cells(low: float, high: float, size: int, factor: int) -> tuple[slice, list[int]]:
    """The cells of the picture between two edges of a box, and the cells of those of the edges that are inside it."""
    first, last = round(low / factor), round(high / factor) - 1
    if last < first:
        # Smaller than a cell: the cell of its middle.
        first = last = math.floor((low + high) / 2 / factor)
    first, last = (min(max(each, 0), (size - 1) // factor) for each in (first, last))
    return slice(first, last + 1), [cell for cell, inside in ((first, low >= 0), (last, high <= size)) if inside]


def _half_blocks(colours: "np.ndarray", terminal: Terminal) -> _Drawing:
    """The upper half of a character is one row and the lower half the next."""
    lines = []
    for top in range(0, len(colours), 2):
        line = Text()
        lower = colours[top + 1].tolist() if top + 1 < len(colours) else None
        for column, upper in enumerate(colours[top].tolist()):
            below = terminal.paint(tuple(lower[column])) if lower is not None else None
            line.append("▀", Style(color=terminal.paint(tuple(upper)), bgcolor=below))
        lines.append(line)
    return lines


def _shades(values: "np.ndarray", shades: str) -> _Drawing:
    """A character is as high as two rows."""
    import numpy as np

    if len(values) % 2:
        values = np.concatenate([values, values[-1:]])
    pairs = values.reshape(len(values) // 2, 2, -1).mean(1)
    levels = np.rint(pairs * (len(shades) - 1)).astype(int)
    return [Text("".join(shades[level] for level in line)) for line in levels.tolist()]


def _width(drawing: _Drawing) -> int:
    return max(line.cell_len for line in drawing)


def _beside(drawings: list[_Drawing]) -> _Drawing:
    """The lines of several drawings in a row."""
    lines = []
    for parts in zip_longest(*drawings, fillvalue=Text()):
        line = Text()
        for part, drawing in zip(parts, drawings, strict=True):
            line.append_text(part.copy())
            line.append(" " * (_width(drawing) - part.cell_len + _GAP))
        line.rstrip()
        lines.append(line)
    return lines
