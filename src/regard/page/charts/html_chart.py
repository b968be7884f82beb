"""A chart as inline SVG, drawn twice: for narrow and for wide screens, so that letters keep their size on both.

The style sheet shows one of the two. The names of axes and the legend are text of the page, which wraps.
"""

from html import escape

from rich.cells import cell_len

from regard.page.blocks import Chart
from regard.page.charts.chart_labels import Sizes
from regard.page.charts.chart_layout import lay_out, swatch
from regard.page.charts.chart_numbers import axis_names
from regard.page.charts.series_style import COLOURS
from regard.page.marks import Drawing
from regard.page.numbers import counted
from regard.page.svg import as_svg
from regard.page.visible import visible

__all__ = ["CHART_STYLE", "chart_html"]

# The classes of the style sheet, and the sizes in its pixels.
_DRAWINGS = (("narrow", 340.0, 300.0), ("broad", 720.0, 400.0))
_LETTERS, _MARK, _LINE = 13.0, 3.6, 2.0
# Of a font that isn't known, the width of half-width characters in heights of a letter; most are narrower.
_CELL = 0.56


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
    title = f"<title>{_text(block.title or block.y)}</title><desc>{_text(_description(block))}</desc>"
    drawings = []
    for name, width, height in _DRAWINGS:
        drawn = lay_out(block, Sizes(width, height, _LETTERS, _MARK, _width))
        plot = as_svg(drawn.plot, 'role="img"', below=title)
        across = f'<p class="axis across">{_text(x)}</p>'
        key = "" if drawn.key is None else _key(block, drawn.key)
        legend = "" if drawn.named else _legend(block)
        drawings.append(f'<div class="{name}">{plot}{across}{key}{legend}</div>')
    return (
        f'<figure class="chart"><figcaption>{_text(block.title)}</figcaption><p class="axis">{_text(y)}</p>'
        f"{''.join(drawings)}<details><summary>Numbers</summary>{numbers}</details></figure>"
    )


def _text(text: str) -> str:
    return escape(visible(text))


def _width(text: str) -> float:
    return _CELL * _LETTERS * cell_len(visible(text[:1000]))


def _description(block: Chart) -> str:
    points = counted(len(block.points), "point")
    series = f"{len(block.series)} series" if len(block.series) > 1 else "1 series"
    return f"{block.y} against {block.x}: {series} with {points}. The numbers are in the table below."


def _key(block: Chart, key: Drawing) -> str:
    numbers = " and ".join(text.text for text in key.texts)
    drawing = as_svg(key, f'role="img" aria-label="discs of {numbers}"')
    return f'<p class="axis">Area of a disc: {_text(block.size)}</p>{drawing}'


def _legend(block: Chart) -> str:
    entries = []
    for index, series in enumerate(block.series):
        inside = 40.0 if len(series.points) > 1 else 12.0
        drawing = Drawing(inside + 2, 12.0, _LETTERS, (swatch(series, index, 1.0, 6.0, inside, _MARK),))
        drawn = as_svg(drawing, f'width="{drawing.width:g}" aria-hidden="true"')
        entries.append(f"<li>{drawn}<bdi>{_text(series.name)}</bdi></li>")
    return f'<ul role="list" aria-label="series">{"".join(entries)}</ul>'
