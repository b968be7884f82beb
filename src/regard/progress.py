"""How far a long piece of work is, on standard error: a bar on a terminal, lines elsewhere, or nothing."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichBar

from regard.errors import UnknownNameError

__all__ = ["PROGRESS", "Progress", "choose_progress", "clock", "progress_over"]

Step = TypeVar("Step")

PROGRESS = ("auto", "bar", "lines", "none")
"""The names of ways to show progress; "auto" is a bar on a terminal, else lines."""

_LINES = 10


class Progress:
    """Shows sentences, and a bar while some work is done.

    Args:
        console: where they are shown; None: nowhere.
        has_bar: whether there is a bar.

    Example:
        >>> import sys
        >>> progress = Progress(Console(file=sys.stdout))
        >>> progress.start(3, "runs")
        >>> progress.note("The first of 3 runs is done.")
        The first of 3 runs is done.
        >>> progress.stop()
    """

    def __init__(self, console: Console | None = None, *, has_bar: bool = False):
        self._console, self.has_bar = console, has_bar and console is not None
        self._bar: RichBar | None = None

    @property
    def is_silent(self) -> bool:
        """Whether nothing is shown."""
        return self._console is None

    def note(self, text: str) -> None:
        """Tell the user something, in a sentence; it stands above the bar."""
        if self._console is not None:
            # Lines aren't wrapped, since a program may read them.
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def start(self, total: float, what: str, *, done: float = 0.0, counts: bool = False) -> None:
        """Work begins, or goes on.

        Args:
            total: how much there is to do, in any unit.
            what: what is done, such as "training".
            done: how much was done before.
            counts: whether the bar shows how much is done, instead of the percentage.
        """
        self._total, self._before, self._began = total, done, time.monotonic()
        self._warm: tuple[float, float] | None = None
        if self.has_bar:
            far = "{task.completed:.0f}/{task.total:.0f}" if counts else "{task.percentage:>3.0f} %"
            columns = (TextColumn("{task.description}"), BarColumn(), TextColumn(far), TimeElapsedColumn())
            self._bar = RichBar(*columns, TextColumn("left {task.fields[left]}"), console=self._console, transient=True)
            self._task = self._bar.add_task(what, total=total, left="unknown")
            self._bar.update(self._task, completed=done)
            self._bar.start()

    def move(self, done: float, what: str | None = None) -> None:
        """So much of the work is done; `what` is done now, if it is something else than before."""
        if self._warm is None and done > self._before:
            self._warm = time.monotonic(), done
        if self._bar is not None:
            left = clock(self.left(done)) if done > self._before else "unknown"
            self._bar.update(self._task, completed=done, description=what, left=left)

    @property
    def elapsed(self) -> float:
        """The seconds since the beginning."""
        return time.monotonic() - self._began

    def left(self, done: float) -> float:
        """The seconds that the rest will take at the mean speed since the first move, when so much is done.

        What comes before that move, such as loading libraries, happens once. Until the second move it counts, too.
        """
        began, before = self._began, self._before
        if self._warm is not None and done > self._warm[1]:
            began, before = self._warm
        return (time.monotonic() - began) / (done - before) * (self._total - done)

    def stop(self) -> None:
        """The work is over, one way or another."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def choose_progress(name: str) -> Progress:
    """The progress of this name, on standard error: standard output is for results.

    Raises:
        UnknownNameError: there is none of this name.

    Example:
        >>> choose_progress("none").is_silent
        True
    """
    if name not in PROGRESS:
        raise UnknownNameError("progress", str(name), PROGRESS)
    if name == "none":
        return Progress()
    console = Console(stderr=True)
    return Progress(console, has_bar=console.is_terminal if name == "auto" else name == "bar")


@contextmanager
def progress_over(steps: Iterable[Step], total: int, progress: str) -> Iterator[Iterator[Step]]:
    """The steps of one training, with its progress: a bar, ten lines, or nothing.

    Args:
        steps: the steps.
        total: their number.
        progress: as in `choose_progress`.

    Yields:
        the same steps.

    Raises:
        UnknownNameError: there is no progress of this name.

    Example:
        >>> with progress_over("abc", 3, "none") as steps:
        ...     print(*steps)
        a b c
    """
    shown = choose_progress(progress)
    shown.start(total, "training")
    try:
        yield _passing(steps, total, shown)
    finally:
        # Before an error of a step is printed.
        shown.stop()


def _passing(steps: Iterable[Step], total: int, shown: Progress) -> Iterator[Step]:
    for number, step in enumerate(steps, start=1):
        yield step
        shown.move(number)
        if not shown.has_bar and number * _LINES // total > (number - 1) * _LINES // total:
            times = f"elapsed {clock(shown.elapsed)}  left {clock(shown.left(number))}"
            shown.note(f"step {number}/{total}  {times}")


def clock(seconds: float) -> str:
    """Seconds as minutes and seconds.

    Example:
        >>> clock(61.5), clock(3600)
        ('1:01', '1:00:00')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
