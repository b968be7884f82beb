"""Tables that broadcast to all pairs, (batch, head, query, key): their check, and the indices to read them with."""

import torch
from torch import Tensor

from regard.attention.sizes import Index
from regard.errors import ArgumentError

__all__ = ["check_broadcastable", "table_indices"]


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
        for which, (axis, size) in enumerate(zip((at.batch, at.head, at.query, at.key), table.shape, strict=True))
    )
    return table, (item, head, row, column)
