"""A record's page as one HTML file: what can be read without a script, and the script that makes it live.

The content security policy makes the browser itself refuse every connection, and every script but the page's own.
"""

import json
from html import escape
from typing import Any

from regard.page.arrays import Arrays
from regard.page.blocks import Page
from regard.page.html import GENERATOR_TAG, body
from regard.page.modules import integrity, joined, style
from regard.page.style import STYLE
from regard.page.visible import visible

__all__ = ["as_live_html"]

_DOCUMENT = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
{mark}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style id="still">
{still}</style>
<style media="not all" id="lively">
{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
{static}
</main>
<script type="application/json" id="values">{values}</script>
<script type="text/plain" id="packed">{packed}</script>
<script type="text/plain" id="worker">{worker}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def as_live_html(page: Page, data: dict[str, Any], arrays: Arrays, *, language: str = "en", asks: bool = False) -> str:
    """One self-contained document.

    Args:
        page: what is to be read without a script.
        data, arrays: what the script draws from; with `data["against"]` it shows two records and what differs.
        language: the language of the page's own words, as a BCP 47 tag.
        asks: whether the page has a form, and asks the server that it came from for other inputs; `data["asks"]` says
            what it asks for. Other pages hold no code that connects to anything.
    """
    script, worker = (
        joined("live.js" if asks else "against.js" if "against" in data else "offline.js"),
        joined("worker.js"),
    )
    policy = "; ".join(
        (
            "default-src 'none'",
            "style-src 'unsafe-inline'",
            f"script-src '{integrity(script)}'",
            "worker-src blob:",
            "img-src data:",
            "media-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            *(["connect-src 'self'"] if asks else []),
        )
    )
    return _DOCUMENT.format(
        language=escape(language),
        mark=GENERATOR_TAG,
        policy=escape(policy, quote=True),
        title=escape(visible(page.title or "regard")),
        still=STYLE,
        style=style("page.css")
        + (style("live.css") if asks else "")
        + (style("both.css") if "against" in data else ""),
        static=body(page),
        # Nothing in a script element ends it, or begins a comment, without this character.
        values=json.dumps(data, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c"),
        packed=arrays.packed(),
        worker=worker,
        script=script,
    )
