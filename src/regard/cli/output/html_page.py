"""The offline HTML page of a command, which collects the sources and is written once at the end."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli.output.written_file import check_folder, check_new
from regard.errors import ArgumentError
from regard.page import Block, Heading, Page, as_html
from regard.page.html import GENERATOR_TAG

if TYPE_CHECKING:
    from regard.inspection import Record
    from regard.inspection.views.attributed import Attributed
    from regard.inspection.views.patched import Patched

__all__ = ["HtmlPage"]

# A page with many more sources takes a browser seconds to open.
_MOST_SOURCES = 50


class HtmlPage:
    """An HTML page that collects the views of several sources.

    Args:
        path: the file to write.
        force: whether to overwrite a file that isn't a page of regard's.
        sources: the number of sources; 0 if it isn't known yet.
        option: the option that names the file.

    Raises:
        ArgumentError: the path is a folder, can't be written, or is another file; or there are too many sources.
    """

    def __init__(self, path: str, *, force: bool = False, sources: int = 0, option: str = "--html"):
        if sources > _MOST_SOURCES:
            raise ArgumentError(
                f"`{option}` takes up to {_MOST_SOURCES} sources, but there are {sources}. Give fewer, or leave it out."
            )
        self.path, self.force, self._option = path, force, option
        self._check()
        check_folder(option, path)
        self.blocks: list[Block] = []
        self.records: list[tuple[str, Record]] = []
        self.pages = 0

    def add(self, page: Page, *, heading: bool, record: "Record | None" = None) -> None:
        """Add the view of one source; sources beyond the limit are ignored.

        Args:
            page: the view, as it is read without a script.
            heading: whether the title of `page` becomes a heading.
            record: what the live page draws; None: nothing.
        """
        self.pages += 1
        if self.pages > _MOST_SOURCES:
            return
        self.blocks += [*([Heading(page.title)] if heading else []), *page.blocks]
        if record is not None and (record.layers or record.pooling is not None):
            self.records.append((page.title, record))

    def _check(self) -> None:
        check_new(self._option, self.path, "page", _is_page, force=self.force)

    def write(
        self,
        title: str,
        origin: str,
        language: str = "en",
        *,
        layer: int | None = None,
        head: int | None = None,
        query: int | None = None,
        attributed: "Attributed | None" = None,
    ) -> None:
        """Write the file atomically, and print its name.

        Args:
            title: the title of the page.
            origin: where the sources come from.
            language: the language of the page's own words, as a BCP 47 tag.
            layer, head, query, attributed: as `live_page` takes them.
        """
        which_sources = f", with the first {_MOST_SOURCES} sources of {origin}" if self.pages > _MOST_SOURCES else ""
        page = Page(title, tuple(self.blocks))
        if not self.records:
            self.save(as_html(page, language=language), which_sources)
            return
        from regard.cli.output.console import progress_of
        from regard.inspection import live_page

        titles, records = zip(*self.records, strict=True)
        with progress_of("making the page") as progress:
            text = live_page(
                records,
                titles,
                attributed=attributed,
                still=page,
                language=language,
                layer=layer,
                head=head,
                query=query,
                progress=progress,
            )
        self.save(text, which_sources)

    def write_comparison(
        self,
        records: "tuple[Record, Record]",
        titles: tuple[str, str],
        layer: int | None,
        head: int | None,
        query: int | None,
        patched: "Patched | None" = None,
    ) -> None:
        """Write the page of two records, and print its name.

        Args:
            records, titles: both records, and the name of each.
            layer, head, query, patched: as `live_page` takes them.
        """
        from regard.cli.output.console import progress_of
        from regard.inspection import live_page

        record, other = records
        with progress_of("making the page") as progress:
            text = live_page(
                record, titles, against=other, patched=patched, layer=layer, head=head, query=query, progress=progress
            )
        self.save(text)

    def save(self, text: str, remark: str = "") -> None:
        """Write a document atomically, and print the name of its file.

        Args:
            text: the document.
            remark: what is printed after the name.
        """
        from regard.files import write_text

        # Checked again, because the command may have written another file of this name, such as a sound.
        self._check()
        write_text(self.path, text)
        typer.echo(f"Wrote {self.path}{remark}.", err=True)


def _is_page(path: Path) -> bool:
    """Whether the file is a page of regard's, which can be overwritten without --force."""
    try:
        with path.open("rb") as file:
            return GENERATOR_TAG.encode() in file.read(1000)
    except OSError:
        return False
