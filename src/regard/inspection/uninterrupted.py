"""Computations of the interception itself, which none of the blocks around it may take for the model's."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["is_uninterrupted", "uninterrupted"]

_UNINTERRUPTED: ContextVar[bool] = ContextVar("uninterrupted", default=False)


def is_uninterrupted() -> bool:
    """Whether such a computation is going on in this thread."""
    return _UNINTERRUPTED.get()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Nothing that is computed in this block is intercepted, not by the blocks around it either."""
    before = _UNINTERRUPTED.set(True)
    try:
        yield
    finally:
        _UNINTERRUPTED.reset(before)
