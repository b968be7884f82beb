"""The offline page that a command writes beside what it prints: gathered source by source, written once."""

from pathlib import Path

import typer

from regard.errors import ArgumentError
from regard.page import Block, Heading, Page, as_html

__all__ = ["HtmlPage"]

# The page is meant to be read; with many more sources a browser takes seconds to open it.
_MOST = 50


class HtmlPage:
    """A page of what was seen.

    Args:
        path: the file to write.

    Raises:
        ArgumentError: it is a folder.
    """

    def __init__(self, path: str):
        if Path(path).is_dir():
            raise ArgumentError(f"`--html` must be a file to write, but {path} is a folder.")
        self.path = path
        self.blocks: list[Block] = []
        self.pages = 0

    def add(self, page: Page, *, heading: bool, source: str) -> None:
        """What was seen of one source; `source` is where it and the others come from.

        Raises:
            ArgumentError: there are too many.
        """
        if self.pages == _MOST:
            raise ArgumentError(f"`--html` takes up to {_MOST} sources, but {source} has more.")
        self.pages += 1
        self.blocks += [*([Heading(page.title)] if heading else []), *page.blocks]

    def write(self, title: str) -> None:
        """Write the file, whole or not at all, and say so."""
        from regard.files import write_text

        write_text(self.path, as_html(Page(title, tuple(self.blocks))))
        typer.echo(f"Wrote {self.path}.", err=True)
