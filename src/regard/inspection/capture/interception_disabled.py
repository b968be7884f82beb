"""Switch the interception off for what it computes itself, so that no block around it takes that for the model's."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["interception_disabled", "is_interception_disabled"]

_DISABLED: ContextVar[bool] = ContextVar("disabled", default=False)

# Whether the interception is off in this thread: asked at each call of a function of PyTorch.
is_interception_disabled: Callable[[], bool] = _DISABLED.get


@contextmanager
def interception_disabled() -> Iterator[None]:
    """Intercept nothing inside of this block, in this thread; the blocks around it intercept nothing either."""
    before = _DISABLED.set(True)
    try:
        yield
    finally:
        _DISABLED.reset(before)
