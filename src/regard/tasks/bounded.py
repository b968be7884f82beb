"""Building a net of a file that may ask for anything: no more is made than the file's own tensors need.

A description is data, and may have been edited: a thousand million layers would take the memory of the machine before
they could be compared with the tensors that are there.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

__all__ = ["Bounded", "TooLargeError"]

# What makes a tensor of a size that is given.
_OF_SIZE = (torch.empty, torch.zeros, torch.ones, torch.rand, torch.randn, torch.full)
_OF_NUMBERS = (torch.arange, torch.eye, torch.linspace)
# A net makes tables beside its weights, and weights that are initialised twice.
_TIMES, _MORE = 3, 1_000_000
# Many small tensors take time, too: each counts as so many numbers more.
_EACH = 2_000


class TooLargeError(Exception):
    """More is asked for than the tensors that are there would need."""


class Bounded(TorchFunctionMode):
    """Within it, tensors are made only as far as a net of these tensors needs any.

    Args:
        tensors: those that the net will hold.

    Example:
        >>> with Bounded({"weight": torch.zeros(4, 4)}):
        ...     net = torch.nn.Linear(4, 4)
        ...     torch.nn.Linear(10**6, 10**6)
        Traceback (most recent call last):
            ...
        regard.tasks.bounded.TooLargeError: it asks for more than the tensors that are there
    """

    def __init__(self, tensors: Mapping[str, Tensor]):
        super().__init__()
        self.left = _TIMES * sum(tensor.numel() + _EACH for tensor in tensors.values()) + _MORE

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
    """The sizes of (3, 4), ((3, 4),) and 3."""
    if isinstance(size, int):
        return [size]
    return [number for each in size for number in (_numbers(each) if not isinstance(each, int) else [each])]
