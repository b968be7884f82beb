"""The statistics of a tile of weights in one pass of compiled code; equals `blocked.summaries`."""

import numpy as np
import torch
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from regard.attention.engines.blocked.summaries import TileSummary, WeightsTile, seen
from regard.attention.engines.jit.compiling import compiled, parallel_for, threads
from regard.attention.engines.jit.elementary import logarithm
from regard.attention.engines.jit.entmax import maximum
from regard.attention.engines.jit.simd import SIMD_WIDTH, broadcast, load

__all__ = ["summarise_tile"]

_ROWS = 8  # rows in a chunk of work; each chunk sums its columns on its own
# The number of columns that are summed in the weights' own dtype; the sums of such chunks are added in float64.
_CHUNK = 512


def summarise_tile(tile: WeightsTile) -> TileSummary:
    """`blocked.summaries.summarise_tile` for float32 and float64 on the CPU."""
    weights, allowed, unmasked, keys, positions, cells, top = tile
    groups, rows, columns = weights.shape
    count = seen(weights, allowed, unmasked).expand(groups, rows)
    chunks = -(-rows // _ROWS)
    top_column = torch.full((groups, rows, top), -1, device="cpu")
    top_weight = weights.new_zeros(groups, rows, top)
    row_statistics = weights.new_empty(3, groups, rows)
    received = weights.new_empty(groups, chunks, columns)
    sums, maxima = weights.new_empty(2, groups, rows, len(cells) - 1)
    if allowed is None:
        unmasked, allowed = slice(0, columns), torch.empty(1, 1, 0, dtype=torch.bool, device="cpu")
    tensors = (
        weights.contiguous(),
        allowed.contiguous(),
        count.contiguous(),
        keys.to(weights.dtype),
        positions.to(weights.dtype).expand(groups, rows).contiguous(),
        torch.tensor(cells, device="cpu"),
        top_column,
        top_weight,
        row_statistics,
        received,
        sums,
        maxima,
    )
    _summarise(groups * chunks, 1, threads(), *(t.detach().numpy() for t in tensors), unmasked.start, unmasked.stop)
    entropy, distance, zeros = row_statistics
    return TileSummary(count, top_column, top_weight, entropy, distance, zeros, received.sum(1), sums, maxima)


@intrinsic
def _any_above(typing_context, x, y):  # pyright: ignore
    """In compiled code: whether any of sixteen numbers is above its counterpart, or one of the two is NaN."""

    def generate(context, builder, signature, values):
        above = builder.fcmp_unordered(">", *values)
        return builder.icmp_unsigned("!=", builder.bitcast(above, ir.IntType(SIMD_WIDTH)), ir.IntType(SIMD_WIDTH)(0))

    return types.boolean(x, y), generate


@compiled(cache=False)
def _chunk_sums(weights, keys, position, received, begin, end, is_first_row):
    """The sums of |w|, |w| log |w| and |w| x distance, and how many w are 0; the weights are added to `received`."""
    number = weights.dtype.type
    zero = number(0)
    mass, w_log_w, distance, zeros = zero, zero, zero, zero
    for column in range(np.uint64(begin), np.uint64(end)):
        weight = weights[column]
        magnitude = abs(weight)
        mass += magnitude
        w_log_w += magnitude * logarithm(magnitude)  # pyright: ignore[reportCallIssue]
        distance += magnitude * abs(keys[column] - position)
        zeros += number(weight == zero)
    if is_first_row:
        for column in range(np.uint64(begin), np.uint64(end)):
            received[column] = weights[column]
    else:
        for column in range(np.uint64(begin), np.uint64(end)):
            received[column] += weights[column]
    return mass, w_log_w, distance, zeros


@compiled(cache=False)
def _cells(weights, cells, sums, maxima):
    """The sum and the maximum of each cell; `cells` holds the column at which each begins, and the end."""
    for cell in range(cells.size - 1):
        begin, end = cells[cell], cells[cell + 1]
        cell_sum, maximum_so_far = 0.0, weights[begin] if begin < end else weights.dtype.type(0)
        for column in range(np.uint64(begin), np.uint64(end)):
            cell_sum += np.float64(weights[column])
            maximum_so_far = maximum(maximum_so_far, weights[column])  # pyright: ignore[reportCallIssue]
        sums[cell], maxima[cell] = cell_sum, maximum_so_far


@compiled(cache=False)
def _beats(weight, other):
    """Whether a weight ranks before another one to its left; NaN ranks first."""
    return weight > other or (np.isnan(weight) and not np.isnan(other))


@compiled(cache=False)
def _insert(weight, column, filled, columns, weights):
    """Insert a weight after the `filled` ones that it doesn't beat, so that the first of equal weights stays first."""
    position = min(filled, columns.size - 1)
    while position > 0 and _beats(weight, weights[position - 1]):
        columns[position], weights[position] = columns[position - 1], weights[position - 1]
        position -= 1
    columns[position], weights[position] = column, weight


@compiled(cache=False)
def _largest(weights, allowed, count, start, stop, columns, largest):
    """Find the largest weights of a row among the columns from `start` to `stop` and those that are `allowed`."""
    top = columns.size
    # `least` is the smallest of the largest weights, but -inf until as many as possible are filled.
    filled, least = 0, weights.dtype.type(-np.inf)
    for begin in range(0, weights.size, SIMD_WIDTH):
        end = min(begin + SIMD_WIDTH, weights.size)
        if end - begin == SIMD_WIDTH and not _any_above(load(weights, begin), broadcast(least)):  # pyright: ignore[reportCallIssue]
            continue
        for column in range(begin, end):
            if weights[column] <= least or not (start <= column < stop or allowed[column]):
                continue
            if filled < top or _beats(weights[column], least):
                _insert(weights[column], column, filled, columns, largest)
                filled = min(filled + 1, top)
                if filled == min(top, count):
                    least = largest[filled - 1]


@compiled(cache=False)
def _row(weights, count, keys, position, received, is_first_row):
    """The entropy, the mean distance and the number of zeros of a row, which is added to what the columns received."""
    mass, w_log_w, distance, zeros = 0.0, 0.0, 0.0, 0.0
    for begin in range(0, weights.size, _CHUNK):
        end = min(begin + _CHUNK, weights.size)
        sums = _chunk_sums(weights, keys, position, received, begin, end, is_first_row)
        mass += sums[0]
        w_log_w += sums[1]
        distance += sums[2]
        zeros += sums[3]
    zeros -= weights.size - count  # hidden weights are 0, too, but aren't counted
    if mass == 0.0:
        return 0.0, 0.0, zeros
    entropy = np.log(mass) - w_log_w / mass
    return 0.0 if entropy < 0.0 else entropy, distance / mass, zeros


@compiled(cache=False)
def _summarise_rows(
    first,
    last,
    weights,
    allowed,
    count,
    keys,
    positions,
    cells,
    columns,
    largest,
    row_statistics,
    received,
    sums,
    maxima,
    start,
    stop,
):
    rows, chunks = weights.shape[1], received.shape[1]
    for flat_chunk in range(first, last):
        group, chunk = flat_chunk // chunks, flat_chunk % chunks
        begin = chunk * _ROWS
        for row in range(begin, min(begin + _ROWS, rows)):
            row_weights, row_count = weights[group, row], count[group, row]
            row_statistics[0, group, row], row_statistics[1, group, row], row_statistics[2, group, row] = _row(
                row_weights, row_count, keys, positions[group, row], received[group, chunk], row == begin
            )
            row_allowed = allowed[group % len(allowed), row % allowed.shape[1]]
            _largest(row_weights, row_allowed, row_count, start, stop, columns[group, row], largest[group, row])
            _cells(row_weights, cells, sums[group, row], maxima[group, row])


@compiled()
def _summarise(length, grain, count, *arguments):
    parallel_for(_summarise_rows, length, grain, count, arguments)  # pyright: ignore[reportCallIssue]
