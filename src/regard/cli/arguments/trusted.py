"""Loading models for commands: `--trust-edits` says whether one that was edited is loaded, too."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["edits_trusted", "load"]

_TRUSTED = ContextVar("trusted", default=False)


@contextmanager
def edits_trusted(trusted: bool) -> Iterator[None]:
    """Whether models that were edited since they were saved are loaded inside the block."""
    token = _TRUSTED.set(trusted)
    try:
        yield
    finally:
        _TRUSTED.reset(token)


def load(name: str) -> Any:
    """Load a model as `regard.load` does, for a command.

    Raises:
        RegardError: there is none, or it can't be used.
    """
    # Imported here because it imports torch, which --help doesn't need.
    from regard import tasks

    return tasks.load(name, edited=_TRUSTED.get())
