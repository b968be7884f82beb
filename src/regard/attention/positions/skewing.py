"""Skewing: from one number for each distance to one for each pair, and back, by strided views instead of index tables.

In a tile of contiguous rows and columns, the pair in row r and column c has the offset first_offset + c - r. So all
rows hold the same line of numbers, row r shifted by r to the left. If lines of length L are stored one after the other
and read with a stride of L - 1, each row is shifted by one against the row above. No index is computed, and the inverse
is the same view, written instead of read. Music Transformer (Huang et al. 2018, arXiv 1809.04281) calls this skewing.

If the columns aren't contiguous, the numbers are gathered by index.
"""

import torch
from torch import Tensor
from torch.nn import functional

from regard.attention.sizes import Index

__all__ = [
    "diagonal_sums",
    "expand_offsets",
    "line_offsets",
    "offset_products",
    "skew",
    "sum_by_index",
    "sum_by_offset",
    "sum_in_order",
    "unskew",
]

_SHORT = 16  # a line counts as short if it is at most this many times as long as the table


def line_offsets(at: Index, rows: int, columns: int) -> Tensor | None:
    """The distances of a line of `rows + columns` numbers, (1 or group, 1, rows + columns).

    None if the tile isn't contiguous.
    """
    if at.first_offset is None:
        return None
    return at.first_offset + torch.arange(1 - rows, columns + 1, device=at.key.device).view(1, 1, -1)


def skew(lines: Tensor) -> Tensor:
    """A tile from its lines: (group, row, row + column) to (group, row, column), as a view if the lines are contiguous.

    Example:
        >>> skew(torch.tensor([[[1, 2, 3, 4, 0], [1, 2, 3, 4, 0]]]))[0]
        tensor([[2, 3, 4],
                [1, 2, 3]])
    """
    groups, rows, length = lines.shape
    flat = lines.reshape(groups, rows * length)
    return flat[:, rows - 1 : rows * length - 1].unflatten(1, (rows, length - 1))[..., : length - rows]


def unskew(tile: Tensor) -> Tensor:
    """The lines of a tile, with zeros at distances that a row doesn't have; the transpose of `skew`.

    Example:
        >>> unskew(torch.tensor([[[2, 3, 4], [1, 2, 3]]]))[0]
        tensor([[0, 2, 3, 4, 0],
                [1, 2, 3, 0, 0]])
    """
    groups, rows, columns = tile.shape
    flat = functional.pad(tile, (0, rows - 1)).reshape(groups, rows * (rows + columns - 1))
    return functional.pad(flat, (rows - 1, 1)).view(groups, rows, rows + columns)


def diagonal_sums(tile: Tensor) -> Tensor:
    """The sums of a tile's diagonals, as one line: `unskew(tile).sum(1, keepdim=True)`, but reading the tile only once.

    Example:
        >>> diagonal_sums(torch.tensor([[[2, 3, 4], [1, 2, 3]]]))[0]
        tensor([[1, 4, 6, 4, 0]])
    """
    rows, columns = tile.shape[1:]
    if columns < rows:
        return unskew(tile).sum(1, keepdim=True)
    # Diagonals that cross all rows: a strided view in which each row is shifted by one against the row above.
    tile = tile.contiguous()
    whole = tile.as_strided((len(tile), rows, columns - rows + 1), (rows * columns, columns + 1, 1)).sum(1)
    # The others lie entirely in the two ends.
    left = unskew(tile[..., : rows - 1]).sum(1)[:, : rows - 1]
    right = unskew(tile[..., columns - rows + 1 :]).sum(1)[:, rows - 1 :]
    return torch.cat([left, whole, right], -1).unsqueeze(1)


def expand_offsets(products: Tensor, at: Index, columns: int) -> Tensor:
    """Expand one number per clipped distance, (group, row, 2 reach + 1), to the pairs of a tile, (group, row, column).

    Distances beyond the reach get the outermost number.
    """
    groups, rows, size = products.shape
    if isinstance(at.first_offset, int):
        return skew(_clipped_line(products, at.first_offset, rows, columns, -1))
    line = line_offsets(at, rows, columns)
    if line is None:
        return products.gather(-1, _clipped(at.offset, size).expand(groups, rows, columns))
    return skew(products.gather(-1, _clipped(line, size).expand(groups, rows, rows + columns)))


def offset_products(vectors: Tensor, table: Tensor, at: Index, columns: int) -> Tensor:
    """For each pair, the product of its row's vector and the table's vector for the pair's clipped distance.

    Equals `expand_offsets(vectors @ table.mT, at, columns)`. If the line is short, the table is expanded before the
    product, which costs less than expanding the products of every row.

    Args:
        vectors: (group, row, feature).
        table: (2 reach + 1, feature), or (group, 2 reach + 1, feature).
    """
    rows, size = vectors.shape[1], table.shape[-2]
    if isinstance(at.first_offset, int) and rows + columns <= _SHORT * size:
        return skew(vectors @ _clipped_line(table, at.first_offset, rows, columns, -2).mT)
    return expand_offsets(vectors @ table.mT, at, columns)


def sum_by_offset(tile: Tensor, at: Index, size: int) -> Tensor:
    """The sums of each row by clipped distance, (group, row, 2 reach + 1); the transpose of `expand_offsets`."""
    rows, columns = tile.shape[1:]
    first_offset = at.first_offset
    if not isinstance(first_offset, int):
        line = line_offsets(at, rows, columns)
        if line is None:
            return sum_by_index(tile, _clipped(at.offset, size), size)
        return sum_by_index(unskew(tile), _clipped(line, size), size)
    # Columns beyond the reach of all rows need no skewing.
    reach = (size - 1) // 2
    start = min(max(1 - reach - first_offset, 0), columns)
    stop = min(max(rows - 1 + reach - first_offset, start), columns)
    left, first, last, right = _line_parts(first_offset + start, rows, stop - start, size)
    below, within, above = unskew(tile[..., start:stop]).split([left, last - first, right], -1)
    sums_below = tile[..., :start].sum(-1, keepdim=True) + below.sum(-1, keepdim=True)
    sums_above = tile[..., stop:].sum(-1, keepdim=True) + above.sum(-1, keepdim=True)
    return (
        functional.pad(within, (first, size - last))
        + functional.pad(sums_below, (0, size - 1))
        + functional.pad(sums_above, (size - 1, 0))
    )


def sum_by_index(tile: Tensor, index: Tensor, size: int) -> Tensor:
    """The sums of each row by index: (group, row, column) to (group, row, size); bitwise reproducible."""
    if tile.device.type == "cpu":
        sums = tile.new_zeros(*tile.shape[:-1], size)
        return sums.scatter_add(-1, index.expand(tile.shape), tile)
    return sum_in_order(tile, index, size)


def sum_in_order(tile: Tensor, index: Tensor, size: int) -> Tensor:
    """`sum_by_index` by one pass for each index, because on a GPU the order in which a scatter adds is undefined."""
    return torch.stack([torch.where(index == i, tile, 0.0).sum(-1) for i in range(size)], -1)


def _clipped(offset: Tensor, size: int) -> Tensor:
    reach = (size - 1) // 2
    return offset.clamp(-reach, reach) + reach


def _clipped_line(numbers: Tensor, first_offset: int, rows: int, columns: int, axis: int) -> Tensor:
    """The line of a tile along an axis of 2 reach + 1; beyond the reach, the outermost number is repeated."""
    left, first, last, right = _line_parts(first_offset, rows, columns, numbers.shape[axis])
    before, after = list(numbers.shape), list(numbers.shape)
    before[axis], after[axis] = left, right
    within = numbers.narrow(axis, first, last - first)
    ends = numbers.narrow(axis, 0, 1).expand(before), numbers.narrow(axis, -1, 1).expand(after)
    return torch.cat([ends[0], within, ends[1]], axis)


def _line_parts(first_offset: int, rows: int, columns: int, size: int) -> tuple[int, int, int, int]:
    """The parts of a line: how many distances lie below the reach, the range [first, last) within, how many above."""
    length = rows + columns
    # The index in the line at which the first product would be.
    start = rows - 1 - first_offset - (size - 1) // 2
    left = min(max(start, 0), length)
    first = min(max(-start, 0), size)
    last = max(first, min(size, length - start))
    return left, first, last, length - left - (last - first)
