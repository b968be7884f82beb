"""A limit on the tensors that are created while the network of a saved model is built.

The description of a model may have been edited. A recipe with 10**9 layers would exhaust the memory before the network
could be compared with the tensors in the file.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

__all__ = ["Bounded", "TooLargeError"]

# Functions that create a tensor of a given size.
_OF_SIZE = (torch.empty, torch.zeros, torch.ones, torch.rand, torch.randn, torch.full)
_OF_NUMBERS = (torch.arange, torch.eye, torch.linspace)
# Building a network also creates tables, and may create a weight twice.
_TIMES, _MORE = 3, 1_000_000
# Each tensor also costs time, so it counts as this many additional numbers.
_EACH = 2_000


class TooLargeError(Exception):
    """The network would be larger than the tensors in the file."""


class Bounded(TorchFunctionMode):
    """A context in which no more tensors can be created than a network with tensors of these sizes needs.

    Args:
        sizes: the number of numbers in each tensor of the network.

    Example:
        >>> with Bounded([16]):
        ...     net = torch.nn.Linear(4, 4)
        ...     torch.nn.Linear(10**6, 10**6)
        Traceback (most recent call last):
            ...
        regard.modules.bounded.TooLargeError: it asks for more than the tensors that are there
    """

    def __init__(self, sizes: Iterable[int]):
        super().__init__()
        self.left = _TIMES * sum(size + _EACH for size in sizes) + _MORE

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _OF_SIZE:
            self._take(_numbers(kwargs.get("size", args[: 1 if args and isinstance(args[0], tuple | list) else None])))
        elif func in _OF_NUMBERS:
            self._take([number for number in args if isinstance(number, int)])
        return func(*args, **kwargs)

    def _take(self, size: list[int]) -> None:
        self.left -= math.prod(size) + _EACH
        if self.left < 0:
            raise TooLargeError("it asks for more than the tensors that are there")


def _numbers(size: Any) -> list[int]:
    """All numbers in a size such as (3, 4), ((3, 4),) or 3."""
    if isinstance(size, int):
        return [size]
    return [number for each in size for number in (_numbers(each) if not isinstance(each, int) else [each])]
