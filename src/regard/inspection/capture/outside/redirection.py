"""Calls of functions outside of PyTorch, led through PyTorch's function protocol for the duration of a block.

Such a function is replaced, in each loaded module that holds it, by one that asks the active modes first, as the
functions of PyTorch do. Without a mode, as in other threads, it calls the function and does nothing else.

Functions that only their own module calls are replaced there alone: looking through all modules takes as long as a
small model.
"""

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import handle_torch_function

from regard.attention.pytorch_internals import sees_calls
from regard.inspection.capture.call import AttentionCall
from regard.inspection.capture.outside import flash_attn, state_space, xformers

__all__ = ["outside_reader", "redirected"]

_READERS: dict[tuple[str, str], Callable[..., AttentionCall]] = {
    **flash_attn.READERS,
    **xformers.READERS,
    **state_space.READERS,
}
_OWN_READERS: dict[tuple[str, str], Callable[..., AttentionCall]] = state_space.OWN_READERS

_lock = threading.Lock()
_blocks = 0
# What stands in for each function, and what it stands in for.
_stand_ins: dict[Any, Any] = {}
# Of functions that only their own module calls: the module, the name, and what stood there.
_own: list[tuple[Any, str, Any]] = []


def outside_reader(stand_in: Any) -> Callable[..., AttentionCall] | None:
    """The reader of a function outside of PyTorch, as it reaches a mode; None if it is another function."""
    return getattr(stand_in, "_regard_reader", None)


@contextmanager
def redirected() -> Iterator[None]:
    """Lead calls of the functions of the table through the function protocol inside of the block."""
    global _blocks
    with _lock:
        if not _blocks:
            _stand_ins.update(_found())
            _exchange({id(original): stand_in for stand_in, original in _stand_ins.items()})
            _put_own()
        _blocks += 1
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if not _blocks:
                for module, name, original in _own:
                    setattr(module, name, original)
                _own.clear()
                # Modules that were imported inside of the block hold the stand-ins, too.
                _exchange({id(stand_in): original for stand_in, original in _stand_ins.items()})
                _stand_ins.clear()


def _found() -> dict[Any, Any]:
    """A stand-in for each function of the table whose module is loaded, with the function."""
    found: dict[Any, Any] = {}
    for (module, name), read in _READERS.items():
        original = getattr(sys.modules.get(module), name, None)
        # A package gives the functions of its modules again.
        if inspect.isfunction(original) and original not in found.values():
            found[_stand_in(original, read)] = original
    return found


def _put_own() -> None:
    for (module_name, name), read in _OWN_READERS.items():
        module = sys.modules.get(module_name)
        original = getattr(module, name, None)
        if inspect.isfunction(original):
            _own.append((module, name, original))
            setattr(module, name, _stand_in(original, read))


def _stand_in(original: Callable[..., Any], read: Callable[..., AttentionCall]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not sees_calls():
            return original(*args, **kwargs)
        tensors = [each for each in (*args, *kwargs.values()) if isinstance(each, torch.Tensor)]
        # By this name, so that a block around the one that sees it sees it, too.
        return handle_torch_function(call, tensors, *args, **kwargs)

    call._regard_reader = functools.partial(read, original)  # pyright: ignore[reportAttributeAccessIssue]
    return call


def _exchange(others: dict[int, Any]) -> None:
    """Put others in the place of some objects, by their ids, in all loaded modules."""
    if not others:
        return
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", None)
        if isinstance(names, dict):
            for name, value in list(names.items()):
                if id(value) in others:
                    names[name] = others[id(value)]
