"""Training in several processes on one machine: the first starts the workers, receives their errors and ends them.

The first process is the one that called `train`. The workers are new interpreters, which receive the objective through
a pipe. A fork would hang if OpenMP had used several threads before; Python's spawn and Lightning's launchers would run
the user's script again. A worker ends when the first process does.
"""

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import torch

from regard.errors import ArgumentError, LostRankError, RegardError
from regard.tasks.training.rank import ProcessRank, leaving_group, meet

__all__ = ["begin", "with_workers"]

# A worker reads its input before it imports anything, so that the first process needn't wait while sending it.
_BEGIN = """
import sys
given = sys.stdin.buffer.read(int(sys.argv[1]))
from regard.tasks.training.processes import begin
begin(given, int(sys.argv[2]))
"""


@contextmanager
def with_workers(devices: int, work: Callable[..., None], *arguments: Any) -> Iterator[ProcessRank]:
    """Start the workers, each of which runs `work(process, *arguments)`, and end them when the block is left.

    Args:
        devices: the number of processes, including this one.
        work: a function at the top level of a module.
        arguments: its arguments after the `ProcessRank`; they must be picklable.

    Raises:
        ArgumentError: the arguments can't be pickled, or this process is in a group already.
        RegardError: a worker failed or was killed; the message gives its reason.

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
    # Outermost: the group is left after the workers have ended, so that nothing waits for them.
    with leaving_group(), tempfile.TemporaryDirectory(prefix="regard-", ignore_cleanup_errors=True) as folder:
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
        except (RuntimeError, LostRankError):
            # gloo raises a RuntimeError when another process has ended.
            if (reason := _reason(workers)) is not None:
                raise reason from None
            raise
        finally:
            for worker in workers:
                worker.end()


class _Worker:
    """A worker process, as seen from the first process."""

    def __init__(self, given: bytes, rank: int, devices: int):
        self._name = f"Process {rank + 1} of {devices}"
        self._process = subprocess.Popen(
            # -P: files in the working folder must not be imported as modules.
            [sys.executable, "-P", "-c", _BEGIN, str(len(given)), str(rank)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            # Ctrl-C in a terminal reaches only the first process, which ends the others.
            start_new_session=True,
        )
        self._to: Any = self._process.stdin
        self._from: Any = self._process.stdout
        # The worker may have ended already; `ready` reports that.
        with suppress(OSError):
            self._to.write(given)
            self._to.flush()

    def ready(self) -> None:
        """Wait until the worker is ready to train.

        Raises:
            RegardError: the worker failed.
        """
        if (failure := self._hear()) is not None:
            raise failure

    def failure(self, seconds: float) -> RegardError | None:
        """The reason why the worker failed, if it ends within this time."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return self._hear() if code else None

    def end(self) -> None:
        """Kill the worker: its work is done, or no longer needed."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._to, self._from):
            with suppress(OSError):
                pipe.close()

    def _hear(self) -> RegardError | None:
        """Receive the next message of the worker: None if it is ready, else the reason why it failed."""
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
    """The input of a worker, pickled; it goes through a pipe to a child process, and never into a file."""
    try:
        return pickle.dumps((devices, *given))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ArgumentError(
            f"`devices` must be 1 if something can't be pickled for another process, but is {devices}: {error}."
        ) from error


def _reason(workers: list[_Worker]) -> RegardError | None:
    """The reason of the first failure; a RuntimeError in a worker is usually a consequence of another's end."""
    failures = [failure for worker in workers if (failure := worker.failure(seconds=2.0)) is not None]
    return min(failures, key=_is_consequence, default=None)


def _is_consequence(failure: RegardError) -> bool:
    return isinstance(failure, LostRankError) or "RuntimeError" in str(failure)


def begin(given: bytes, rank: int) -> None:
    """Run a worker from start to end.

    Args:
        given: the input that `processes.with_workers` pickled.
        rank: the number of this worker, from 1.
    """
    # Output that libraries print must not mix with the messages to the first process.
    words = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    code = 1
    try:
        devices, folder, meeting, work, arguments = pickle.loads(given)
        threading.Thread(target=_end_with_the_first, args=(folder,), daemon=True).start()

        def join() -> None:
            _say(words, None)
            meet(meeting, rank, devices)

        work(ProcessRank(rank, devices, join), *arguments)
        code = 0
    except BaseException as error:
        _say(words, error)
    # Exit without cleaning up: the other processes notice the end of this one by its closed connections.
    os._exit(code)


def _say(words: BinaryIO, word: BaseException | None) -> None:
    """Tell the first process that this worker is ready, or why it failed; ignore it if that process has ended."""
    told: Any = word
    if word is not None and not isinstance(word, RegardError):
        told = type(word).__name__, str(word), "".join(traceback.format_exception(word))
    with suppress(OSError):
        pickle.dump(told, words)
        words.flush()


def _end_with_the_first(folder: str) -> None:
    """Wait until the first process has ended for any reason, then delete the folder and exit."""
    sys.stdin.buffer.read()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)
