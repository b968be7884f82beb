"""A page as one HTML file that works offline: without scripts and external resources, and with semantic tables."""

import math
from html import escape

from regard.errors import ArgumentError
from regard.page.blocks import (
    Bars,
    Block,
    Chart,
    Code,
    Comparison,
    Heading,
    HeatMap,
    Items,
    Page,
    Pictures,
    Prose,
    Table,
)
from regard.page.charts.chart_numbers import numbers_table
from regard.page.charts.html_chart import chart_html
from regard.page.messages import say
from regard.page.numbers import percent, plural
from regard.page.pictures.downsampling import downsample, downsampling_note
from regard.page.pictures.html_pictures import pictures_html
from regard.page.style import style_of
from regard.page.visible import visible

__all__ = ["GENERATOR_TAG", "as_html", "body"]

# Each cell is an HTML element; a browser lays out this many without noticeable delay.
_MOST_CELLS_A_SIDE = 64

GENERATOR_TAG = '<meta name="generator" content="regard">'
"""The tag that identifies a page of regard's, near the beginning of the file."""

# The content security policy makes the browser itself refuse to load anything.
_HEAD = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
{mark}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
"""


def as_html(page: Page, *, language: str = "en") -> str:
    """Render a page into one self-contained HTML document.

    Args:
        page: what to render.
        language: the language of the page's own words, as a BCP 47 tag.

    Raises:
        ArgumentError: `language` isn't a language tag.

    Example:
        >>> text = as_html(Page("<b>", (Prose("a & b"),)))
        >>> "<h1>&lt;b&gt;</h1>" in text, "<p>a &amp; b</p>" in text
        (True, True)
    """
    if not language.replace("-", "").isalnum():
        raise ArgumentError(f"`language` must be a language tag such as en or zh-Hans, but is {language!r}.")
    title = _text(page.title or "regard")
    head = _HEAD.format(mark=GENERATOR_TAG, language=escape(language), title=title, style=style_of(page))
    return head + body(page) + "\n</main>\n</body>\n</html>\n"


def body(page: Page) -> str:
    """The blocks of a page, without the document around them."""
    return "\n".join(_block(block) for block in page.blocks)


def _block(block: Block) -> str:
    match block:
        case Heading():
            level = min(max(block.level, 2), 6)
            return f"<h{level}>{_text(block.text)}</h{level}>"
        case Prose():
            return f"<p>{_text(block.text)}</p>"
        case Code():
            lines = "\n".join(_code(line) for line in block.text.splitlines())
            return f'<pre class="wide" tabindex="0"><code>{lines}</code></pre>'
        case Table():
            return _table(block)
        case Items():
            return _items(block)
        case Bars():
            return _bars(block)
        case Comparison():
            return _comparison(block)
        case HeatMap():
            return _heat_map(block)
        case Chart():
            return chart_html(block, _table(numbers_table(block)))
        case Pictures():
            return pictures_html(block)


def _text(text: str) -> str:
    return escape(visible(text))


def _code(line: str) -> str:
    """A line of a program; blank ones and indents stay as they are."""
    return escape(visible(line)) if line.strip() else ""


def _token(text: str) -> str:
    # bdi: a right-to-left word must not reverse the text next to it.
    return f"<bdi>{_text(text)}</bdi>"


def _table(block: Table) -> str:
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in block.columns)
    rows = []
    for row in block.rows:
        cells = "".join(
            f'<td class="{block.aligned(index)}">{_token(cell)}</td>' for index, cell in enumerate(row[1:], start=1)
        )
        rows.append(f'<tr><th scope="row">{_token(row[0])}</th>{cells}</tr>')
    return _scrolling("table", f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>")


def _items(block: Items) -> str:
    items = []
    for item in block.items:
        parts = [f'<span class="text">{_token(item.text)}</span>']
        parts += [f'<span class="label">{_text(item.label)}</span>'] if item.label else []
        parts += [f'<span class="note">{_text(item.note)}</span>'] if item.note else []
        marked = ' class="marked" aria-current="true"' if item.marked else ""
        items.append(f"<li{marked}>{' '.join(parts)}</li>")
    # Safari doesn't announce a list without bullets as a list unless it has this role.
    return f'<ol class="items" role="list" aria-label="{_text(plural(block.noun))}">{"".join(items)}</ol>'


def _bars(block: Bars) -> str:
    head = "".join(
        f'<th scope="col"{" class=right" if index > 1 else ""}>{_text(name)}</th>'
        for index, name in enumerate((block.noun, block.verb, "weight", "total"))
    )
    groups = []
    for ranking in block.rankings:
        rows = [(_token(bar.label), bar.value, bar.total, _bar(bar.value, block.high)) for bar in ranking.bars]
        if ranking.others:
            rows.append((f"{ranking.others} other{'s' if ranking.others > 1 else ''}", ranking.rest, ranking.total, ""))
        if not rows:
            rows.append(("nothing", 0.0, 0.0, ""))
        note = f' <span class="label">{_text(ranking.note)}</span>' if ranking.note else ""
        first = f'<th scope="rowgroup" rowspan="{len(rows)}">{_token(ranking.label)}{note}</th>'
        body = ""
        for number, (name, value, total, bar) in enumerate(rows):
            body += (
                f"<tr>{first if number == 0 else ''}<td>{name}{bar}</td>"
                f'<td class="right">{escape(percent(value))}</td><td class="right">{escape(percent(total))}</td></tr>'
            )
        groups.append(f"<tbody>{body}</tbody>")
    return _scrolling(
        block.title,
        f'<table class="bars"><caption>{_text(block.title)}</caption><thead><tr>{head}</tr></thead>'
        f"{''.join(groups)}</table>",
    )


def _comparison(block: Comparison) -> str:
    names = [block.noun, block.first, *([block.second] if block.measured else []), *([block.third] * bool(block.third))]
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in names)
    first, second = (high or 1.0 for high in block.highs)
    rows = []
    for row in block.rows:
        bar = _bar(row.first, first, zero=block.zeros[0])
        cells = f"<td>{escape(row.first_written or percent(row.first))}{bar}</td>"
        if block.measured:
            bar = "" if row.second is None else _bar(row.second, second, "effect", block.zeros[1])
            cells += f"<td>{_text(row.written)}{bar}</td>"
        if block.third:
            cells += f"<td>{_token(row.note)}</td>"
        rows.append(f'<tr><th scope="row">{_token(row.label)}</th>{cells}</tr>')
    others = f"<p>{_text(block.rest)}</p>" if block.rest else ""
    table = _scrolling(
        block.title,
        f'<table class="compared"><caption>{_text(block.title)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>",
    )
    return table + others


def _bar(value: float, high: float, kind: str = "", zero: float = 0.0) -> str:
    """A bar that begins at a share of its room, and goes to the left if the value is below 0."""
    share = min(max(value / high, -zero), 1.0 - zero) if math.isfinite(value) else 0.0
    left = f"margin-left:{100 * (zero + min(share, 0.0)):.2f}%;" if zero else ""
    classes, none = f"bar{kind and ' ' + kind}", "" if share else ";min-width:0"
    return f'<span class="{classes}" aria-hidden="true" style="{left}width:{100 * abs(share):.2f}%{none}"></span>'


def _heat_map(block: HeatMap) -> str:
    factor = max(1, math.ceil(max(len(block.rows), len(block.columns)) / _MOST_CELLS_A_SIDE))
    block = downsample(block, factor)
    note = ""
    if factor > 1:
        note = f"<p>{_text(downsampling_note(block, factor))}</p>"
    head = "".join(f'<th scope="col">{_token(label)}</th>' for label in block.columns)
    rows = []
    for label, values in zip(block.rows, block.values, strict=True):
        cells = "".join(_cell(value, block.high) for value in values)
        rows.append(f'<tr><th scope="row">{_token(label)}</th>{cells}</tr>')
    axes = f"each row {block.verb} the columns" if block.verb else "rows and columns are those of the picture"
    table = (
        f'<table class="map"><caption>{_text(block.title)}: {_text(axes)}</caption>'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )
    return note + _scrolling(block.title, table) + _legend(block)


def _cell(value: float | None, high: float) -> str:
    kind = _kind(value)
    if value is None or kind:
        return f'<td class="{kind}">{escape(percent(value))}</td>'
    # The square root, as on the live page: small weights can be told from 0.
    share = round(100 * math.sqrt(min(max(value / high, 0.0), 1.0)))
    # The ink of these has enough contrast in light and in dark.
    ink = ' class="strong"' if share >= 86 else ' class="middle"' if share >= 59 else ""
    return f'<td{ink} style="--share:{share}%">{escape(percent(value))}</td>'


def _kind(value: float | None) -> str:
    """The class of what is none of the scale."""
    if value is None:
        return "masked"
    return "broken" if math.isnan(value) else "zero" if value == 0.0 else ""


def _legend(block: HeatMap) -> str:
    entries = [f'0% <i class="scale" aria-hidden="true"></i> {escape(percent(block.high))}']
    entries += [say("equalWeights", share=percent(block.equal))] if block.equal else []
    entries += [_text(block.note)] if block.note else []
    kinds = {_kind(value) for row in block.values for value in row}
    for kind, name in (("zero", "exactly 0"), ("masked", "masked"), ("broken", "not a number")):
        entries += [f'<i class="{kind}" aria-hidden="true"></i> {name}'] if kind in kinds else []
    return f'<p class="legend">Colours: {", ".join(entries)}.</p>'


def _scrolling(name: str, table: str) -> str:
    # The region is focusable, so that a wide table can be scrolled with the keyboard.
    return f'<div class="wide" role="region" tabindex="0" aria-label="{_text(name)}">{table}</div>'
