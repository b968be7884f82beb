"""Links between the files of the repository, as GitHub follows them, made links between the pages of the site."""

import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^(```|~~~)")
LINK = re.compile(r"(\]\()(?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?(\))")
PICTURE = re.compile(r'<picture>.*?<img alt="([^"]*)" src="([^"]*)">\n</picture>', re.DOTALL)
INCLUDE = re.compile(r"```\{include\} (\S+)\n```\n")
PAGES = {
    ROOT / "README.md": DOCS / "index.md",
    ROOT / "README.zh.md": DOCS / "zh" / "index.md",
    ROOT / "CONTRIBUTING.md": DOCS / "contributing.md",
    ROOT / "SECURITY.md": DOCS / "security.md",
    ROOT / "CHANGELOG.md": DOCS / "changes.md",
}
"""The files outside of docs/ that are pages of the site, and the page that includes each."""


def linked(text: str, path: Path, page: Path) -> str:
    """A text with its links changed.

    Args:
        text: Markdown.
        path: the file that it is from, which its links start from.
        page: the page that it becomes a part of.
    """

    def change(match: re.Match[str]) -> str:
        begin, target, heading, end = match[1], match[2], match[3] or "", match[4]
        there = Path(os.path.normpath(path.parent / target))
        there = PAGES.get(there, there)
        to = os.path.relpath(there, page.parent)
        if there.suffix == ".md" and language(there) != language(page):
            to = f"{'heading' if heading else 'page'}:{address(page, there)}"
        return f"{begin}{to}{heading}{end}"

    # Sphinx copies the files of Markdown's pictures only, and knows one of each: the light one.
    text = PICTURE.sub(r"![\1](\2)", text)
    inside = False
    lines = []
    for line in text.splitlines(keepends=True):
        inside ^= bool(FENCE.match(line))
        lines.append(line if inside else LINK.sub(change, line))
    return "".join(lines)


def language(page: Path) -> str:
    return "zh" if page.is_relative_to(DOCS / "zh") else "en"


def address(page: Path, there: Path) -> str:
    """Where a page in the other language is: the Chinese site lies in the folder zh of the English one."""
    return os.path.relpath(there.with_suffix(".html"), page.parent)


def read(app: Any, docname: str, source: list[str]) -> None:
    page = Path(app.env.doc2path(docname))

    def include(match: re.Match[str]) -> str:
        path = Path(os.path.normpath(page.parent / match[1]))
        return linked(path.read_text(encoding="utf-8"), path, page)

    source[0] = INCLUDE.sub(include, linked(source[0], page, page))
    if page.with_suffix("").is_dir():
        source[0] += BELOW.format(page.stem)


BELOW = "\n```{{toctree}}\n:hidden:\n:glob:\n\n{}/*\n```\n"
"""What a page with a folder of its name has: the pages in the folder stand below it."""


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", read)
    return {"parallel_read_safe": True}
