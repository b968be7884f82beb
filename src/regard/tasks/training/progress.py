"""Progress of training: a bar with the time left on a terminal, a line an epoch elsewhere, or nothing."""

import time
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from regard.errors import UnknownNameError
from regard.tasks.measure import ACCURACY, Measure

__all__ = ["PROGRESS", "Bar", "Lines", "Silent", "choose_progress", "resolve_progress"]


class Silent:
    """Shows nothing. The base class of the others, with the methods that training calls, in this order."""

    def start(self, epochs: int, done: int, measure: Measure = ACCURACY) -> None:
        """Training starts, or continues after `done` epochs; models are chosen by this measure."""

    def batch(self, epochs: float) -> None:
        """A batch is done; `epochs` includes the finished fraction of the current epoch."""

    def epoch(self, row: Mapping[str, Any]) -> None:
        """An epoch is done; `row` is its line of the log."""

    def note(self, text: str) -> None:
        """Tell the user something, in a sentence."""

    def stop(self) -> None:
        """Training is over, one way or another."""


class Lines(Silent):
    """A plain line an epoch: for pipes, files and logs."""

    def __init__(self, console: Console):
        self._console = console

    def start(self, epochs: int, done: int, measure: Measure = ACCURACY) -> None:
        self._epochs, self._first, self._started, self._measure = epochs, done, time.monotonic(), measure

    def epoch(self, row: Mapping[str, Any]) -> None:
        elapsed = time.monotonic() - self._started
        left = elapsed / (row["epoch"] - self._first) * (self._epochs - row["epoch"])
        width = len(str(self._epochs))
        self.note(
            f"epoch {row['epoch']:>{width}}/{self._epochs}  {describe(row, self._measure)}  "
            f"elapsed {clock(row['seconds'])}  left {clock(left)}"
        )

    def note(self, text: str) -> None:
        # Lines aren't wrapped, since a program may read them.
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


class Bar(Lines):
    """A bar that moves with every batch, with the time left; the finished epochs stand above it."""

    def start(self, epochs: int, done: int, measure: Measure = ACCURACY) -> None:
        super().start(epochs, done, measure)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=False),
            console=self._console,
            transient=True,
        )
        self._task = self._bar.add_task("training", total=float(epochs))
        self._bar.update(self._task, completed=float(done))
        self._bar.start()

    def batch(self, epochs: float) -> None:
        number = min(int(epochs) + 1, self._epochs)
        self._bar.update(self._task, completed=epochs, description=f"epoch {number}/{self._epochs}")

    def stop(self) -> None:
        if hasattr(self, "_bar"):
            self._bar.stop()


def choose_progress(name: str) -> Silent:
    """The progress of this name; "auto" is a bar on a terminal, else lines.

    Raises:
        UnknownNameError: there is none of this name.

    Example:
        >>> type(choose_progress("none")).__name__
        'Silent'
    """
    # On standard error: standard output is for results.
    console = Console(stderr=True)
    name = resolve_progress(name, console)
    return {"bar": Bar, "lines": Lines}[name](console) if name != "none" else Silent()


def resolve_progress(name: str, console: Console) -> str:
    """What "auto" means on a console; other names are returned as they are.

    Raises:
        UnknownNameError: there is no progress of this name.
    """
    if name not in PROGRESS:
        raise UnknownNameError("progress", str(name), PROGRESS)
    if name == "auto":
        return "bar" if console.is_terminal else "lines"
    return name


PROGRESS = ("auto", "bar", "lines", "none")


def describe(row: Mapping[str, Any], measure: Measure) -> str:
    """A line of the log in words.

    Example:
        >>> describe({"loss": 0.5, "score": 0.9, "best": 0.95, "best_epoch": 2}, ACCURACY)
        'loss 0.5000  dev accuracy 90.00 %  best 95.00 % (epoch 2)'
    """
    said = measure.format
    return (
        f"loss {row['loss']:.4f}  dev {measure.name} {said(row['score'])}  "
        f"best {said(row['best'])} (epoch {row['best_epoch']})"
    )


def clock(seconds: float) -> str:
    """Seconds as minutes and seconds.

    Example:
        >>> clock(61.5), clock(3600)
        ('1:01', '1:00:00')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
