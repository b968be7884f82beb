"""A page with a script as one HTML file: what can be read without the script, and what makes it live.

The content security policy makes the browser itself refuse every connection, and every script but the page's own.
"""

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from regard.page.arrays import Arrays
from regard.page.blocks import Page
from regard.page.html import GENERATOR_TAG, body
from regard.page.modules import integrity, joined, style
from regard.page.style import style_of
from regard.page.visible import visible

__all__ = ["as_live_html", "as_worked_html"]

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
{held}
<script type="module">{script}</script>
</body>
</html>
"""


def as_live_html(page: Page, data: dict[str, Any], arrays: Arrays, *, language: str = "en", asks: bool = False) -> str:
    """The page of records as one self-contained document.

    Args:
        page: what is to be read without a script.
        data, arrays: what the script draws from; with `data["against"]` it shows two records and what differs.
        language: the language of the page's own words, as a BCP 47 tag.
        asks: whether the page has a form, and asks the server that it came from for other inputs; `data["asks"]` says
            what it asks for. Other pages hold no code that connects to anything.
    """
    return _scripted_html(
        page,
        joined("live.js" if asks else "against.js" if "against" in data else "offline.js"),
        style="".join(map(style, _styles(data, asks))),
        held={
            "values": ("application/json", _embedded_json(data)),
            "packed": ("text/plain", arrays.packed()),
            "worker": ("text/plain", joined("worker.js")),
        },
        policy=(
            "worker-src blob:",
            "img-src data:",
            "media-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            *(["connect-src 'self'"] if asks else []),
        ),
        language=language,
    )


def _styles(data: dict[str, Any], asks: bool) -> list[str]:
    return ["page.css", *(["live.css"] if asks else []), *(["both.css"] if "against" in data else [])]


def _scripted_html(
    page: Page,
    script: str,
    *,
    style: str,
    held: Mapping[str, tuple[str, str]],
    policy: Sequence[str] = (),
    language: str = "en",
) -> str:
    """One self-contained document.

    Args:
        page: what is to be read without the script.
        script: the script, as `joined` gives it.
        style: the style sheet of the page that the script builds.
        held: the data that the script reads: for the id of each element its media type and its text.
        policy: further rules of the content security policy, besides those that allow the page's style and script.
        language: the language of the page's own words, as a BCP 47 tag.

    Example:
        >>> text = _scripted_html(Page("a", ()), "start()", style="", held={"values": ("application/json", "{}")})
        >>> '<script type="application/json" id="values">{}</script>' in text, "default-src &#x27;none&#x27;" in text
        (True, True)
    """
    rules = (
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        f"script-src '{integrity(script)}'",
        *policy,
    )
    elements = (f'<script type="{kind}" id="{name}">{text}</script>' for name, (kind, text) in held.items())
    return _DOCUMENT.format(
        language=escape(language),
        mark=GENERATOR_TAG,
        policy=escape("; ".join(rules), quote=True),
        title=escape(visible(page.title or "regard")),
        still=style_of(page),
        style=style,
        static=body(page),
        held="\n".join(elements),
        script=script,
    )


def _embedded_json(data: dict[str, Any]) -> str:
    """Data as JSON that can stand in a script element.

    Example:
        >>> _embedded_json({"item": "</script>"})
        '{"item": "\\\\u003c/script>"}'
    """
    # Without this character nothing can end the script element or begin a comment in it.
    return json.dumps(data, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")


def as_worked_html(page: Page, data: dict[str, Any], *, language: str = "en") -> str:
    """The page of one computation of attention, whose numbers can be edited, as one self-contained document.

    Args:
        page: what is to be read without a script.
        data: the matrices and parts that the script computes with, and its words.
        language: the language that the page begins in, as a BCP 47 tag.
    """
    return _scripted_html(
        page,
        joined("worked.js"),
        style=style("page.css") + style("worked.css"),
        held={"values": ("application/json", _embedded_json(data))},
        policy=("base-uri 'none'", "form-action 'none'"),
        language=language,
    )
