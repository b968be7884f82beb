"""One call of a function by the model that is watched: it runs once, whatever becomes of the look at it."""

from collections.abc import Callable
from typing import Any

__all__ = ["ModelCall"]


class ModelCall:
    """Runs the model's function, once.

    Args:
        func, args, kwargs: the function, and what the model called it with.

    Attributes:
        raised: whether the function raised an error, or a change that was asked for did.
    """

    def __init__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]):
        self._call = func, args, kwargs
        self._results: list[Any] = []
        self.raised = False

    def __call__(self) -> Any:
        """What the function returned; it runs the first time."""
        if not self._results:
            func, args, kwargs = self._call
            self._results.append(self._of_model(lambda: func(*args, **kwargs)))
        return self._results[0]

    def changed(self, change: Callable[[], Any]) -> Any:
        """What a change returns in place of the function; if that is None, what the function returns."""
        result = self._of_model(change)
        if result is None:
            return self()
        self._results.append(result)
        return result

    def _of_model(self, run: Callable[[], Any]) -> Any:
        try:
            return run()
        except BaseException:
            self.raised = True
            raise
