"""Progress of a study or of one training: a bar with the time left on a terminal, lines elsewhere, or nothing."""

import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, track

from regard.lab.results import Run
from regard.tasks.training.progress import clock, resolve_progress

__all__ = ["RunProgress", "choose_run_progress", "progress_over"]

Step = TypeVar("Step")

_LINES = 10


class RunProgress:
    """Shows nothing; the base class of the others."""

    def note(self, text: str) -> None:
        """Tell the user something, in a sentence."""

    def done(self, run: Run) -> None:
        """A run is done."""

    @contextmanager
    def running(self, count: int, processes: int) -> Iterator[None]:
        """`count` runs are to be done, so many at a time."""
        yield


class _Lines(RunProgress):
    def __init__(self, console: Console):
        self._console = console

    def note(self, text: str) -> None:
        # Lines aren't wrapped, since a program may read them.
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def running(self, count: int, processes: int) -> Iterator[None]:
        self._count, self._done, self._start = count, 0, time.monotonic()
        self.note(f"{count} runs, {processes} at a time.")
        yield

    def done(self, run: Run) -> None:
        self._done += 1
        self.note(f"{self._done}/{self._count}  {_described(run)}  left {clock(self._left())}")

    def _left(self) -> float:
        # The variants take turns, so the mean of those that are done is a fair guess.
        return (time.monotonic() - self._start) / self._done * (self._count - self._done)


class _Bar(_Lines):
    @contextmanager
    def running(self, count: int, processes: int) -> Iterator[None]:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left {task.fields[left]}"),
            console=self._console,
            transient=True,
        )
        self._task = self._bar.add_task("runs", total=count, left="unknown")
        with self._bar, super().running(count, processes):
            yield

    def done(self, run: Run) -> None:
        super().done(run)
        self._bar.update(self._task, completed=self._done, left=clock(self._left()))


def _described(run: Run) -> str:
    if run.diverged:
        return f"{run.variant}, seed {run.seed}: diverged, {run.diverged}  {clock(run.seconds)}"
    measures = (f"{name} {value:.4g}" for name, value in run.measures.items() if isinstance(value, float))
    return f"{run.variant}, seed {run.seed}: {', '.join([*measures][:3])}  {clock(run.seconds)}"


def choose_run_progress(name: str) -> RunProgress:
    """The progress of this name, as `regard.tasks.training.progress.choose_progress`.

    Raises:
        UnknownNameError: there is none of this name.
    """
    console = Console(stderr=True)
    name = resolve_progress(name, console)
    return {"bar": _Bar, "lines": _Lines}[name](console) if name != "none" else RunProgress()


@contextmanager
def progress_over(steps: Iterable[Step], total: int, progress: str) -> Iterator[Iterator[Step]]:
    """The steps of one training, with its progress on standard error: a bar, ten lines, or nothing.

    Args:
        steps: the steps.
        total: their number.
        progress: as in `choose_run_progress`.

    Yields:
        the same steps.

    Raises:
        UnknownNameError: there is no progress of this name.

    Example:
        >>> with progress_over("abc", 3, "none") as steps:
        ...     print(*steps)
        a b c
    """
    console = Console(stderr=True)
    name = resolve_progress(progress, console)
    if name == "bar":
        passing = track(steps, "training", total=total, console=console, transient=True)
    else:
        passing = _in_lines(steps, total, console) if name == "lines" else iter(steps)
    try:
        yield iter(passing)
    finally:
        # Stop the bar before an error of a step is printed.
        if isinstance(passing, Generator):
            passing.close()


def _in_lines(steps: Iterable[Step], total: int, console: Console) -> Iterator[Step]:
    start = time.monotonic()
    for number, step in enumerate(steps, start=1):
        yield step
        if number * _LINES // total > (number - 1) * _LINES // total:
            elapsed = time.monotonic() - start
            text = f"step {number}/{total}  elapsed {clock(elapsed)}  left {clock(elapsed / number * (total - number))}"
            console.print(text, markup=False, highlight=False, soft_wrap=True)
