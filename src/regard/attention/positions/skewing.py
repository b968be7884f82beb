"""From one number for each distance to one for each pair, and back, by views of memory instead of tables of indices.

In a tile of neighbours the pair in row r and column c stands corner + c - r apart. So row r holds one and the same line
of numbers, begun r places further left. Laid out in memory line after line, lines of a length L become rows when they
are read with a step of L - 1: every row starts one place further left than the row above it. No index is computed, and
the way back is the same view, written.

Where columns were picked there is no such order, and the numbers are gathered one by one.
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

_SHORT = 16  # a line up to so many times as long as the table is short


def line_offsets(at: Index, rows: int, columns: int) -> Tensor | None:
    """The distances that a line of `rows + columns` numbers stands for, (1 or group, 1, rows + columns).

    None where the tile's pairs are no neighbours.
    """
    if at.first_offset is None:
        return None
    return at.first_offset + torch.arange(1 - rows, columns + 1, device=at.key.device).view(1, 1, -1)


def skew(lines: Tensor) -> Tensor:
    """A tile from its lines: (group, row, row + column) to (group, row, column); a view, where the lines are stored.

    Example:
        >>> skew(torch.tensor([[[1, 2, 3, 4, 0], [1, 2, 3, 4, 0]]]))[0]
        tensor([[2, 3, 4],
                [1, 2, 3]])
    """
    groups, rows, length = lines.shape
    flat = lines.reshape(groups, rows * length)
    return flat[:, rows - 1 : rows * length - 1].unflatten(1, (rows, length - 1))[..., : length - rows]


def unskew(tile: Tensor) -> Tensor:
    """The lines of a tile, with zeros at distances that a row doesn't have; the transpose of `shear`.

    Example:
        >>> unskew(torch.tensor([[[2, 3, 4], [1, 2, 3]]]))[0]
        tensor([[0, 2, 3, 4, 0],
                [1, 2, 3, 0, 0]])
    """
    groups, rows, columns = tile.shape
    flat = functional.pad(tile, (0, rows - 1)).reshape(groups, rows * (rows + columns - 1))
    return functional.pad(flat, (rows - 1, 1)).view(groups, rows, rows + columns)


def diagonal_sums(tile: Tensor) -> Tensor:
    """The sums of a tile's diagonals, one line for all rows: `unshear(tile).sum(1, keepdim=True)`, in one reading.

    Example:
        >>> diagonal_sums(torch.tensor([[[2, 3, 4], [1, 2, 3]]]))[0]
        tensor([[1, 4, 6, 4, 0]])
    """
    rows, columns = tile.shape[1:]
    if columns < rows:
        return unskew(tile).sum(1, keepdim=True)
    # Diagonals that cross all rows: read where they stand, each row one place further right than the row above it.
    tile = tile.contiguous()
    whole = tile.as_strided((len(tile), rows, columns - rows + 1), (rows * columns, columns + 1, 1)).sum(1)
    # The others lie in the two ends, and whole in them.
    left = unskew(tile[..., : rows - 1]).sum(1)[:, : rows - 1]
    right = unskew(tile[..., columns - rows + 1 :]).sum(1)[:, rows - 1 :]
    return torch.cat([left, whole, right], -1).unsqueeze(1)


def expand_offsets(products: Tensor, at: Index, columns: int) -> Tensor:
    """Each pair's product: (group, row, 2 reach + 1) to (group, row, column) by the pair's distance, clipped.

    Beyond the reach, on both sides, the outermost product is repeated.
    """
    groups, rows, size = products.shape
    if isinstance(at.first_offset, int):
        return skew(_clipped_line(products, at.first_offset, rows, columns, -1))
    line = line_offsets(at, rows, columns)
    if line is None:
        return products.gather(-1, _clipped(at.offset, size).expand(groups, rows, columns))
    return skew(products.gather(-1, _clipped(line, size).expand(groups, rows, rows + columns)))


def offset_products(vectors: Tensor, table: Tensor, at: Index, columns: int) -> Tensor:
    """For each pair, the product of its row's vector and the table's vector for its distance, clipped.

    It equals `spread(vectors @ table.mT, at, columns)`. If the line is short, the table is stretched to the line before
    the product: that costs less than stretching the products of every row.

    Args:
        vectors: (group, row, feature).
        table: (2 reach + 1, feature), or (group, 2 reach + 1, feature).
    """
    rows, size = vectors.shape[1], table.shape[-2]
    if isinstance(at.first_offset, int) and rows + columns <= _SHORT * size:
        return skew(vectors @ _clipped_line(table, at.first_offset, rows, columns, -2).mT)
    return expand_offsets(vectors @ table.mT, at, columns)


def sum_by_offset(tile: Tensor, at: Index, size: int) -> Tensor:
    """Each row's sums by clipped distance: (group, row, column) to (group, row, 2 reach + 1); `spread` transposed."""
    rows, columns = tile.shape[1:]
    first_offset = at.first_offset
    if not isinstance(first_offset, int):
        line = line_offsets(at, rows, columns)
        if line is None:
            return sum_by_index(tile, _clipped(at.offset, size), size)
        return sum_by_index(unskew(tile), _clipped(line, size), size)
    # Columns that are beyond the reach of all rows need no shearing.
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
    """Each row's sums by index: (group, row, column) to (group, row, size); the same bits at every call."""
    if tile.device.type == "cpu":
        sums = tile.new_zeros(*tile.shape[:-1], size)
        return sums.scatter_add(-1, index.expand(tile.shape), tile)
    return sum_in_order(tile, index, size)


def sum_in_order(tile: Tensor, index: Tensor, size: int) -> Tensor:
    """`collect` by reading the tile once for each index: on a GPU a scatter adds in whatever order its threads come."""
    return torch.stack([torch.where(index == i, tile, 0.0).sum(-1) for i in range(size)], -1)


def _clipped(offset: Tensor, size: int) -> Tensor:
    reach = (size - 1) // 2
    return offset.clamp(-reach, reach) + reach


def _clipped_line(numbers: Tensor, first_offset: int, rows: int, columns: int, axis: int) -> Tensor:
    """The line of a tile along an axis of 2 reach + 1: beyond the reach, on both sides, the outermost repeated."""
    left, first, last, right = _line_parts(first_offset, rows, columns, numbers.shape[axis])
    before, after = list(numbers.shape), list(numbers.shape)
    before[axis], after[axis] = left, right
    within = numbers.narrow(axis, first, last - first)
    ends = numbers.narrow(axis, 0, 1).expand(before), numbers.narrow(axis, -1, 1).expand(after)
    return torch.cat([ends[0], within, ends[1]], axis)


def _line_parts(first_offset: int, rows: int, columns: int, size: int) -> tuple[int, int, int, int]:
    """How a line divides: so many places below the reach, those of the products [first, last), so many above."""
    length = rows + columns
    # The place in the line where the first product would stand.
    start = rows - 1 - first_offset - (size - 1) // 2
    left = min(max(start, 0), length)
    first = min(max(-start, 0), size)
    last = max(first, min(size, length - start))
    return left, first, last, length - left - (last - first)
