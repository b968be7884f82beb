"""Lookup of pairs in CSR lists: the columns of each row, sorted, in one tensor.

`starts` (row + 1) says where the columns of each row begin in `columns`. Memory and time grow with the pairs.
"""

import torch
from torch import Tensor

__all__ = ["contains", "extents"]


def contains(starts: Tensor, columns: Tensor, row: Tensor, column: Tensor) -> Tensor:
    """Whether the lists contain these pairs: a bool tensor of the shape to which `row` and `column` broadcast.

    Rows out of range have no columns.
    """
    rows = len(starts) - 1
    if not rows:
        return torch.zeros_like(row + column, dtype=torch.bool)
    there = (row >= 0) & (row < rows)
    row = torch.where(there, row, 0)
    start = starts[row]
    stop = torch.where(there, starts[row + 1], start)
    grid = row.ndim > 1 and column.ndim == row.ndim and row.shape[-1] == 1 and column.numel() == column.shape[-1]
    if grid and bool((column.flatten().diff() > 0).all()):
        return _marked(columns, start, stop, column.flatten())
    return _searched(columns, start, stop, column)


def _marked(columns: Tensor, start: Tensor, stop: Tensor, wanted: Tensor) -> Tensor:
    """Rows (..., row, 1) against sorted columns (column,): the entries of the rows are marked in a table of zeros."""
    counts = (stop - start).flatten()
    owner = torch.arange(counts.numel(), device=counts.device).repeat_interleave(counts)
    # An entry's offset in its row is its number minus that of the row's first entry here.
    behind = torch.arange(owner.numel(), device=counts.device) - (counts.cumsum(0) - counts)[owner]
    column = columns[start.flatten()[owner] + behind]
    allowed = torch.zeros(counts.numel() * wanted.numel(), dtype=torch.bool, device=counts.device)
    if wanted.numel():
        slot = torch.searchsorted(wanted, column).clamp(max=wanted.numel() - 1)
        held = wanted[slot] == column
        allowed[(owner * wanted.numel() + slot)[held]] = True
    return allowed.view(*start.shape[:-1], wanted.numel())


def _searched(columns: Tensor, start: Tensor, stop: Tensor, wanted: Tensor) -> Tensor:
    """Each pair by binary search in its row."""
    start, stop, wanted = torch.broadcast_tensors(start, stop, wanted)
    if not columns.numel() or not wanted.numel():
        return torch.zeros_like(wanted, dtype=torch.bool)
    end = stop
    for _ in range(int((stop - start).max()).bit_length()):
        middle = (start + stop) // 2
        before = columns[middle.clamp(max=len(columns) - 1)] < wanted
        left = start < stop
        start = torch.where(left & before, middle + 1, start)
        stop = torch.where(left & ~before, middle, stop)
    return (start < end) & (columns[start.clamp(max=len(columns) - 1)] == wanted)


def extents(starts: Tensor, columns: Tensor) -> tuple[Tensor, Tensor, bool]:
    """The first column of each row and the one after its last, and whether the rows are contiguous."""
    first, end = starts[:-1], starts[1:]
    if not columns.numel():
        return torch.zeros_like(first), torch.zeros_like(first), True
    some = first < end
    start = columns[first.clamp(max=len(columns) - 1)] * some
    stop = (columns[(end - 1).clamp(min=0)] + 1) * some
    return start, stop, bool((stop - start == end - first).all())
