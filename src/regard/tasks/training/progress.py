"""Progress of training: lines for epochs, and a bar that moves with every batch."""

from collections.abc import Mapping
from typing import Any

from regard.progress import Progress, clock
from regard.tasks.judging.measure import ACCURACY, Measure

__all__ = ["TrainingProgress"]

_EVERY = 10  # epochs
_SECONDS = 5.0


class TrainingProgress:
    """Shows what training says of itself, by these methods in this order.

    Args:
        shown: how it is shown; by default not at all.
    """

    def __init__(self, shown: Progress | None = None):
        self._shown = Progress() if shown is None else shown

    def start(self, epochs: int, done: int, measure: Measure = ACCURACY) -> None:
        """Training starts, or continues after `done` epochs; models are chosen by this measure."""
        self._epochs, self._measure = epochs, measure
        self._last, self._told = done, 0.0
        self._shown.start(epochs, "training", done=done)

    def batch(self, epochs: float) -> None:
        """A batch is done; `epochs` includes the finished fraction of the current epoch."""
        self._shown.move(epochs, f"epoch {min(int(epochs) + 1, self._epochs)}/{self._epochs}")

    def epoch(self, row: Mapping[str, Any]) -> None:
        """An epoch is done; `row` is its line of the log.

        It is shown if it is the first, the best so far or the last, and else after ten epochs or five seconds: a small
        training has a hundred epochs of milliseconds, of which few say anything.
        """
        number = row["epoch"]
        best, ends = row["best_epoch"] == number, number in (1, self._epochs)
        if not (best or ends or number - self._last >= _EVERY or row["seconds"] - self._told >= _SECONDS):
            return
        self._last, self._told = number, row["seconds"]
        width = len(str(self._epochs))
        self.note(
            f"epoch {row['epoch']:>{width}}/{self._epochs}  {describe(row, self._measure)}  "
            f"elapsed {clock(row['seconds'])}  left {clock(self._shown.left(row['epoch']))}"
        )

    def note(self, text: str) -> None:
        """Tell the user something, in a sentence."""
        self._shown.note(text)

    def stop(self) -> None:
        """Training is over, one way or another."""
        self._shown.stop()


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
