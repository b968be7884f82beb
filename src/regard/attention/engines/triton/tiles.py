"""What the kernels walk along: tiles of pairs, and which of them, and of their pairs, a mask allows.

What is the same for all programs of a launch is a `Call`, of which a `Kind` is known when a kernel is compiled. A
program works for one head at a time, a `Head`. Rows are queries with the keys that they may see, `Rows`. A tile of
pairs is (row, column), or turned: (column, row).
"""

from typing import Any, NamedTuple

import triton
import triton.language as tl

from regard.attention.engines.triton.arithmetic import scalar

__all__ = [
    "BAND",
    "COUNT",
    "EVERYTHING",
    "FAR",
    "HIGHEST",
    "INTERVAL",
    "LOG_COUNT",
    "NUMBER",
    "SOFTMAX",
    "SOME",
    "TABLE",
    "THRESHOLD",
    "TWO_INTERVALS",
    "Call",
    "Head",
    "Kind",
    "Rows",
    "add_rows",
    "by_column",
    "by_row",
    "fits",
    "head_start",
    "intervals_of",
    "is_seen",
    "load_rows",
    "phases_of",
    "program_of",
    "reaches",
    "row_program_of",
    "rows_that_see",
    "shift_of",
    "shown_pairs",
    "store_rows",
    "written_to",
]

# How a kernel finds what a row's weights need to know: a number, the number of keys, a threshold, the best key. For
# softmax it is found while the output is summed.
SOFTMAX = tl.constexpr(0)
NUMBER = tl.constexpr(1)
COUNT = tl.constexpr(2)
LOG_COUNT = tl.constexpr(3)
THRESHOLD = tl.constexpr(4)
HIGHEST = tl.constexpr(5)

# How a mask says which keys a row may see.
EVERYTHING = tl.constexpr(0)
BAND = tl.constexpr(1)
INTERVAL = tl.constexpr(2)
TWO_INTERVALS = tl.constexpr(3)
TABLE = tl.constexpr(4)
SOME = tl.constexpr(5)  # a piece alone

FAR = tl.constexpr(1 << 30)


class Kind(NamedTuple):
    """What a kernel is compiled for.

    Attributes:
        score: the functions of a score: score and slope, and if its number is trained, the derivative by that.
        normaliser: those of a normaliser: weight and slope, likewise.
        find: how a row's number is found.
        centred: whether a row has a given sum, so that its slopes' mean is taken from the gradient of its weights.
        sharp: whether scores are multiplied by the normaliser's number.
        mask: how the mask says which keys a row may see.
        allowed: a function that says which of these it may see, if not all.
        bias: a function of positions that is added to the scores, if there is one, and if its number is trained, the
            derivative by that.
        others: functions that add something to the scores.
        relative: how many vectors of relative positions keys have; 0: none.
        relative_values: likewise of values.
        additive: the activation of additive scores, if they are.
        dies: whether a row may see keys and still have no finite score, as with a bias of minus infinity.
        drops: whether there is dropout.
        ragged: whether items have their own lengths.
        size, size_block: the feature size, and the power of 2 above it.
        width, width_block: likewise of a value.
        rows, columns: the size of a tile.
        wide: what is summed in.
        precision: how products of float32 are computed.
        tolerance: the step after which a threshold is found.
        from_lowest: whether a threshold may lie below the lowest score.
        guarded: the largest product of the squared lengths of a query and a key for which a guarded kernel leaves what
            another has computed (`guarded.py`); 0: not guarded.
        interpreted: whether Triton's interpreter runs the kernel.
        sources: a hash of what the functions say, since compiled kernels are kept by their functions' names.
    """

    score: Any
    normaliser: Any
    find: Any
    centred: Any
    sharp: Any
    mask: Any
    allowed: Any
    bias: Any
    others: Any
    relative: Any
    relative_values: Any
    additive: Any
    dies: Any
    drops: Any
    ragged: Any
    size: Any
    size_block: Any
    width: Any
    width_block: Any
    rows: Any
    columns: Any
    wide: Any
    precision: Any
    tolerance: Any
    from_lowest: Any
    guarded: Any
    interpreted: Any
    sources: Any


class Call(NamedTuple):
    """The operands of a launch.

    Attributes:
        query, key, value: (batch, head, length, size), with neighbouring features next to each other.
        strides: from item to item, head to head, row to row: of query, key and value.
        queries, keys, heads: how many there are.
        repeat: how many heads of queries share one of keys.
        first_row, last_row: the queries of this launch.
        shift: what to add to a query's number to get its position among the keys; a number, or one for each item.
        scale: the factor of the products.
        score_numbers, numbers: two numbers each of score and normaliser, or one for each head.
        search: what a row sums to, and how far its threshold lies below its highest score at most; or how many keys
            of a row are taken.
        limits: where the limits of each row are that say which keys are taken, if not all: see top_keys.py.
        mask: the operands of the mask.
        allowed_numbers, bias_numbers: two numbers each of the functions of mask and position, or one for each head.
        line: a bias for each distance: where they are, from head to head, and the place of distance 0.
        products, value_products: (row, 2 reach + 1), the products of a query, or of the gradient of its output,
            with the vector of each relative position.
        others: the operands of the functions that add something to the scores.
        dropout: the hash of the seed, the least hash that is kept, and the factor of what is kept.
        additive: the operands of additive scores.
        guard: where the largest squared lengths are that a guarded kernel asks for.
        into: the strides of what a guarded kernel writes to, each from item to item, head to head, row to row.
    """

    query: Any
    key: Any
    value: Any
    strides: Any
    queries: Any
    keys: Any
    heads: Any
    repeat: Any
    first_row: Any
    last_row: Any
    shift: Any
    scale: Any
    score_numbers: Any
    numbers: Any
    search: Any
    limits: Any
    mask: Any
    allowed_numbers: Any
    bias_numbers: Any
    line: Any
    products: Any
    value_products: Any
    others: Any
    dropout: Any
    additive: Any
    guard: Any = ()
    into: Any = ()


class Head(NamedTuple):
    """One head of one item: its number, the first of its rows among all, and its own operands."""

    batch: Any
    head: Any
    place: Any
    shift: Any
    scale: Any
    score_a: Any
    score_b: Any
    a: Any
    b: Any
    products: Any
    value_products: Any
    additive: Any


class Rows(NamedTuple):
    """Queries by number, and the keys that each may see: [start, stop) and [start2, stop2), empty where equal."""

    numbers: Any
    start: Any
    stop: Any
    start2: Any
    stop2: Any


@triton.jit
def program_of(tiles):
    """The numbers of this program's tile and of its head among all. The grid has one axis for both, as only the first
    may have more than 65,535 programs; neighbours work for one head."""
    program = tl.program_id(0)
    return program % tiles, program // tiles


@triton.jit
def row_program_of(tiles):
    """Likewise for a tile of rows, the last first: under a causal mask they see the most keys, and what starts last
    should take the least."""
    tile, head = program_of(tiles)
    return tiles - 1 - tile, head


@triton.jit
def in_eights(stride, SIZE: tl.constexpr):
    """A stride as one that the compiler knows to be a multiple of 8, as it is if the size is one: only then are numbers
    that lie next to each other read at once, and in advance."""
    if SIZE % 8 == 0:
        return stride // 8 * 8
    else:
        return stride


@triton.jit
def head_start(pointer, item, head, of_item, of_head, SIZE: tl.constexpr):
    """Where a head's first row is, by its strides from item to item and head to head."""
    return pointer + item.to(tl.int64) * in_eights(of_item, SIZE) + head.to(tl.int64) * in_eights(of_head, SIZE)


@triton.jit
def written_to(pointer, item, head, place, into, first: tl.constexpr, SIZE: tl.constexpr, KIND: tl.constexpr):
    """Where a head's first row is written to, and the stride from row to row.

    place: the number of that row among all, where they lie one after another.
    """
    if KIND.guarded > 0:
        start = head_start(pointer, item, head, into[first], into[first + 1], SIZE)
        return start, in_eights(into[first + 2], SIZE)
    else:
        return pointer + place * SIZE, SIZE


@triton.jit
def fits(guard, KIND: tl.constexpr):
    """Whether what another kernel has computed can stay: all numbers are finite, and no score is too large."""
    query, key = tl.load(guard).to(tl.float32, bitcast=True), tl.load(guard + 1).to(tl.float32, bitcast=True)
    rest = tl.load(guard + 2).to(tl.float32, bitcast=True) + tl.load(guard + 3).to(tl.float32, bitcast=True)
    return (query * key <= KIND.guarded) & (rest < float("inf"))


@triton.jit
def load_rows(pointer, rows, length, stride, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    """(row, size), with zeros beyond the length and the size."""
    columns = tl.arange(0, BLOCK)
    there = (rows[:, None] < length) & (columns[None, :] < SIZE)
    place = pointer + rows[:, None].to(tl.int64) * in_eights(stride, SIZE) + columns[None, :]
    return tl.load(place, mask=there, other=0.0)


@triton.jit
def store_rows(pointer, rows, length, stride, tile, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    there = (rows[:, None] < length) & (columns[None, :] < SIZE)
    place = pointer + rows[:, None].to(tl.int64) * stride + columns[None, :]
    tl.store(place, tile.to(pointer.dtype.element_ty), mask=there)


@triton.jit
def add_rows(pointer, rows, length, stride, tile, SIZE: tl.constexpr, BLOCK: tl.constexpr, ADDS: tl.constexpr):
    """Store a tile, added to what is there if `ADDS`."""
    if ADDS:
        tile += load_rows(pointer, rows, length, stride, SIZE, BLOCK)
    store_rows(pointer, rows, length, stride, tile, SIZE, BLOCK)


@triton.jit
def by_row(numbers, TURNED: tl.constexpr):
    """One number for each row, as it broadcasts against a tile."""
    if TURNED:
        return numbers[None, :]
    else:
        return numbers[:, None]


@triton.jit
def by_column(numbers, TURNED: tl.constexpr):
    """One number for each column, likewise."""
    if TURNED:
        return numbers[:, None]
    else:
        return numbers[None, :]


@triton.jit
def shift_of(call, batch, KIND: tl.constexpr):
    """What to add to a row's number to get its position among the keys."""
    if KIND.ragged:
        return tl.load(call.shift + batch).to(tl.int32)
    else:
        return call.shift


@triton.jit
def intervals_of(rows, batch, shift, call, KIND: tl.constexpr):
    """The rows with the keys that each may see."""
    nothing = tl.zeros_like(rows)
    mask = call.mask
    if KIND.mask == BAND:
        position = rows + shift
        start = tl.maximum(position - mask[0], 0)
        stop = tl.maximum(tl.minimum(position + mask[1] + 1, call.keys), start)
        return Rows(rows, start, stop, nothing, nothing)
    elif KIND.mask == INTERVAL:
        place, there = batch * mask[2] + rows, rows < call.queries
        start = tl.load(mask[0] + place, mask=there, other=0)
        stop = tl.load(mask[1] + place, mask=there, other=0)
        return Rows(rows, start, stop, nothing, nothing)
    elif KIND.mask == TWO_INTERVALS:
        place, there = batch * mask[2] + rows, rows < call.queries
        start = tl.load(mask[0] + place, mask=there, other=0)
        stop = tl.load(mask[1] + place, mask=there, other=0)
        start2 = tl.load(mask[0] + mask[3] + place, mask=there, other=0)
        stop2 = tl.load(mask[1] + mask[3] + place, mask=there, other=0)
        return Rows(rows, start, stop, start2, stop2)
    else:
        return Rows(rows, nothing, nothing + call.keys, nothing, nothing)


@triton.jit
def phases_of(rows, call, STEP: tl.constexpr, KIND: tl.constexpr):
    """Where a tile of rows finds its keys, in whole tiles: partial ones from the first number to the second, full ones
    to the third, partial ones to the fourth."""
    keys = call.keys
    here = rows.numbers < call.queries
    if KIND.mask == EVERYTHING:
        return 0, 0, keys // STEP * STEP, keys
    elif KIND.mask == BAND or KIND.mask == INTERVAL:
        some = (rows.start < rows.stop) & here
        first = tl.min(tl.where(some, rows.start, FAR), 0) // STEP * STEP
        last = tl.max(tl.where(some, rows.stop, 0), 0)
        # Rows beyond the last one don't matter; a row that sees nothing leaves no tile full.
        full = tl.max(tl.where(here, tl.where(rows.start < rows.stop, rows.start, FAR), 0), 0)
        full_end = tl.min(tl.where(here, rows.stop, FAR), 0) // STEP * STEP
        full = (tl.minimum(full, keys) + STEP - 1) // STEP * STEP
        if len(KIND.allowed) > 0:
            full_end = full
        none = full >= full_end
        return first, tl.where(none, last, full), tl.where(none, last, full_end), last
    elif KIND.mask == TWO_INTERVALS:
        some, some2 = (rows.start < rows.stop) & here, (rows.start2 < rows.stop2) & here
        first = tl.minimum(tl.min(tl.where(some, rows.start, FAR), 0), tl.min(tl.where(some2, rows.start2, FAR), 0))
        last = tl.maximum(tl.max(tl.where(some, rows.stop, 0), 0), tl.max(tl.where(some2, rows.stop2, 0), 0))
        return first // STEP * STEP, last, last, last
    else:
        return 0, keys, keys, keys


@triton.jit
def rows_whose_intervals_meet(columns, batch, shift, call, STEP: tl.constexpr, KIND: tl.constexpr):
    """What `rows_that_see` gives where each row has intervals of its own: they are looked at, many rows at once. Full
    tiles are those of the first run of full ones."""
    TILES: tl.constexpr = 16
    queries = call.queries
    low, high = tl.min(columns, 0), tl.minimum(tl.max(columns, 0), call.keys - 1)
    first, full, full_end, last = low * 0 + FAR, low * 0 + FAR, low * 0 + FAR, low * 0
    for begin in range(0, queries, TILES * STEP):
        tile = begin + tl.arange(0, TILES) * STEP
        numbers = tile[:, None] + tl.arange(0, STEP)[None, :]
        rows, here = intervals_of(numbers, batch, shift, call, KIND), numbers < queries
        some = (rows.start <= high) & (rows.stop > low) & (rows.start < rows.stop)
        every = (rows.start <= low) & (rows.stop > high)
        if KIND.mask == TWO_INTERVALS:
            some |= (rows.start2 <= high) & (rows.stop2 > low) & (rows.start2 < rows.stop2)
            every |= (rows.start2 <= low) & (rows.stop2 > high)
        meets = tl.max(tl.where(some & here, 1, 0), 1) > 0
        is_full = tl.min(tl.where(every & here, 1, 0), 1) > 0
        first = tl.minimum(first, tl.min(tl.where(meets, tile, FAR), 0))
        last = tl.maximum(last, tl.max(tl.where(meets, tile + STEP, 0), 0))
        full = tl.minimum(full, tl.min(tl.where(is_full, tile, FAR), 0))
        full_end = tl.minimum(full_end, tl.min(tl.where(is_full | (tile < full), FAR, tile), 0))
    last = tl.minimum(last, queries)
    full_end = tl.minimum(full_end, queries // STEP * STEP)
    if len(KIND.allowed) > 0:
        full_end = full
    none = full >= full_end
    return first, tl.where(none, last, full), tl.where(none, last, full_end), last


@triton.jit
def rows_that_see(columns, batch, shift, call, STEP: tl.constexpr, KIND: tl.constexpr):
    """Where a tile of keys finds its queries: as `phases_of`, the other way round."""
    queries = call.queries
    if KIND.mask == EVERYTHING:
        return 0, 0, queries // STEP * STEP, queries
    elif KIND.mask == BAND:
        before, after = call.mask[0], call.mask[1]
        low, high = tl.min(columns, 0), tl.minimum(tl.max(columns, 0), call.keys - 1)
        first = tl.maximum(low - shift - after, 0) // STEP * STEP
        last = tl.minimum(high - shift + before + 1, queries)
        full = tl.maximum(high - shift - after, 0)
        full_end = tl.minimum(tl.maximum(low - shift + before + 1, 0), queries) // STEP * STEP
        full = (tl.minimum(full, queries) + STEP - 1) // STEP * STEP
        none = full >= full_end
        return first, tl.where(none, last, full), tl.where(none, last, full_end), last
    elif KIND.mask == INTERVAL or KIND.mask == TWO_INTERVALS:
        return rows_whose_intervals_meet(columns, batch, shift, call, STEP, KIND)
    else:
        return 0, queries, queries, queries


@triton.jit
def is_seen(rows, columns, head, call, KIND: tl.constexpr):
    """Whether a tile holds an allowed pair, as far as a table of tiles says so."""
    if KIND.mask == TABLE:
        mask = call.mask
        row, column = tl.min(rows.numbers, 0) - mask[8], tl.min(columns, 0)
        place = head.batch * mask[5] + head.head * mask[6] + row // KIND.rows * mask[7] + column // KIND.columns
        return tl.load(mask[4] + place) != 0
    else:
        return True


@triton.jit
def reaches(rows, columns, head, call, KIND: tl.constexpr):
    """Whether a tile may hold an allowed pair, by a table of tiles or the intervals of its rows."""
    if KIND.mask == TABLE:
        return is_seen(rows, columns, head, call, KIND)
    elif KIND.mask == EVERYTHING or KIND.mask == SOME:
        return True
    else:
        low, high = tl.min(columns, 0), tl.max(columns, 0)
        some = (rows.start <= high) & (rows.stop > low) & (rows.start < rows.stop)
        if KIND.mask == TWO_INTERVALS:
            some = some | ((rows.start2 <= high) & (rows.stop2 > low) & (rows.start2 < rows.stop2))
        return tl.max(tl.where(some & (rows.numbers < call.queries), 1, 0), 0) > 0


@triton.jit
def shown_pairs(rows, columns, head, call, KIND: tl.constexpr, TURNED: tl.constexpr):
    """Which pairs of a tile are allowed."""
    row, column = by_row(rows.numbers, TURNED), by_column(columns, TURNED)
    there = (column < call.keys) & (row < call.queries)
    if len(KIND.allowed) > 0:
        a = scalar(call.allowed_numbers[0], head.head, KIND.wide)
        b = scalar(call.allowed_numbers[1], head.head, KIND.wide)
        there &= KIND.allowed[0](head.batch, head.head, row, row + head.shift, column, a, b) != 0
    if KIND.mask == TABLE:
        mask = call.mask
        place = head.batch.to(tl.int64) * mask[1] + head.head.to(tl.int64) * mask[2]
        place += (row - mask[8]).to(tl.int64) * mask[3] + column
        return tl.load(mask[0] + place, mask=there, other=0) != 0
    elif KIND.mask == EVERYTHING:
        return there
    elif KIND.mask == TWO_INTERVALS:
        inside = (column >= by_row(rows.start, TURNED)) & (column < by_row(rows.stop, TURNED))
        inside2 = (column >= by_row(rows.start2, TURNED)) & (column < by_row(rows.stop2, TURNED))
        return there & (inside | inside2)
    else:
        return there & (column >= by_row(rows.start, TURNED)) & (column < by_row(rows.stop, TURNED))
