"""Context managers for training: silence Fabric, exit on SIGTERM, explain errors."""

import contextlib
import errno
import logging
import signal
import threading
import warnings
from collections.abc import Iterator
from typing import Any

from regard.errors import RegardError
from regard.extras import require
from regard.tasks.training.run import RunFolder

__all__ = ["ended_by_sigterm", "explained_errors", "quiet_fabric"]


@contextlib.contextmanager
def quiet_fabric() -> Iterator[None]:
    """Hide the messages and advice of Fabric, which refer to its own API.

    Raises:
        MissingExtraError: Fabric isn't installed.
    """
    loggers = [logging.getLogger(name) for name in ("lightning_fabric", "lightning_utilities")]
    with warnings.catch_warnings():
        # Filtered by module, so that warnings from the user's code are still shown.
        warnings.filterwarnings("ignore", module=r"(lightning_fabric|lightning_utilities)(\.|$)")
        require("lightning_fabric", extra="train")
        before = [logger.level for logger in loggers]
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, before, strict=True):
                logger.setLevel(level)


@contextlib.contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end training in the same way as Ctrl-C, unless the program handles it already."""
    before = signal.getsignal(signal.SIGTERM)
    # Python returns None for a handler in C, such as that of a program that embeds Python.
    if threading.current_thread() is not threading.main_thread() or before != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end(number: int, _: Any) -> None:
    raise SystemExit(128 + number)


@contextlib.contextmanager
def explained_errors(run: RunFolder | None) -> Iterator[None]:
    """Explain what a full disk means for the run."""
    try:
        yield
    except OSError as error:
        if run is None or error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        kept = "The last good checkpoint is whole" if run.can_continue() else "There was no checkpoint yet"
        step = "go on by `resume` (--resume)" if run.begun() else "start the run anew"
        raise RegardError(
            f"The disk is full: the next checkpoint doesn't fit in {run.folder}. {kept}; make room, then {step}."
        ) from error
