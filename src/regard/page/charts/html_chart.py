"""A chart as inline SVG, drawn twice: for narrow and for wide screens, so that letters keep their size on both.

The style sheet shows one of the two. The names of axes and the legend are text of the page, which wraps.
"""

from collections.abc import Iterator, Sequence
from html import escape

from rich.cells import cell_len

from regard.page.blocks import Chart
from regard.page.charts.chart_labels import Label
from regard.page.charts.chart_layout import ChartLayout, DrawnSeries, lay_out
from regard.page.charts.chart_numbers import axis_names, point_text
from regard.page.charts.series_style import COLOURS, series_style
from regard.page.numbers import counted
from regard.page.visible import clip, visible

__all__ = ["CHART_STYLE", "chart_html"]

# The classes of the style sheet, and the sizes in its pixels.
_DRAWINGS = (("narrow", 340.0, 300.0), ("broad", 720.0, 400.0))
_LETTERS, _MARK, _LINE = 13.0, 3.6, 2.0
# Of a font that isn't known, the width of half-width characters in heights of a letter; most are narrower.
_CELL = 0.56
_LONGEST_NAME = 60


def _variables(scheme: int) -> str:
    return "; ".join(f"--series-{number}: {colour[scheme]}" for number, colour in enumerate(COLOURS, start=1))


CHART_STYLE = f"""\
:root {{ {_variables(0)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_variables(1)} }} }}
.chart {{ margin: 1.5rem 0 }}
.chart figcaption {{ font-weight: 600; overflow-wrap: anywhere }}
.chart .axis {{ color: var(--quiet); font-size: .85rem; margin: .2rem 0 }}
.chart .across {{ text-align: center }}
.chart svg {{ display: block; width: 100%; overflow: visible }}
.chart .narrow {{ max-width: 30rem }}
.chart .broad {{ max-width: 50rem; display: none }}
@media (min-width: 37rem) {{ .chart .narrow {{ display: none }} .chart .broad {{ display: block }} }}
.chart text {{ font-size: {_LETTERS:g}px; fill: var(--ink); font-variant-numeric: tabular-nums }}
.chart .tick {{ fill: var(--quiet) }}
.chart .grid {{ stroke: var(--line); stroke-width: 1 }}
.chart .rule {{ stroke: var(--quiet); stroke-width: 1 }}
.chart .name {{ paint-order: stroke; stroke: var(--paper); stroke-width: 3px; stroke-linejoin: round }}
.chart .area {{ fill: none; stroke: var(--quiet) }}
.chart .line {{ fill: none; stroke: currentColor; stroke-width: {_LINE:g}; stroke-linejoin: round }}
.chart .leader, .chart .whisker {{ fill: none; stroke: currentColor; stroke-width: 1.2 }}
.chart .leader {{ stroke-width: .8 }}
.chart .band {{ fill: currentColor; opacity: .16 }}
.chart .disc {{ fill: currentColor; fill-opacity: .25; stroke: currentColor; stroke-width: 1.2 }}
.chart .mark {{ fill: currentColor; stroke: var(--paper); stroke-width: 1 }}
.chart ul {{ display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; margin: .4rem 0; list-style: none;
  font-size: .85rem }}
.chart li {{ overflow-wrap: anywhere; min-width: 0 }}
.chart li svg {{ display: inline-block; width: auto; height: 12px; vertical-align: -.05em; margin-right: .4rem }}
.chart summary {{ color: var(--quiet); font-size: .85rem; cursor: pointer }}
.chart summary:focus-visible {{ outline: 3px solid var(--accent); outline-offset: 2px }}
{chr(10).join(f".series-{number} {{ color: var(--series-{number}) }}" for number in range(1, len(COLOURS) + 1))}
@media print {{ .chart * {{ print-color-adjust: exact }} }}
"""


def chart_html(block: Chart, numbers: str) -> str:
    """Draw a chart.

    Args:
        block: the chart.
        numbers: the HTML of the table of its numbers.
    """
    x, y = axis_names(block)
    layouts = [(name, lay_out(block, width, height, _LETTERS, _MARK, _width)) for name, width, height in _DRAWINGS]
    drawings = []
    for name, layout in layouts:
        legend = "" if layout.labels else _legend(block)
        across = f'<p class="axis across">{_text(x)}</p>'
        drawings.append(f'<div class="{name}">{_svg(block, layout)}{across}{_key(block, layout)}{legend}</div>')
    return (
        f'<figure class="chart"><figcaption>{_text(block.title)}</figcaption><p class="axis">{_text(y)}</p>'
        f"{''.join(drawings)}<details><summary>Numbers</summary>{numbers}</details></figure>"
    )


def _text(text: str) -> str:
    return escape(visible(text))


def _width(text: str) -> float:
    return _CELL * _LETTERS * cell_len(visible(text[:1000]))


def _svg(block: Chart, layout: ChartLayout) -> str:
    parts = [f"<title>{_text(block.title or block.y)}</title>", f"<desc>{_text(_description(block))}</desc>"]
    parts += _axes(layout)
    # Intervals lie below the lines of all series.
    parts += [_group(index, _intervals(drawn)) for index, drawn in enumerate(layout.series)]
    for index, (series, drawn) in enumerate(zip(block.series, layout.series, strict=True)):
        said = [f"{clip(series.name, _LONGEST_NAME)}: {point_text(block, point)}" for point in series.points]
        parts.append(_group(index, [*_line(drawn, index), *_points(drawn, index, said)]))
    parts += [_group(label.series, _leader(label)) for label in layout.labels]
    parts += [_name(label) for label in layout.labels]
    size = f'viewBox="0 0 {_n(layout.width)} {_n(layout.height)}"'
    return f'<svg {size} role="img">{"".join(parts)}</svg>'


def _description(block: Chart) -> str:
    points = counted(len(block.points), "point")
    series = f"{len(block.series)} series" if len(block.series) > 1 else "1 series"
    return f"{block.y} against {block.x}: {series} with {points}. The numbers are in the table below."


def _axes(layout: ChartLayout) -> Iterator[str]:
    for tick in layout.y_ticks:
        y = _n(tick.place)
        yield f'<line class="grid" x1="{_n(layout.left)}" x2="{_n(layout.right)}" y1="{y}" y2="{y}"/>'
        x = layout.left - 0.5 * _LETTERS
        yield f'<text class="tick" x="{_n(x)}" y="{_base(tick.place)}" text-anchor="end">{_text(tick.text)}</text>'
    bottom = _n(layout.bottom)
    yield f'<line class="rule" x1="{_n(layout.left)}" x2="{_n(layout.right)}" y1="{bottom}" y2="{bottom}"/>'
    for tick in layout.x_ticks:
        x = _n(tick.place)
        yield f'<line class="rule" x1="{x}" x2="{x}" y1="{bottom}" y2="{_n(layout.bottom + 4)}"/>'
        y = _base(layout.bottom + 1.15 * _LETTERS)
        yield f'<text class="tick" x="{x}" y="{y}" text-anchor="middle">{_text(tick.text)}</text>'


def _key(block: Chart, layout: ChartLayout) -> str:
    if not layout.key:
        return ""
    parts = []
    for disc in layout.key:
        parts.append(f'<circle class="area" cx="{_n(disc.x)}" cy="{_n(disc.y)}" r="{_n(disc.radius)}"/>')
        x = disc.x + disc.radius + 0.35 * _LETTERS
        parts.append(f'<text class="tick" x="{_n(x)}" y="{_base(disc.y)}">{_text(disc.text)}</text>')
    size = f'viewBox="0 0 {_n(layout.width)} {_n(layout.key_height)}"'
    numbers = " and ".join(disc.text for disc in layout.key)
    drawing = f'<svg {size} role="img" aria-label="discs of {numbers}">{"".join(parts)}</svg>'
    return f'<p class="axis">Area of a disc: {_text(block.size)}</p>{drawing}'


def _intervals(drawn: DrawnSeries) -> list[str]:
    parts = [f'<polygon class="band" points="{_places(band)}"/>' for band in drawn.bands]
    for x, top, bottom in drawn.whiskers:
        ends = "".join(f"M{_n(x - 4)} {_n(y)}h8" for y in (top, bottom))
        parts.append(f'<path class="whisker" d="M{_n(x)} {_n(top)}V{_n(bottom)}{ends}"/>')
    return parts


def _line(drawn: DrawnSeries, index: int) -> list[str]:
    if len(drawn.points) == 1:
        return []
    return [f'<polyline class="line" points="{_places(drawn.points)}"{_dashes(index)}/>']


def _points(drawn: DrawnSeries, index: int, said: Sequence[str]) -> Iterator[str]:
    for (x, y), radius, text in zip(drawn.points, drawn.radii, said, strict=True):
        disc = f'<circle class="disc" cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"/>' if radius else ""
        yield f"<g><title>{_text(text)}</title>{disc}{_mark(index, x, y)}</g>"


def _mark(index: int, x: float, y: float) -> str:
    corners = series_style(index).mark
    if not corners:
        return f'<circle class="mark" cx="{_n(x)}" cy="{_n(y)}" r="{_n(_MARK)}"/>'
    return f'<polygon class="mark" points="{_places([(x + _MARK * dx, y + _MARK * dy) for dx, dy in corners])}"/>'


def _leader(label: Label) -> list[str]:
    return [f'<polyline class="leader" points="{_places(label.leader)}"/>'] if label.leader else []


def _name(label: Label) -> str:
    anchor = {"left": "start", "center": "middle", "right": "end"}[label.align]
    place = f'x="{_n(label.x)}" y="{_base(label.y)}" text-anchor="{anchor}"'
    return f'<text class="name" {place}>{_text(label.text)}</text>'


def _legend(block: Chart) -> str:
    entries = []
    for index, series in enumerate(block.series):
        parts, width = [_mark(index, 7.0, 6.0)], 14
        if len(series.points) > 1:
            width = 42
            parts = [f'<line class="line" x1="1" x2="41" y1="6" y2="6"{_dashes(index)}/>', _mark(index, 21.0, 6.0)]
        swatch = f'<svg viewBox="0 0 {width} 12" width="{width}" aria-hidden="true">{_group(index, parts)}</svg>'
        entries.append(f"<li>{swatch}<bdi>{_text(series.name)}</bdi></li>")
    return f'<ul role="list" aria-label="series">{"".join(entries)}</ul>'


def _group(index: int, parts: Sequence[str]) -> str:
    inside = "".join(parts)
    return f'<g class="series-{series_style(index).colour + 1}">{inside}</g>' if inside else ""


def _dashes(index: int) -> str:
    dashes = series_style(index).dashes
    return f' stroke-dasharray="{" ".join(_n(_LINE * each / 1.5) for each in dashes)}"' if dashes else ""


def _places(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in points)


def _base(middle: float) -> str:
    """The base line of a text whose middle line is at a height."""
    return _n(middle + 0.35 * _LETTERS)


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
