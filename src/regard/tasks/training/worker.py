"""A worker process: it receives its input through a pipe, and ends when the first process does."""

import os
import pickle
import shutil
import sys
import threading
import traceback
from contextlib import suppress
from typing import Any, BinaryIO

from regard.errors import RegardError
from regard.tasks.training.rank import ProcessRank, meet

__all__ = ["begin"]


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
