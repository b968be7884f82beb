"""Output of the commands: a console that suits the terminal, pipe or file behind standard output."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console

from regard.cli.answering.reading import Line
from regard.errors import ArgumentError
from regard.page.terminal import NARROWEST
from regard.progress import Progress

__all__ = ["output_console", "progress_of", "progress_over"]

# In seconds: less is over before anybody has read a progress bar.
_WORTH_A_BAR = 5.0
# Each line is padded to the width.
_WIDEST = 10_000


def output_console(*, width: int | None = None, colour: bool | None = None) -> Console:
    """Make a console for standard output.

    Args:
        width: the width in cells; None takes the terminal's, or COLUMNS, or 80.
        colour: None decides by the terminal, NO_COLOR and TERM; True and False insist.

    Raises:
        ArgumentError: `width` is less than 32, or more than 10,000.

    Example:
        >>> output_console(width=40, colour=False).width
        40
    """
    if width is not None and width < NARROWEST:
        raise ArgumentError(f"`--width` must be {NARROWEST} or more, but is {width}.")
    if width is not None and width > _WIDEST:
        raise ArgumentError(f"`--width` must be {_WIDEST:,} or less, but is {width}.")
    if colour:
        true = os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit")
        # An explicit option overrides NO_COLOR, as no-color.org recommends.
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
def progress_over(
    lines: Iterable[Line], total: int, doing: str, *, in_bytes: bool, least: int, quiet: bool = False
) -> Iterator[Iterator[Line]]:
    """Show a progress bar on standard error, if that is a terminal that nothing else writes to.

    Args:
        lines: the lines to process.
        total: the number of lines, or the size of their file in bytes.
        doing: a verb for the work, such as "tagging".
        in_bytes: whether `total` is in bytes.
        least: the smallest total for which there is a bar; smaller ones are done before it could be read.
        quiet: whether nothing is printed meanwhile.

    Yields:
        the same lines.
    """
    if total < least or not sys.stderr.isatty() or (sys.stdout.isatty() and not quiet):
        yield iter(lines)
        return
    progress = Progress(Console(stderr=True), has_bar=True)

    def passing() -> Iterator[Line]:
        done = 0
        for line in lines:
            done += len(line.text.encode()) + 1 if in_bytes else 1
            progress.move(done)
            yield line

    progress.start(total, doing)
    try:
        yield passing()
    finally:
        progress.stop()


@contextmanager
def progress_of(doing: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on standard error, if that is a terminal, for work that will take more than some seconds.

    Args:
        doing: a verb for the work, such as "making the page".

    Yields:
        what is called with how much is done, and of how much.
    """
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    progress, begin, started = Progress(Console(stderr=True), has_bar=True), time.monotonic(), False

    def show(done: int, total: int) -> None:
        nonlocal started
        if started:
            progress.move(done)
        elif (time.monotonic() - begin) / max(1, done) * total > _WORTH_A_BAR:
            progress.start(total, doing, done=done)
            started = True

    try:
        yield show
    finally:
        progress.stop()
