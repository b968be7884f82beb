"""Where the commands write: the console that fits the terminal, pipe or file behind standard output."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress

from regard.cli.reading import Line
from regard.errors import ArgumentError
from regard.page.medium import NARROWEST

__all__ = ["output_console", "progress_over"]

# Less is done before a bar could be read.
_WORTH_A_BAR = 200_000


def output_console(*, width: int | None = None, colour: bool | None = None) -> Console:
    """Make a console for standard output.

    Args:
        width: the width in cells; None takes the terminal's, or COLUMNS, or 80.
        colour: None decides by the terminal, NO_COLOR and TERM; True and False insist.

    Raises:
        ArgumentError: `width` is less than 32.

    Example:
        >>> output_console(width=40, colour=False).width
        40
    """
    if width is not None and width < NARROWEST:
        raise ArgumentError(f"`--width` must be {NARROWEST} or more, but is {width}.")
    if colour:
        true = os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit")
        # An explicit wish outranks NO_COLOR: no-color.org asks for that.
        return Console(
            file=sys.stdout,
            width=width,
            force_terminal=True,
            no_color=False,
            color_system="truecolor" if true else "256",
            highlight=False,
        )
    if colour is False:
        return Console(file=sys.stdout, width=width, color_system=None, highlight=False)
    return Console(file=sys.stdout, width=width, highlight=False)


@contextmanager
def progress_over(path: str) -> Iterator[Callable[[Line], Line]]:
    """Show on standard error how much of a file is done, where that helps: on a terminal that nothing else writes to.

    Yields:
        a function to pass each line through.
    """
    size = os.path.getsize(path)
    if size < _WORTH_A_BAR or not sys.stderr.isatty() or sys.stdout.isatty():
        yield lambda line: line
        return
    with Progress(console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task("tagging", total=size)

        def passing(line: Line) -> Line:
            progress.advance(task, len(line.text.encode()) + 1)
            return line

        yield passing
