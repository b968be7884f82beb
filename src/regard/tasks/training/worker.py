"""What a worker process does: it receives everything through a pipe, and ends with the first process."""

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
    """What a worker does from its beginning to its end.

    Args:
        given: what `processes.with_workers` packed.
        rank: which worker this is, from 1.
    """
    # What libraries print must not come between our words.
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
    # At once: nothing here is to be kept, and those that wait for this one hear of it by its end.
    os._exit(code)


def _say(words: BinaryIO, word: BaseException | None) -> None:
    """Tell the first that this worker is ready, or why it failed; a first that is gone needn't know."""
    told: Any = word
    if word is not None and not isinstance(word, RegardError):
        told = type(word).__name__, str(word), "".join(traceback.format_exception(word))
    with suppress(OSError):
        pickle.dump(told, words)
        words.flush()


def _end_with_the_first(folder: str) -> None:
    """Wait until the first process is gone, however it went, tidy up and end."""
    sys.stdin.buffer.read()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)
