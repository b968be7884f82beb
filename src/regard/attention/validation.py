"""What a part may be given: numbers, counts, tensors of a form; whatever else is refused in a sentence."""

import numbers
from typing import Any

import torch
from torch import Tensor

from regard.errors import ArgumentError

__all__ = ["check_count", "check_heads", "check_number", "check_per_head", "check_tensor"]


def check_number(name: str, value: Any, instead: str = "") -> None:
    """Whether a parameter is a number. The gradient of a tensor would be lost without a word.

    Args:
        name: what the parameter is called.
        value: what was given.
        instead: what to do where it was meant to be trained.

    Raises:
        ArgumentError: it is none.
    """
    if isinstance(value, Tensor):
        raise ArgumentError(f"`{name}` must be a number, but is a tensor {tuple(value.shape)}. {instead}".rstrip())
    if not _is_number(value):
        raise ArgumentError(f"`{name}` must be a number, but is {value!r:.60}.")


def check_count(name: str, value: Any, meaning: str, least: int = 1) -> None:
    """Whether a parameter is a whole number, of things of which there must be so many.

    Raises:
        ArgumentError: it is none, or a smaller one.
    """
    whole = isinstance(value, numbers.Integral | torch.SymInt) and not isinstance(value, bool)
    if not whole or value < least:
        raise ArgumentError(f"`{name}` must be {meaning}, {least} or more, but is {value!r:.60}.")


def check_per_head(name: str, value: Any) -> None:
    """Whether a parameter is a number, or a tensor that holds one for all heads, (), or one for each, (head,).

    Raises:
        ArgumentError: it is neither.
    """
    if isinstance(value, Tensor):
        if value.ndim > 1:
            raise ArgumentError(f"`{name}` must be a number, () or (head,), but is {tuple(value.shape)}.")
        _check_real(name, value)
    elif not _is_number(value):
        raise ArgumentError(f"`{name}` must be a number, or a tensor () or (head,), but is {value!r:.60}.")


def check_tensor(name: str, value: Any, form: str, dims: tuple[int, ...]) -> None:
    """Whether a parameter is a tensor of real numbers that has one of these numbers of axes.

    Args:
        name: what the parameter is called.
        value: what was given.
        form: its axes, for people to read.
        dims: how many they may be.

    Raises:
        ArgumentError: it is none.
    """
    if not isinstance(value, Tensor):
        raise ArgumentError(
            f"`{name}` must be a tensor {form}, but is a {type(value).__name__}. "
            "torch.as_tensor makes one of lists and arrays."
        )
    if value.ndim not in dims:
        raise ArgumentError(f"`{name}` must be {form}, but is {tuple(value.shape)}.")
    _check_real(name, value)


def check_heads(heads: Any) -> None:
    """Whether a number of heads is one, or None.

    Raises:
        ArgumentError: it is neither.
    """
    if heads is not None:
        check_count("heads", heads, "how many heads there are")


def _check_real(name: str, value: Tensor) -> None:
    if value.is_complex() or value.dtype == torch.bool:
        raise ArgumentError(f"`{name}` must hold real numbers, but holds {value.dtype}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real | torch.SymFloat | torch.SymInt)
