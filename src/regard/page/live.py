"""A record's page as one HTML file: what can be read without a script, and the script that makes it live."""

from typing import Any

from regard.page.arrays import Arrays
from regard.page.blocks import Page
from regard.page.modules import joined, style
from regard.page.scripted import as_scripted_html, embedded_json

__all__ = ["as_live_html"]


def as_live_html(page: Page, data: dict[str, Any], arrays: Arrays, *, language: str = "en", asks: bool = False) -> str:
    """One self-contained document.

    Args:
        page: what is to be read without a script.
        data, arrays: what the script draws from; with `data["against"]` it shows two records and what differs.
        language: the language of the page's own words, as a BCP 47 tag.
        asks: whether the page has a form, and asks the server that it came from for other inputs; `data["asks"]` says
            what it asks for. Other pages hold no code that connects to anything.
    """
    return as_scripted_html(
        page,
        joined("live.js" if asks else "against.js" if "against" in data else "offline.js"),
        style="".join(map(style, _styles(data, asks))),
        held={
            "values": ("application/json", embedded_json(data)),
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
