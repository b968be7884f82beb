"""Small vector pictures: a heat map, or curves over axes. They load nothing; the same numbers give the same text."""

import math
from collections.abc import Mapping, Sequence
from html import escape

from regard.page.colours import SCALE, hexadecimal

__all__ = ["curves", "heat_map"]

_CELL = 9
_INK, _FAINT, _PAPER, _HIDDEN = "#333333", "#bbbbbb", "#ffffff", "#d8d8d8"
# Told apart by everyone, in print too: the scale's ends and middle are far from each other in lightness.
_LINES = ("#30306e", "#c4511a", "#2f8f7a", "#999999")
_DASHES = ("", "6 3", "2 2", "")
_STEPS = 32


def heat_map(
    values: Sequence[Sequence[float | None]],
    title: str,
    *,
    rows: str,
    columns: str,
    low: float = 0.0,
    high: float | None = None,
    legend: bool = True,
) -> str:
    """Rows of values as cells, dark for `low` and light for `high`; None is hidden, grey."""
    largest = max((value for row in values for value in row if value is not None), default=1.0)
    high = largest if high is None else high
    paths: dict[str, list[str]] = {}
    for y, row in enumerate(values):
        shades = [_shade(value, low, high) for value in row]
        x = 0
        while x < len(shades):
            run = 1
            while x + run < len(shades) and shades[x + run] == shades[x]:
                run += 1
            paths.setdefault(shades[x], []).append(f"M{x * _CELL} {y * _CELL}h{run * _CELL}v{_CELL}h-{run * _CELL}z")
            x += run
    width, height = len(values[0]) * _CELL, len(values) * _CELL
    body = ['<g transform="translate(28 30)" shape-rendering="crispEdges">']
    body += [f'<path fill="{shade}" d="{"".join(path)}"/>' for shade, path in sorted(paths.items())]
    body.append("</g>")
    body.append(_text(28, 20, f"{columns} →"))
    body.append(f'<text transform="translate(18 30) rotate(90)">{escape(rows)} →</text>')
    if legend:
        body += _legend(28 + width + 14, 30, height, low, high, hidden=any(None in row for row in values))
    return _picture(title, 28 + width + (84 if legend else 14), 30 + height + 14, body)


def curves(
    lines: Mapping[str, Sequence[tuple[float, float]]], title: str, *, across: str, up: str, marks: bool = False
) -> str:
    """Lines through points (x, y), each with its name at the right."""
    left, top, width, height = 50, 30, 300, 170
    xs = [x for points in lines.values() for x, _ in points]
    ys = [y for points in lines.values() for _, y in points]
    low_x, high_x, low_y, high_y = min(xs), max(xs), *_padded(min(ys), max(ys))

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            left + width * (x - low_x) / (high_x - low_x),
            top + height * (high_y - y) / (high_y - low_y),
        )

    body = [f'<path d="M{left} {top}v{height}h{width}" fill="none" stroke="{_INK}"/>']
    for tick in _ticks(low_x, high_x):
        x, _ = place(tick, low_y)
        body.append(_text(x, top + height + 15, _number(tick), anchor="middle"))
    for tick in _ticks(low_y, high_y):
        _, y = place(low_x, tick)
        body.append(f'<path d="M{left} {_short(y)}h{width}" stroke="{_FAINT}" stroke-width="0.5"/>')
        body.append(_text(left - 6, y + 4, _number(tick), anchor="end"))
    body.append(_text(left, 18, f"{up} ↑"))
    body.append(_text(left + width, top + height + 30, f"{across} →", anchor="end"))
    for number, (name, points) in enumerate(lines.items()):
        colour, dash = _LINES[number % len(_LINES)], _DASHES[number % len(_DASHES)]
        placed = [place(x, y) for x, y in points]
        path = "M" + "L".join(f"{_short(x)} {_short(y)}" for x, y in placed)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        body.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        if marks:
            body += [f'<circle cx="{_short(x)}" cy="{_short(y)}" r="2" fill="{colour}"/>' for x, y in placed]
        y = top + 14 + 18 * number
        body.append(
            f'<path d="M{left + width + 14} {y - 4}h24" stroke="{colour}" stroke-width="2"{dashes}/>'
            + _text(left + width + 44, y, name)
        )
    longest = max(len(name) for name in lines)
    return _picture(title, left + width + 54 + 7 * longest, top + height + 40, body)


def _picture(title: str, width: float, height: float, body: Sequence[str]) -> str:
    size = f'viewBox="0 0 {_short(width)} {_short(height)}" width="{_short(width)}" height="{_short(height)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="sans-serif" font-size="12" '
        f'fill="{_INK}">\n<title>{escape(title)}</title>\n'
        f'<rect width="100%" height="100%" rx="6" fill="{_PAPER}"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _legend(x: float, y: float, height: float, low: float, high: float, *, hidden: bool) -> list[str]:
    tall = min(height, 120)
    step = tall / _STEPS
    cells = [
        f'<rect x="{x}" y="{_short(y + step * (_STEPS - 1 - i))}" width="12" height="{_short(step + 0.2)}" '
        f'fill="{_at(i / (_STEPS - 1))}"/>'
        for i in range(_STEPS)
    ]
    cells.append(_text(x + 18, y + 9, _number(high)))
    cells.append(_text(x + 18, y + tall, _number(low)))
    if hidden:
        cells.append(f'<rect x="{x}" y="{_short(y + tall + 14)}" width="12" height="12" fill="{_HIDDEN}"/>')
        cells.append(_text(x + 18, y + tall + 24, "hidden"))
    return cells


def _shade(value: float | None, low: float, high: float) -> str:
    if value is None:
        return _HIDDEN
    share = 0.0 if high == low else (value - low) / (high - low)
    # Rounded before it is cut into steps, so that the last bit of a sum can't change a colour.
    return _at(round(min(max(share, 0.0), 1.0), 9))


def _at(share: float) -> str:
    return hexadecimal(SCALE[round(round(share * (_STEPS - 1)) / (_STEPS - 1) * (len(SCALE) - 1))])


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    where = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{_short(x)}" y="{_short(y)}"{where}>{escape(words)}</text>'


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _number(number: float) -> str:
    return f"{number:.2g}" if abs(number) < 1 else f"{number:.3g}"


def _padded(low: float, high: float) -> tuple[float, float]:
    # A line that is flat still wants a height to lie in.
    if high - low < 1e-9:
        return low - 0.5, high + 0.5
    return (0.0 if 0 <= low < 0.3 * high else low), high


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers from one to the other."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first = math.ceil(low / step - 1e-9)
    return [round(tick * step, 9) + 0.0 for tick in range(first, math.floor(high / step + 1e-9) + 1)]
