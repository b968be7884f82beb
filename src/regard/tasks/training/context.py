"""Context managers around training: restore global settings, silence lightning, explain errors."""

import contextlib
import errno
import logging
import signal
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from regard.errors import ArgumentError, RegardError
from regard.extras import require
from regard.tasks.training.run import RunFolder

__all__ = ["MATMUL", "explained_errors", "interruptible", "restored_settings", "silenced_lightning"]

MATMUL = ("highest", "high", "medium")
"""How exactly float32 matrices may be multiplied, as `torch.set_float32_matmul_precision` has it."""


@contextlib.contextmanager
def restored_settings(threads: int, matmul: str | None) -> Iterator[None]:
    """Run with so many threads and such products of matrices; leave both and the random generators as they were."""
    before = torch.get_num_threads()
    with torch.random.fork_rng(), _multiplied(matmul):
        torch.set_num_threads(threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)


@contextlib.contextmanager
def _multiplied(matmul: str | None) -> Iterator[None]:
    """Multiply float32 matrices with this precision; None: as PyTorch is set, whichever way that was."""
    if matmul is None:
        yield
        return
    try:
        before = torch.get_float32_matmul_precision()
    except RuntimeError as error:
        raise ArgumentError(
            f"`matmul` must be None where `torch.backends` says how matrices are multiplied, but is {matmul!r}."
        ) from error
    # One that says nothing of its own follows what is said for all of them; it must do so again.
    backends: Any = (torch.backends.cuda, torch.backends.mkldnn)
    own = [backend.matmul.fp32_precision for backend in backends]
    torch.set_float32_matmul_precision(matmul)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
        for backend, precision in zip(backends, own, strict=True):
            backend.matmul.fp32_precision = precision


@contextlib.contextmanager
def silenced_lightning() -> Iterator[None]:
    """Keep lightning's messages and advice, which speak of its API and not of ours, from the user."""
    loggers = [logging.getLogger(name) for name in ("lightning", "lightning.pytorch", "lightning.fabric")]
    with warnings.catch_warnings():
        # By whom they come from, not by what they say; a warning of the user's own code still shows.
        warnings.filterwarnings("ignore", module=r"(lightning|torchmetrics|lightning_utilities)(\.|$)")
        warnings.filterwarnings("ignore", message=".*LeafSpec.*")
        require("lightning.pytorch", extra="train")
        before = [logger.level for logger in loggers]
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, before, strict=True):
                logger.setLevel(level)


@contextlib.contextmanager
def interruptible(trainer: Any) -> Iterator[None]:
    """Let Ctrl-C be KeyboardInterrupt: lightning makes it an exit with status 1, and ignores it ever after."""
    main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if main else None
    try:
        yield
    except SystemExit as stop:
        if trainer.interrupted and isinstance(stop.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise
    finally:
        if main and handler is not None:
            signal.signal(signal.SIGINT, handler)


@contextlib.contextmanager
def explained_errors(run: RunFolder | None) -> Iterator[None]:
    """Say what a full disk means for the run."""
    try:
        yield
    except OSError as error:
        if run is None or error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        kept = "The last good checkpoint is whole" if run.can_continue() else "There was no checkpoint yet"
        step = "go on by `resume` (--resume)" if run.begun() else "start the run anew"
        raise RegardError(
            f"The disk is full: {run.folder} can't take the next checkpoint. {kept}; make room, then {step}."
        ) from error
