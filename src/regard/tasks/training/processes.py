"""Several processes of this machine that train one model: the first starts the workers, hears them and ends them.

The first is the one that was asked to train; its workers are fresh interpreters that get what learns through a pipe.
They are no forks: where OpenMP had run on several threads, a fork waits for those for ever. And neither Python's own
spawn nor lightning's launchers begin them: both run the user's script again.
"""

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch

from regard.errors import ArgumentError, RegardError
from regard.tasks.training.rank import ProcessRank, meet

__all__ = ["with_workers"]

# A worker reads everything before it imports anything, so that the first needn't wait to hand it over.
_BEGIN = """
import sys
given = sys.stdin.buffer.read(int(sys.argv[1]))
from regard.tasks.training.worker import begin
begin(given, int(sys.argv[2]))
"""


@contextmanager
def with_workers(devices: int, work: Callable[..., None], *arguments: Any) -> Iterator[ProcessRank]:
    """Begin the workers, each of which runs `work(process, *arguments)`; when the block is left, they have ended.

    Args:
        devices: how many processes there are, with this one.
        work: a function of a module.
        arguments: what it gets after its `ProcessRank`; everything must be picklable.

    Raises:
        ArgumentError: the arguments can't be handed to another process.
        RegardError: a worker failed, or was killed: its reason, instead of what that led to here.

    Example:
        >>> with with_workers(1, print) as process:
        ...     process.rank, process.devices
        (0, 1)
    """
    if devices == 1:
        yield ProcessRank()
        return
    if torch.distributed.is_initialized():
        raise ArgumentError(f"`devices` must be 1 in a process that is one of a group already, but is {devices}.")
    workers: list[_Worker] = []
    # A group puts its own in its stead, and leaves it there.
    hook = sys.excepthook
    with tempfile.TemporaryDirectory(prefix="regard-", ignore_cleanup_errors=True) as folder:
        meeting = (Path(folder) / "meeting").as_uri()
        given = _packed(devices, folder, meeting, work, arguments)

        def join() -> None:
            for worker in workers:
                worker.ready()
            meet(meeting, 0, devices)

        try:
            for rank in range(1, devices):
                workers.append(_Worker(given, rank, devices))  # noqa: PERF401, as those before must be ended too
            yield ProcessRank(0, devices, join)
        except RuntimeError:
            # So gloo says that another process is gone.
            if (reason := _reason(workers)) is not None:
                raise reason from None
            raise
        finally:
            for worker in workers:
                worker.end()
            if torch.distributed.is_initialized():
                torch.distributed.destroy_process_group()
            sys.excepthook = hook


class _Worker:
    """One of the other processes, as the first sees it."""

    def __init__(self, given: bytes, rank: int, devices: int):
        self._name = f"Process {rank + 1} of {devices}"
        self._process = subprocess.Popen(
            # -P: what happens to lie in the working folder is no module of ours.
            [sys.executable, "-P", "-c", _BEGIN, str(len(given)), str(rank)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            # Ctrl-C in a terminal is for the first alone, which ends the others.
            start_new_session=True,
        )
        self._to: Any = self._process.stdin
        self._from: Any = self._process.stdout
        # It may have ended already; `ready` will hear of that.
        with suppress(OSError):
            self._to.write(given)
            self._to.flush()

    def ready(self) -> None:
        """Wait until it is ready to train.

        Raises:
            RegardError: it failed.
        """
        if (failure := self._hear()) is not None:
            raise failure

    def failure(self, seconds: float) -> RegardError | None:
        """Why it failed, if it ends within this time."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return self._hear() if code else None

    def end(self) -> None:
        """End it: its work is done, or in vain."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._to, self._from):
            with suppress(OSError):
                pipe.close()

    def _hear(self) -> RegardError | None:
        """Its next word: None when it is ready, else why it failed."""
        try:
            word = pickle.load(self._from)
        except (EOFError, pickle.UnpicklingError):
            code = self._process.wait()
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            return RegardError(
                f"{self._name} was ended {how}, so training stopped. If memory is short, take fewer `devices` or a "
                "smaller `batch_items`."
            )
        if isinstance(word, tuple):
            kind, said, trace = word
            word = RegardError(f"{self._name} failed, so training stopped: {kind}: {said}")
            word.add_note(trace)
        return word


def _packed(devices: int, *given: Any) -> bytes:
    """Everything that a worker needs. It goes through a pipe to a process of our own, and never into a file."""
    try:
        return pickle.dumps((devices, *given))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ArgumentError(
            f"`devices` must be 1 for what can't be handed to another process, but is {devices}: {error}."
        ) from error


def _reason(workers: list[_Worker]) -> RegardError | None:
    """Why training can't go on: of what the workers that ended say, the one that isn't itself a consequence."""
    failures = [failure for worker in workers if (failure := worker.failure(seconds=2.0)) is not None]
    return min(failures, key=lambda failure: "RuntimeError" in str(failure), default=None)
