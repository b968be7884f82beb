"""Pairs asked of lists: for each row the columns that it may see, sorted, one row's behind the other's.

`starts` (row + 1) says where each row's columns begin in `columns`. All of it grows with the pairs, never with n x n.
"""

import torch
from torch import Tensor

__all__ = ["contains", "extents"]


def contains(starts: Tensor, columns: Tensor, row: Tensor, column: Tensor) -> Tensor:
    """Whether the lists hold these pairs: a bool tensor of the shape to which the two broadcast.

    A row beyond the lists has no columns.
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
    """Rows (..., row, 1) against sorted columns (column,): what the rows hold is marked, the rest never looked at."""
    counts = (stop - start).flatten()
    owner = torch.arange(counts.numel(), device=counts.device).repeat_interleave(counts)
    # Where an entry stands: so far into its row's list as it is behind the first of that row here.
    behind = torch.arange(owner.numel(), device=counts.device) - (counts.cumsum(0) - counts)[owner]
    column = columns[start.flatten()[owner] + behind]
    allowed = torch.zeros(counts.numel() * wanted.numel(), dtype=torch.bool, device=counts.device)
    if wanted.numel():
        slot = torch.searchsorted(wanted, column).clamp(max=wanted.numel() - 1)
        held = wanted[slot] == column
        allowed[(owner * wanted.numel() + slot)[held]] = True
    return allowed.view(*start.shape[:-1], wanted.numel())


def _searched(columns: Tensor, start: Tensor, stop: Tensor, wanted: Tensor) -> Tensor:
    """Each pair by halving its row's list until one entry is left."""
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
    """Per row its first column and the one after its last, and whether the rows hold all columns between."""
    first, end = starts[:-1], starts[1:]
    if not columns.numel():
        return torch.zeros_like(first), torch.zeros_like(first), True
    some = first < end
    start = columns[first.clamp(max=len(columns) - 1)] * some
    stop = (columns[(end - 1).clamp(min=0)] + 1) * some
    return start, stop, bool((stop - start == end - first).all())
