"""The style sheet of the offline page: light or dark by the reader's setting, legible at 400 %, printable."""

from regard.page.blocks import Chart, Page, Pictures
from regard.page.charts.html_chart import CHART_STYLE
from regard.page.pictures.html_pictures import PICTURES_STYLE

__all__ = ["STYLE", "style_of"]

STYLE = """\
:root { color-scheme: light dark; --ink: #1a1a1a; --quiet: #595959; --paper: #fff; --line: #d0d0d0; --accent: #1f5fa8;
  --effect: #b45309; --low: #f7f9fc; --high: #1f5fbf; --masked: #e4e7eb; --broken: #7a7a7a;
  --on-low: #000; --on-high: #fff }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ececec; --quiet: #b0b0b0; --paper: #161618; --line: #444; --accent: #7db4f0;
    --effect: #f0a35e; --low: #1b2026; --high: #7fb2ff; --masked: #2d333a; --broken: #8a8a8a;
    --on-low: #fff; --on-high: #000 }
}
body { margin: 0; color: var(--ink); background: var(--paper); font: 1rem/1.5 system-ui, sans-serif }
main { max-width: 60rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.5rem; overflow-wrap: anywhere }
h2 { font-size: 1.2rem }
p { overflow-wrap: anywhere }
.items { display: flex; flex-wrap: wrap; gap: .75rem 1.25rem; padding: 0; list-style: none }
.items li { display: flex; flex-direction: column; align-items: center; max-width: 100% }
.text { font-weight: 600; font-size: 1.15rem; max-width: 100%; overflow-wrap: anywhere }
.label { color: var(--accent); font-size: .85rem; font-weight: 600 }
.note { color: var(--quiet); font-size: .8rem }
.wide { overflow-x: auto; margin: 1rem 0 }
.wide:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
table { border-collapse: collapse }
caption { text-align: left; font-weight: 600; padding: .4rem 0 }
th, td { padding: .15rem .6rem; text-align: left; vertical-align: top }
th bdi, td bdi { overflow-wrap: break-word }
thead th { color: var(--quiet); font-weight: 400 }
.right { text-align: right; font-variant-numeric: tabular-nums }
.bars { width: 100%; max-width: 40rem }
.bars tbody { border-top: 1px solid var(--line) }
.bars td:first-of-type { width: 60% }
.bar { display: block; height: .5rem; min-width: 1px; background: var(--accent); forced-color-adjust: none }
.effect { background: var(--effect) }
.compared { width: 100%; max-width: 44rem }
.compared td { min-width: 6rem }
.marked { outline: 2px solid var(--accent); outline-offset: .25rem; border-radius: .2rem }
.map td { min-width: 2.6em; padding: .25rem; text-align: center; font-size: .8rem; font-variant-numeric: tabular-nums;
  forced-color-adjust: none; print-color-adjust: exact }
.map thead th { writing-mode: vertical-rl; max-height: 10em }
.map tbody th { white-space: nowrap }
.map [style] { background: color-mix(in srgb, var(--high) var(--share), var(--low)); color: var(--on-low) }
.map .middle { color: #000 }
.map .strong { color: var(--on-high) }
.zero { background: var(--paper); color: var(--quiet) }
.masked { background: repeating-linear-gradient(135deg, var(--masked) 0 5px, var(--line) 5px 6px) }
.broken { background: var(--broken); color: #000 }
.legend i { display: inline-block; width: .9em; height: .9em; vertical-align: -.1em; border: 1px solid var(--line);
  print-color-adjust: exact; forced-color-adjust: none }
.legend .scale { width: 6em; background: linear-gradient(90deg, var(--low), var(--high)) }
.legend { color: var(--quiet); font-size: .9rem }
@media print { .wide { overflow: visible } }
"""


def style_of(page: Page) -> str:
    """The style sheet of a page, with what charts and pictures need if it has any.

    Example:
        >>> style_of(Page("", ())) == STYLE
        True
    """
    extras = ((Chart, CHART_STYLE), (Pictures, PICTURES_STYLE))
    return STYLE + "".join(style for kind, style in extras if any(isinstance(block, kind) for block in page.blocks))
