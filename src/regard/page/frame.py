"""A page inside of another one, such as a notebook: in a frame that shares nothing with what is around it."""

from html import escape

from regard.page.modules import joined
from regard.page.visible import visible

__all__ = ["as_frame"]

# Until the page says how high it is, or where no script runs around it.
_HEIGHT = 900


def as_frame(document: str, title: str) -> str:
    """HTML that shows a live page, as high as its content.

    The frame has an origin of its own (`sandbox`), so neither its styles nor its script meet those around it, and
    several may stand on one page. A script around it, a few lines, makes it as high as the page inside says it is.

    Args:
        document: what `as_live_html` gave.
        title: what a screen reader calls the frame.

    Example:
        >>> as_frame('<p title="a&b">', "<b>").partition("srcdoc=")[2].partition("</iframe>")[0]
        '"<p title=&quot;a&amp;b&quot;>">'
    """
    style = f"display: block; width: 100%; height: {_HEIGHT}px; border: 0"
    # Within quotes only these two characters mean something; to escape more would make the notebook larger.
    inner = document.replace("&", "&amp;").replace('"', "&quot;")
    frame = f'<iframe class="regard-page" sandbox="allow-scripts" title="{escape(visible(title))}" style="{style}"'
    # The script comes first: a frame out of sight tells its height once, and it must be heard.
    return f'<script>{joined("around.js")}</script>\n{frame} srcdoc="{inner}"></iframe>\n'
