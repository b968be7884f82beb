"""The figure of a command: one source or one chart, drawn at the end. The ending of the file names its format."""

from typing import TYPE_CHECKING, Any

import typer

from regard.cli.output.written_file import check_folder, check_new
from regard.errors import ArgumentError
from regard.extras import require
from regard.inspection.figures.chart import save_chart
from regard.inspection.figures.figure import save_figure
from regard.inspection.figures.written import format_of, is_own_figure, write_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.inspection import Record
    from regard.page import Chart

__all__ = ["FigureFile"]


class FigureFile:
    """A file with a figure of the first source, or of a chart.

    Args:
        path: the file to write, which ends in .png, .svg or .pdf.
        view: the name of the view; None: the first that can be drawn.
        force: whether to overwrite a file that isn't a figure of regard's.
        sources: the number of sources; 0 if it isn't known yet.

    Raises:
        ArgumentError: the path has another ending, is a folder, can't be written, or is another file; or there are
            several sources.
        MissingExtraError: matplotlib isn't installed.
    """

    def __init__(self, path: str, view: str | None = None, *, force: bool = False, sources: int = 0):
        format_of(path, "--figure")
        if sources > 1:
            raise ArgumentError(f"`--figure` draws one source, but there are {sources}. Give one, or leave it out.")
        self.path, self.view, self.force = path, view, force
        self._check()
        check_folder("--figure", path)
        # Required now: at the end, an error would lose the work.
        require("matplotlib", extra="figures")
        self._record: Record | None = None
        self._sources = 0

    def add(self, record: "Record") -> None:
        """Add a source; those after the first are ignored."""
        self._sources += 1
        self._record = self._record or record

    def save(self, figure: Any) -> None:
        """Write a figure that was drawn elsewhere, atomically, and print the file's name."""
        self._check()
        write_figure(figure, self.path)
        typer.echo(f"Wrote {self.path}.", err=True)

    def _check(self) -> None:
        check_new("--figure", self.path, "figure", is_own_figure, force=self.force)

    def write(
        self, origin: str, *, layer: int | None = None, head: int | None = None, query: int | None = None
    ) -> None:
        """Draw the first source, write the file atomically, and print its name.

        Args:
            origin: where the sources come from.
            layer, head, query: as `figure` takes them.

        Raises:
            ArgumentError: there is no source, or nothing that it attended to; or the view can't be drawn.
        """
        record = self._record
        if record is None:
            raise ArgumentError(f"`--figure` draws a source, but {origin} has none.")
        if not record.items or not (record.layers or record.pooling):
            why = f"{record.model} attends to nothing" if record.items else f"there is no {record.noun} in it"
            raise ArgumentError(f"`--figure` draws what was attended to, but {why}. Leave it out.")
        # Checked again, because the command may have written another file of this name.
        self._check()
        save_figure(record, self.path, self.view, layer=layer, head=head, query=query)
        which_source = f", of the first source of {origin}" if self._sources > 1 else ""
        typer.echo(f"Wrote {self.path}{which_source}.", err=True)

    def write_chart(self, charts: "Sequence[Chart]") -> None:
        """Write the first chart of a report atomically, and print the file's name.

        Raises:
            ArgumentError: there is none.
        """
        if not charts:
            raise ArgumentError("`--figure` draws a chart of runs, but there are none. Leave it out, or run them.")
        self._check()
        save_chart(charts[0], self.path)
        typer.echo(f"Wrote {self.path}.", err=True)
