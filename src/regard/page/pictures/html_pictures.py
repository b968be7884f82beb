"""Pictures as inline SVG: a path for each grey, and the weights and the boxes over them."""

from collections import defaultdict
from html import escape
from itertools import groupby

from regard.page.colours import BOX, COVER, WEIGHT, hexadecimal
from regard.page.pictures.picture import Box, Picture, Pictures
from regard.page.pictures.picture_numbers import picture_text, weight_text
from regard.page.visible import visible

__all__ = ["PICTURES_STYLE", "pictures_html"]

_GREYS = 63

# The longer side of a picture is 14rem, but a pixel at least 2px, as far as the page is wide enough.
# The colours of weights and boxes lie on the picture and not on the page, so they are the same in light and in dark.
PICTURES_STYLE = """\
.pictures { margin: 1.5rem 0 }
.pictures > figcaption { font-weight: 600; overflow-wrap: anywhere; margin-bottom: .5rem }
.pictures > div { display: flex; flex-wrap: wrap; gap: 1rem }
.pictures figure { margin: 0; width: max(14rem, 2px * var(--columns)); max-width: 100% }
.pictures svg { display: block; width: max(14rem * var(--columns) / var(--longest), 2px * var(--columns));
  max-width: 100%; overflow: hidden; border: 1px solid var(--line); box-sizing: border-box;
  print-color-adjust: exact; forced-color-adjust: none }
.pictures figure figcaption { font-size: .9rem; overflow-wrap: anywhere }
.pictures .quiet { display: block; color: var(--quiet); font-size: .8rem }
.pictures .box { fill: none; vector-effect: non-scaling-stroke; stroke-width: 2px }
.pictures text { font-weight: 600; fill: #ffb366; paint-order: stroke; stroke: #000; stroke-linejoin: round }
"""
PICTURES_STYLE += (
    f".pictures .weight {{ fill: {hexadecimal(WEIGHT)} }}\n.pictures .box {{ stroke: {hexadecimal(BOX)} }}\n"
)


def pictures_html(block: Pictures) -> str:
    """Draw pictures, each with its caption."""
    drawn = "".join(map(_figure, block.pictures))
    title = f"<figcaption>{_text(block.title)}</figcaption>" if block.title else ""
    return f'<figure class="pictures">{title}<div>{drawn}</div></figure>'


def _figure(picture: Picture) -> str:
    # The label of the drawing says it too, so that screen readers needn't read the note.
    said = weight_text(picture)
    note = f'<span class="quiet" aria-hidden="true">{_text(said)}</span>' if said else ""
    caption = f"<figcaption>{_text(picture.caption)}{note}</figcaption>" if picture.caption or note else ""
    height, width = picture.size
    size = f"--columns: {width}; --longest: {max(height, width)}"
    return f'<figure style="{size}">{_svg(picture)}{caption}</figure>'


def _svg(picture: Picture) -> str:
    height, width = picture.size
    parts = [_pixels(picture), _weights(picture), *(_box(each, picture) for each in picture.boxes_inside)]
    label = f'role="img" aria-label="{_text(picture_text(picture))}"'
    return f'<svg viewBox="0 0 {width} {height}" {label}>{"".join(parts)}</svg>'


def _pixels(picture: Picture) -> str:
    """A black ground, and on it a path for each grey, of runs of pixels in a row."""
    import numpy as np

    height, width = picture.size
    levels = np.rint(np.clip(np.asarray(picture.pixels), 0.0, 1.0) * _GREYS).astype(int)
    runs: dict[int, list[str]] = defaultdict(list)
    for row, line in enumerate(levels.tolist()):
        column = 0
        for level, run in groupby(line):
            length = len(list(run))
            if level:
                runs[level].append(f"M{column} {row}h{length}v1h-{length}z")
            column += length
    paths = "".join(f'<path fill="{_grey(level)}" d="{"".join(each)}"/>' for level, each in sorted(runs.items()))
    # Without crisp edges the ground shows through between two pixels.
    return f'<g shape-rendering="crispEdges"><rect width="{width}" height="{height}"/>{paths}</g>'


def _grey(level: int) -> str:
    value = round(255 * level / _GREYS)
    return hexadecimal((value, value, value))


def _weights(picture: Picture) -> str:
    if not picture.weights:
        return ""
    height, width = picture.size
    strengths = picture.strengths
    tall, wide = height / strengths.shape[0], width / strengths.shape[1]
    cells = [
        f'<rect x="{_n(column * wide)}" y="{_n(row * tall)}" width="{_n(wide)}" height="{_n(tall)}" '
        f'fill-opacity="{_n(COVER * value)}"/>'
        for row, line in enumerate(strengths.tolist())
        for column, value in enumerate(line)
        if value >= 0.02
    ]
    return f'<g class="weight" shape-rendering="crispEdges">{"".join(cells)}</g>'


def _box(box: Box, picture: Picture) -> str:
    height, width = picture.size
    rectangle = (
        f'<rect class="box" x="{_n(box.left)}" y="{_n(box.top)}" width="{_n(box.right - box.left)}" '
        f'height="{_n(box.bottom - box.top)}"/>'
    )
    if not box.label:
        return rectangle
    letters = max(height, width) / 13
    # Above the box, or below it where there is no room above; and always inside the picture.
    y = box.top - letters / 4 if box.top > letters * 1.2 else min(box.bottom + letters, height - letters / 4)
    right = box.left > width / 2
    x, anchor = (min(box.right, width), "end") if right else (max(box.left, 0.0), "start")
    style = f'font-size="{_n(letters)}" stroke-width="{_n(letters / 5)}" text-anchor="{anchor}"'
    return f'{rectangle}<text x="{_n(x)}" y="{_n(y)}" {style}>{_text(box.label)}</text>'


def _text(text: str) -> str:
    return escape(visible(text))


def _n(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")
