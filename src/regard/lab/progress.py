"""Progress of a study: a line a run, and a bar."""

from collections.abc import Iterator
from contextlib import contextmanager

from regard.lab.results import Run
from regard.progress import Progress, clock

__all__ = ["RunProgress"]


class RunProgress:
    """Shows which runs of a study are done.

    Args:
        shown: how it is shown.
    """

    def __init__(self, shown: Progress):
        self._shown = shown

    def note(self, text: str) -> None:
        """Tell the user something, in a sentence."""
        self._shown.note(text)

    @contextmanager
    def running(self, count: int, processes: int) -> Iterator[None]:
        """`count` runs are to be done, so many at a time."""
        self._count, self._done = count, 0
        self.note(f"{count} runs, {processes} at a time.")
        self._shown.start(count, "runs", counts=True)
        try:
            yield
        finally:
            self._shown.stop()

    def done(self, run: Run) -> None:
        """A run is done."""
        self._done += 1
        # The variants take turns, so the mean of those that are done is a fair guess.
        left = clock(self._shown.left(self._done))
        self.note(f"{self._done}/{self._count}  {_described(run)}  left {left}")
        self._shown.move(self._done)


def _described(run: Run) -> str:
    if run.diverged:
        return f"{run.variant}, seed {run.seed}: diverged, {run.diverged}  {clock(run.seconds)}"
    measures = (f"{name} {value:.4g}" for name, value in run.measures.items() if isinstance(value, float))
    return f"{run.variant}, seed {run.seed}: {', '.join([*measures][:3])}  {clock(run.seconds)}"
