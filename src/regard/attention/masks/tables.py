"""Tables that masks hold: one row for all items, or one row for each."""

from typing import Any

import torch
from torch import Tensor

from regard.errors import ArgumentError

__all__ = ["check_table", "entries", "integer_tensor", "to_tensor"]


def entries(table: Tensor, item: Tensor, column: Tensor) -> Tensor:
    """The table's numbers at these columns, of each item's own row, or of the one that is for all."""
    return table[0][column] if len(table) == 1 else table[item, column]


def integer_tensor(value: Any, name: str, owner: str, meaning: str, dims: tuple[int, ...]) -> Tensor:
    """A field's value as integers of one of these numbers of dimensions.

    Raises:
        ArgumentError: it is none.
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
    """A field's value as a tensor.

    Raises:
        ArgumentError: it can't be one.
    """
    try:
        return value if isinstance(value, Tensor) else torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentError(f"`{name}` of {owner} must be {meaning}, but is {value!r:.60}.") from error


def check_table(table: Tensor, name: str, owner: str, batch: int, size: int, axis: str) -> None:
    """Whether a table has a row for each item, or one for all, and an entry for each query or key.

    Raises:
        ArgumentError: it has not.
    """
    if table.shape[1] != size:
        raise ArgumentError(f"`{name}` of {owner} must be one for each of {size} {axis}, but is {table.shape[1]}.")
    if len(table) not in (1, batch):
        raise ArgumentError(f"`{name}` of {owner} must be for one item or for all {batch}, but is for {len(table)}.")
