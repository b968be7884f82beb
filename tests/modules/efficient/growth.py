"""How a computation grows with the length: its matrix products, its largest tensor, and what autograd keeps."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode


class Largest(TorchDispatchMode):
    """Keeps the size of the largest tensor that an operation gives; a subclass may count more in `see`."""

    def __init__(self) -> None:
        super().__init__()
        self.largest = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for each in result if isinstance(result, tuple | list) else [result]:
            if isinstance(each, Tensor):
                # An expanded tensor takes no memory.
                self.largest = max(self.largest, min(each.numel(), each.untyped_storage().nbytes() // each.itemsize))
        self.see(func.__name__.split(".")[0], args, result)
        return result

    def see(self, name: str, args: tuple[Any, ...], result: Any) -> None:
        """Called after each operation, with its name."""


def operations(approximation: nn.Module, length: int, **options: object) -> int:
    """Floating-point operations of the matrix products, forward and backward."""
    with FlopCounterMode(display=False) as counter:
        _output(approximation, length, options).sum().backward()
    return counter.get_total_flops()


def saved_bytes(approximation: nn.Module, length: int, **options: object) -> int:
    """Bytes of all tensors that the forward pass keeps for the backward pass, each storage counted once."""
    storages = {}

    def keep(tensor: Tensor) -> Tensor:
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        output = _output(approximation, length, options)
    del output
    return sum(storages.values())


def is_linear(cost: Callable[..., int], approximation: nn.Module, **options: object) -> bool:
    """Whether the cost is a straight line over the length: from 2048 to 4096 it grows twice as much as from 1024 on."""
    short, middle, long = (cost(approximation, length, **options) for length in (1024, 2048, 4096))
    return 0 < 1.95 * (middle - short) <= long - middle <= 2.05 * (middle - short)


def _output(approximation: nn.Module, length: int, options: dict[str, object]) -> Tensor:
    query, key, value = (torch.zeros(1, 2, length, 16, requires_grad=True) for _ in range(3))
    return approximation(query, key, value, **options)
