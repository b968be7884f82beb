"""Tables of all pairs that exist already: up to four axes (batch, head, query, key), of which one of 1 is for all."""

import torch
from torch import Tensor

from regard.attention.sizes import Index
from regard.errors import ArgumentError

__all__ = ["check_broadcastable", "table_indices"]


def check_broadcastable(table: Tensor, sizes: tuple[int | None, ...]) -> None:
    """Whether a table broadcasts to (batch, head, query, key); a size of None may be any.

    Raises:
        ArgumentError: it doesn't. A larger one doesn't either: which part of it is meant can't be told.
    """
    wanted = sizes[-table.ndim :]
    if any(most not in (None, size) and size != 1 for size, most in zip(table.shape, wanted, strict=True)):
        said = ", ".join("any" if size is None else str(size) for size in wanted)
        raise ArgumentError(
            f"`table` must be broadcastable to (batch, head, query, key), here ({said}), but is {tuple(table.shape)}. "
            "Where queries are but the last ones, as with a cache, pass their rows."
        )


def table_indices(table: Tensor, at: Index) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor, Tensor]]:
    """The table with all four axes, and the indices into each; into an axis of 1 they are all 0."""
    table = table[(None,) * (4 - table.ndim)]
    item, head, row, column = (
        torch.zeros_like(axis[..., :1, :1] if which < 2 else axis) if size == 1 else axis
        for which, (axis, size) in enumerate(zip((at.batch, at.head, at.query, at.key), table.shape, strict=True))
    )
    return table, (item, head, row, column)
