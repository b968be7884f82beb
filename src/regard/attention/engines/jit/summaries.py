"""The statistics of a tile of weights in one pass of compiled code; equals `blocked.summaries`."""

import numpy as np
import torch
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from regard.attention.engines.blocked.summaries import TileSummary, WeightsTile, seen
from regard.attention.engines.jit.compiling import compiled, parallel_for, threads
from regard.attention.engines.jit.entmax import maximum
from regard.attention.engines.jit.logarithm import logarithm
from regard.attention.engines.jit.simd import SIMD_WIDTH, broadcast, load

__all__ = ["summarise_tile"]

_ROWS = 8  # in a chunk of work; each chunk has its own sums of the columns
# How many columns are summed in the weights' own dtype; the sums of these chunks are summed in float64.
_CHUNK = 512


def summarise_tile(tile: WeightsTile) -> TileSummary:
    """`blocked.summaries.summarise_tile` for float32 and float64 on the CPU."""
    weights, allowed, unmasked, keys, positions, cells, top = tile
    groups, rows, columns = weights.shape
    count = seen(weights, allowed, unmasked).expand(groups, rows)
    chunks = -(-rows // _ROWS)
    top_column = torch.full((groups, rows, top), -1, device="cpu")
    top_weight = weights.new_zeros(groups, rows, top)
    numbers = weights.new_empty(3, groups, rows)
    received = weights.new_empty(groups, chunks, columns)
    sums, most = weights.new_empty(2, groups, rows, len(cells) - 1)
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
        numbers,
        received,
        sums,
        most,
    )
    _summarise(groups * chunks, 1, threads(), *(t.detach().numpy() for t in tensors), unmasked.start, unmasked.stop)
    entropy, distance, zeros = numbers
    return TileSummary(count, top_column, top_weight, entropy, distance, zeros, received.sum(1), sums, most)


@intrinsic
def _any_above(typing_context, x, y):  # pyright: ignore
    """In compiled code: whether one of sixteen numbers is above its counterpart, or NaN."""

    def generate(context, builder, signature, values):
        above = builder.fcmp_unordered(">", *values)
        return builder.icmp_unsigned("!=", builder.bitcast(above, ir.IntType(SIMD_WIDTH)), ir.IntType(SIMD_WIDTH)(0))

    return types.boolean(x, y), generate


@compiled(cache=False)
def _chunk_sums(weights, keys, position, received, begin, end, first):
    """For contiguous weights: the sums of |w|, of |w| log |w| and of |w| x distance, and how many are 0."""
    number = weights.dtype.type
    zero = number(0)
    mass, order, apart, zeros = zero, zero, zero, zero
    for j in range(np.uint64(begin), np.uint64(end)):
        weight = weights[j]
        size = abs(weight)
        mass += size
        order += size * logarithm(size)  # pyright: ignore[reportCallIssue]
        apart += size * abs(keys[j] - position)
        zeros += number(weight == zero)
    if first:
        for j in range(np.uint64(begin), np.uint64(end)):
            received[j] = weights[j]
    else:
        for j in range(np.uint64(begin), np.uint64(end)):
            received[j] += weights[j]
    return mass, order, apart, zeros


@compiled(cache=False)
def _cells(weights, cells, sums, most):
    """The sum and the maximum of each cell."""
    for cell in range(cells.size - 1):
        begin, end = cells[cell], cells[cell + 1]
        total, high = 0.0, weights[begin] if begin < end else weights.dtype.type(0)
        for j in range(np.uint64(begin), np.uint64(end)):
            total += np.float64(weights[j])
            high = maximum(high, weights[j])  # pyright: ignore[reportCallIssue]
        sums[cell], most[cell] = total, high


@compiled(cache=False)
def _beats(weight, other):
    """Whether a weight ranks before another one to its left; NaN ranks first."""
    return weight > other or (np.isnan(weight) and not np.isnan(other))


@compiled(cache=False)
def _insert(weight, column, found, columns, weights):
    """Insert a weight after those that it doesn't beat, so that of equal weights the first stays first."""
    position = min(found, columns.size - 1)
    while position > 0 and _beats(weight, weights[position - 1]):
        columns[position], weights[position] = columns[position - 1], weights[position - 1]
        position -= 1
    columns[position], weights[position] = column, weight


@compiled(cache=False)
def _largest(weights, allowed, count, start, stop, columns, largest):
    """Find the largest weights of a row; all columns from `start` to `stop` are allowed."""
    top = columns.size
    found, least = 0, weights.dtype.type(-np.inf)  # the smallest of the largest, once as many as possible are found
    for begin in range(0, weights.size, SIMD_WIDTH):
        end = min(begin + SIMD_WIDTH, weights.size)
        if end - begin == SIMD_WIDTH and not _any_above(load(weights, begin), broadcast(least)):  # pyright: ignore[reportCallIssue]
            continue
        for j in range(begin, end):
            if weights[j] <= least or not (start <= j < stop or allowed[j]):
                continue
            if found < top or _beats(weights[j], least):
                _insert(weights[j], j, found, columns, largest)
                found = min(found + 1, top)
                if found == min(top, count):
                    least = largest[found - 1]


@compiled(cache=False)
def _row(weights, count, keys, position, received, first):
    """Entropy, distance and zeros of a row; the row is added to what the columns received."""
    mass, order, apart, zeros = 0.0, 0.0, 0.0, 0.0
    for begin in range(0, weights.size, _CHUNK):
        end = min(begin + _CHUNK, weights.size)
        size, w_log_w, far, none = _chunk_sums(weights, keys, position, received, begin, end, first)
        mass += size
        order += w_log_w
        apart += far
        zeros += none
    zeros -= weights.size - count  # hidden weights are 0 too
    if mass == 0.0:
        return 0.0, 0.0, zeros
    entropy = np.log(mass) - order / mass
    return 0.0 if entropy < 0.0 else entropy, apart / mass, zeros


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
    numbers,
    received,
    sums,
    most,
    start,
    stop,
):
    rows, chunks = weights.shape[1], received.shape[1]
    for at in range(first, last):
        group, chunk = at // chunks, at % chunks
        begin = chunk * _ROWS
        for row in range(begin, min(begin + _ROWS, rows)):
            line, seen = weights[group, row], count[group, row]
            numbers[0, group, row], numbers[1, group, row], numbers[2, group, row] = _row(
                line, seen, keys, positions[group, row], received[group, chunk], row == begin
            )
            shown = allowed[group % len(allowed), row % allowed.shape[1]]
            _largest(line, shown, seen, start, stop, columns[group, row], largest[group, row])
            _cells(line, cells, sums[group, row], most[group, row])


@compiled()
def _summarise(length, grain, count, *arguments):
    parallel_for(_summarise_rows, length, grain, count, arguments)  # pyright: ignore[reportCallIssue]
