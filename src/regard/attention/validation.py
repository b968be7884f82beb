"""Checks of a part's parameters: numbers, counts, tensors of a given form."""

import inspect
import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import ArgumentError

__all__ = [
    "check_count",
    "check_heads",
    "check_non_negative",
    "check_number",
    "check_per_head",
    "check_takes",
    "check_tensor",
    "integer_tensor",
    "selected_rows",
    "to_tensor",
]


def check_number(name: str, value: Any, instead: str = "") -> None:
    """Check that a parameter is a number. A tensor is refused, since its gradient would silently be lost.

    Args:
        name: the parameter's name.
        value: what was given.
        instead: what to use if the parameter was meant to be trained.

    Raises:
        ArgumentError: it isn't a number.
    """
    if isinstance(value, Tensor):
        raise ArgumentError(f"`{name}` must be a number, but is a tensor {tuple(value.shape)}. {instead}".rstrip())
    if not _is_number(value):
        raise ArgumentError(f"`{name}` must be a number, but is {value!r:.60}.")


def check_non_negative(name: str, value: Any) -> None:
    """Check that an argument is a finite number, 0 or more.

    Raises:
        ArgumentError: it isn't a number, or it is negative, infinite or NaN.

    Example:
        >>> check_non_negative("weight", -1.0)
        Traceback (most recent call last):
            ...
        regard.errors.ArgumentError: `weight` must be a number, 0 or more, but is -1.0.
    """
    check_number(name, value)
    if not 0 <= value < math.inf:
        raise ArgumentError(f"`{name}` must be a number, 0 or more, but is {value}.")


def check_count(name: str, value: Any, meaning: str, least: int = 1) -> None:
    """Check that a parameter is an integer of at least `least`.

    Raises:
        ArgumentError: it isn't an integer, or is smaller.
    """
    is_integer = isinstance(value, numbers.Integral | torch.SymInt) and not isinstance(value, bool)
    if not is_integer or value < least:
        raise ArgumentError(f"`{name}` must be {meaning}, {least} or more, but is {value!r:.60}.")


def check_per_head(name: str, value: Any) -> None:
    """Check that a parameter is a number, or a tensor with one number for all heads, (), or for each head, (head,).

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
    """Check that a parameter is a tensor of real numbers with one of the given numbers of axes.

    Args:
        name: the parameter's name.
        value: what was given.
        form: its axes, as the error message names them.
        dims: the allowed numbers of axes.

    Raises:
        ArgumentError: it isn't.
    """
    if not isinstance(value, Tensor):
        raise ArgumentError(
            f"`{name}` must be a tensor {form}, but is a {type(value).__name__}. "
            "torch.as_tensor makes one of lists and arrays."
        )
    if value.ndim not in dims:
        raise ArgumentError(f"`{name}` must be {form}, but is {tuple(value.shape)}.")
    _check_real(name, value)


def integer_tensor(value: Any, name: str, owner: str, meaning: str, dims: tuple[int, ...]) -> Tensor:
    """An argument as an integer tensor with one of the given numbers of axes.

    Raises:
        ArgumentError: it isn't one.
    """
    tensor = to_tensor(value, name, owner, meaning)
    if not isinstance(value, Tensor) and not tensor.numel():
        tensor = tensor.long()
    if tensor.ndim not in dims or tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
        raise ArgumentError(
            f"`{name}` of {owner} must be {meaning}, but is {tensor.dtype} of shape {tuple(tensor.shape)}."
        )
    return tensor.long()


def to_tensor(value: Any, name: str, owner: str, meaning: str) -> Tensor:
    """An argument as a tensor; numbers that aren't one yet, on the CPU, whatever the default device.

    Raises:
        ArgumentError: it can't be converted.
    """
    try:
        return value if isinstance(value, Tensor) else torch.as_tensor(value, device="cpu")
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentError(f"`{name}` of {owner} must be {meaning}, but is {value!r:.60}.") from error


def check_takes(name: str, function: Callable[..., Any], arguments: Sequence[Any], form: str) -> None:
    """Check that a user's function takes the arguments that it is called with.

    It takes about 20 us, so it is called where a call raised TypeError, to tell whose mistake that is.

    Args:
        name: the argument of `attend` that the function was.
        function: the function.
        arguments: what it is called with.
        form: the arguments as the error message names them.

    Raises:
        ArgumentError: it takes fewer or more.
    """
    called = function.forward if isinstance(function, nn.Module) else function
    try:
        inspect.signature(called).bind(*arguments)
        return
    except ValueError:
        takes = "others"  # a function written in C has no signature
    except TypeError:
        takes = str(inspect.signature(called))
    own = getattr(function, "__name__", type(function).__name__)
    raise ArgumentError(
        f"`{name}` of your own must take {form}, but {own} takes {takes}. Write a function of these arguments, even if "
        "it needs only some of them."
    )


def check_heads(heads: Any) -> None:
    """Check that `heads` is a number of heads or None.

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


def selected_rows(rows: Sequence[int] | Tensor | None, queries: int, device: torch.device) -> Tensor | None:
    """The row numbers of queries as a tensor; None stays None.

    Raises:
        ArgumentError: they aren't integers, or there are no such queries.
    """
    if rows is None:
        return None
    # A list is checked where it is, so that a GPU isn't waited for.
    selected = torch.as_tensor(rows, device=rows.device if isinstance(rows, Tensor) else "cpu")
    if not selected.numel():  # an empty list has no dtype
        return selected.reshape(-1).to(device, torch.long)
    if selected.ndim != 1 or selected.is_floating_point() or selected.dtype == torch.bool:
        raise ArgumentError(
            f"`rows` must be a list of query numbers, but is {selected.dtype} of shape {tuple(selected.shape)}."
        )
    if not 0 <= int(selected.min()) <= int(selected.max()) < queries:
        raise ArgumentError(
            f"`rows` must be numbers of queries from 0 to {queries - 1}, "
            f"but they range from {int(selected.min())} to {int(selected.max())}."
        )
    return selected.to(device, torch.long)
