"""Tables as fields of a part: one that broadcasts to all pairs, or one with a row for all items or for each."""

import torch
from torch import Tensor

from regard.attention.sizes import Index
from regard.errors import ArgumentError

__all__ = ["check_broadcastable", "check_table", "entries", "table_indices"]


def check_broadcastable(table: Tensor, sizes: tuple[int | None, ...]) -> None:
    """Check that a table broadcasts to (batch, head, query, key); a size of None matches any.

    Raises:
        ArgumentError: it doesn't. A larger table doesn't either: it is unknown which part of it is meant.
    """
    wanted = sizes[-table.ndim :]
    if any(most not in (None, size) and size != 1 for size, most in zip(table.shape, wanted, strict=True)):
        said = ", ".join("any" if size is None else str(size) for size in wanted)
        raise ArgumentError(
            f"`table` must be broadcastable to (batch, head, query, key), here ({said}), but is {tuple(table.shape)}. "
            "If the queries are only the last ones, as with a cache, pass their rows of the table."
        )


def table_indices(table: Tensor, at: Index) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor, Tensor]]:
    """The table with all four axes, and the indices into each axis; for an axis of size 1 all indices are 0."""
    table = table[(None,) * (4 - table.ndim)]
    item, head, row, column = (
        torch.zeros_like(axis[..., :1, :1] if which < 2 else axis) if size == 1 else axis
        for which, (axis, size) in enumerate(zip((at.batch, at.whole_head, at.query, at.key), table.shape, strict=True))
    )
    return table, (item, head, row, column)


def entries(table: Tensor, item: Tensor, column: Tensor) -> Tensor:
    """The table's entries at these columns, in each item's own row or in the one for all items."""
    return table[0][column] if len(table) == 1 else table[item, column]


def check_table(table: Tensor, name: str, owner: str, batch: int, size: int, axis: str) -> None:
    """Check that a table has one row or a row for each item, and an entry for each query or key.

    Raises:
        ArgumentError: it hasn't.
    """
    if table.shape[1] != size:
        raise ArgumentError(f"`{name}` of {owner} must be one for each of {size} {axis}, but is {table.shape[1]}.")
    if len(table) not in (1, batch):
        raise ArgumentError(f"`{name}` of {owner} must be for one item or for all {batch}, but is for {len(table)}.")
