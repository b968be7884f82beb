"""The arguments of functions outside of PyTorch, by their names; and the window that two of them mean."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from regard.attention import Causal, Mask, Window

__all__ = ["given_arguments", "window_mask"]


def given_arguments(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], known: set[str]
) -> dict[str, Any]:
    """The arguments of a call by their names, where they differ from what the function takes without them.

    Raises:
        NotImplementedError: one of them isn't known, so that nothing can be said of the call.
    """
    signature = inspect.signature(function)
    bound = signature.bind(*args, **kwargs).arguments
    given = {name: value for name, value in bound.items() if not _is_default(value, signature.parameters[name].default)}
    unknown = [name for name in given if name not in known]
    if unknown:
        raise NotImplementedError(f"`{unknown[0]}` isn't read")
    return given


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (not isinstance(value, Tensor) and value == default)


def window_mask(before: int | None, after: int | None, queries: int, keys: int) -> Mask | None:
    """The mask of a window, None if it hides nothing.

    Args:
        before, after: how many keys before and after its own position a query may attend to; None: all of them.
        queries, keys: how many there are. The last query has the position of the last key.

    Example:
        >>> window_mask(None, 0, 3, 5), window_mask(2, None, 3, 5), window_mask(None, None, 3, 5)
        (Causal(), Window(before=2, after=8), None)
    """
    if before is None and after is None:
        return None
    if before is None and after == 0:
        return Causal()
    most = queries + keys
    return Window(most if before is None else before, most if after is None else after)
