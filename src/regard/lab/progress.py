"""Progress of a study: a bar with the time left on a terminal, a line for each run elsewhere, or nothing."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from regard.errors import UnknownNameError
from regard.lab.results import Run
from regard.tasks.training.progress import PROGRESS, clock

__all__ = ["RunProgress", "choose_run_progress"]


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
    if name not in PROGRESS:
        raise UnknownNameError("progress", str(name), PROGRESS)
    console = Console(stderr=True)
    if name == "auto":
        name = "bar" if console.is_terminal else "lines"
    return {"bar": _Bar, "lines": _Lines}[name](console) if name != "none" else RunProgress()
