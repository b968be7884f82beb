"""The page of one computation of attention, whose numbers can be edited, as one HTML file."""

from typing import Any

from regard.page.blocks import Page
from regard.page.modules import joined, style
from regard.page.scripted import as_scripted_html, embedded_json

__all__ = ["as_worked_html"]


def as_worked_html(page: Page, data: dict[str, Any], *, language: str = "en") -> str:
    """One self-contained document.

    Args:
        page: what is to be read without a script.
        data: the matrices and parts that the script computes with, and its words.
        language: the language that the page begins in, as a BCP 47 tag.
    """
    return as_scripted_html(
        page,
        joined("worked.js"),
        style=style("page.css") + style("worked.css"),
        held={"values": ("application/json", embedded_json(data))},
        policy=("base-uri 'none'", "form-action 'none'"),
        language=language,
    )
