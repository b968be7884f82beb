"""A drawing as inline SVG, in which the class of an element is the role of its mark."""

from collections.abc import Sequence
from html import escape

from regard.page.charts.series_style import series_style
from regard.page.marks import Disc, Drawing, Group, Line, Mark, Place, Polygon, Strokes, Text
from regard.page.visible import visible

__all__ = ["as_svg"]

_ANCHORS = {"left": "start", "center": "middle", "right": "end"}
# From the middle line of a text to its base line, in heights of letters.
_BASE = 0.35
# The width of a narrow line, which dashes are measured in.
_NARROW = 4 / 3


def as_svg(drawing: Drawing, attributes: str, *, below: str = "") -> str:
    """Draw marks as an `svg` element.

    Args:
        drawing: what is drawn. The style sheet must give texts the height of its letters.
        attributes: further attributes of the element.
        below: elements below the marks, such as a title.

    Example:
        >>> as_svg(Drawing(40, 12, 10, (Disc(6, 6.25, 5, "area"),)), 'role="img"')
        '<svg viewBox="0 0 40 12" role="img"><circle class="area" cx="6" cy="6.25" r="5"/></svg>'
    """
    inside = "".join(_element(mark, drawing.letters) for mark in drawing.marks)
    return f'<svg viewBox="0 0 {_n(drawing.width)} {_n(drawing.height)}" {attributes}>{below}{inside}</svg>'


def _element(mark: Mark, letters: float) -> str:
    match mark:
        case Group():
            return _group(mark, letters)
        case Line(points, role, dashes):
            return f'<polyline class="{role}" points="{_places(points)}"{_dashes(dashes)}/>'
        case Strokes((((x1, y1), (x2, y2)),), role, dashes):
            return f'<line class="{role}" {_numbers(x1=x1, x2=x2, y1=y1, y2=y2)}{_dashes(dashes)}/>'
        case Strokes(ends, role, dashes):
            return f'<path class="{role}" d="{"".join(map(_stroke, ends))}"{_dashes(dashes)}/>'
        case Polygon(points, role):
            return f'<polygon class="{role}" points="{_places(points)}"/>'
        case Disc(x, y, radius, role):
            return f'<circle class="{role}" {_numbers(cx=x, cy=y, r=radius)}/>'
        case Text(x, y, text, role, align):
            place = _numbers(x=x, y=y + _BASE * letters)
            return f'<text class="{role}" {place} text-anchor="{_ANCHORS[align]}">{escape(visible(text))}</text>'


def _group(group: Group, letters: float) -> str:
    if not group.marks:
        return ""
    colour = "" if group.series is None else f' class="series-{series_style(group.series).colour + 1}"'
    title = f"<title>{escape(visible(group.title))}</title>" if group.title else ""
    return f"<g{colour}>{title}{''.join(_element(mark, letters) for mark in group.marks)}</g>"


def _stroke(ends: tuple[Place, Place]) -> str:
    (x1, y1), (x2, y2) = ([_n(each) for each in place] for place in ends)
    return f"M{x1} {y1}" + (f"V{y2}" if x1 == x2 else f"H{x2}" if y1 == y2 else f"L{x2} {y2}")


def _dashes(dashes: Sequence[float]) -> str:
    return f' stroke-dasharray="{" ".join(_n(_NARROW * each) for each in dashes)}"' if dashes else ""


def _places(points: Sequence[Place]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in points)


def _numbers(**values: float) -> str:
    return " ".join(f'{name}="{_n(value)}"' for name, value in values.items())


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
