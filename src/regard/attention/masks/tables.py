"""Tables in masks, with one row for all items or a row for each, and the checks of masks' arguments."""

from typing import Any

import torch
from torch import Tensor

from regard.errors import ArgumentError

__all__ = ["check_table", "entries", "integer_tensor", "to_tensor"]


def entries(table: Tensor, item: Tensor, column: Tensor) -> Tensor:
    """The table's entries at these columns, in each item's own row or in the one for all items."""
    return table[0][column] if len(table) == 1 else table[item, column]


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
    """An argument as a tensor.

    Raises:
        ArgumentError: it can't be converted.
    """
    try:
        return value if isinstance(value, Tensor) else torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentError(f"`{name}` of {owner} must be {meaning}, but is {value!r:.60}.") from error


def check_table(table: Tensor, name: str, owner: str, batch: int, size: int, axis: str) -> None:
    """Check that a table has one row or a row for each item, and an entry for each query or key.

    Raises:
        ArgumentError: it hasn't.
    """
    if table.shape[1] != size:
        raise ArgumentError(f"`{name}` of {owner} must be one for each of {size} {axis}, but is {table.shape[1]}.")
    if len(table) not in (1, batch):
        raise ArgumentError(f"`{name}` of {owner} must be for one item or for all {batch}, but is for {len(table)}.")
