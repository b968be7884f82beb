"""The offline page that a command writes beside what it prints: gathered source by source, written once."""

import os
from pathlib import Path

import typer

from regard.errors import ArgumentError
from regard.page import Block, Heading, Page, as_html
from regard.page.html import GENERATOR_TAG

__all__ = ["HtmlPage"]

# The page is meant to be read; with many more sources a browser takes seconds to open it.
_MOST = 50


class HtmlPage:
    """A page of what was seen.

    Args:
        path: the file to write.
        force: whether to write over a file that isn't such a page.
        sources: how many there are; 0 where that isn't known before they are read.

    Raises:
        ArgumentError: it is a folder or lies where none can be, or something else is there; or there are too many
            sources.
    """

    def __init__(self, path: str, *, force: bool = False, sources: int = 0):
        if sources > _MOST:
            raise ArgumentError(
                f"`--html` takes up to {_MOST} sources, but there are {sources}. Give fewer, or leave it out."
            )
        self.path, self.force = path, force
        self._check()
        # Now, and not when all is said: what was to be seen would be lost.
        above = next(folder for folder in Path(path).absolute().parents if folder.exists())
        if not above.is_dir() or not os.access(above, os.W_OK):
            wrong = "can't be written to" if above.is_dir() else "is no folder"
            raise ArgumentError(f"`--html` must be a file to write, but of {path} {above} {wrong}.")
        self.blocks: list[Block] = []
        self.pages = 0

    def add(self, page: Page, *, heading: bool) -> None:
        """What was seen of one source; beyond the most that a page holds it is passed over."""
        self.pages += 1
        if self.pages > _MOST:
            return
        self.blocks += [*([Heading(page.title)] if heading else []), *page.blocks]

    def _check(self) -> None:
        path = Path(self.path)
        if path.is_dir():
            raise ArgumentError(f"`--html` must be a file to write, but {path} is a folder.")
        if path.exists() and not path.is_file():
            raise ArgumentError(f"`--html` must be a file to write, but {path} is no regular file.")
        if path.exists() and not (self.force or _is_page(path)):
            raise ArgumentError(
                f"`--html` must be a new file, or a page that regard wrote, but {path} is neither. Give another "
                "name, or --force to write over it."
            )

    def write(self, title: str, origin: str) -> None:
        """Write the file, whole or not at all, and say so; `origin` is where the sources come from."""
        from regard.files import write_text

        # Again: by now another file may have got its name, that of a sound for one.
        self._check()
        write_text(self.path, as_html(Page(title, tuple(self.blocks))))
        first = f", with the first {_MOST} sources of {origin}" if self.pages > _MOST else ""
        typer.echo(f"Wrote {self.path}{first}.", err=True)


def _is_page(path: Path) -> bool:
    """Whether regard wrote it: only such a page is written over unasked."""
    try:
        with path.open("rb") as file:
            return GENERATOR_TAG.encode() in file.read(1000)
    except OSError:
        return False
