"""The kernels: the outputs, the gradient of queries, the gradient of keys and values, and that of a bias for each pair.

Each program owns a tile of rows (of queries, or of keys in the third kernel) and walks along the tiles of the other
side, so no two programs write to one place, and results are reproducible to the bit. Scores and weights are recomputed
wherever they are needed. Tiles are partial, full, partial: only a partial tile asks the mask, and only there do NaN or
infinity at hidden pairs have to be kept out of products.

The arguments that describe the parts are tuples of pieces (functions) and of their operands, see `problem.py`.

Source: the forward pass and its recomputation are those of FlashAttention (Dao et al. 2022, arXiv 2205.14135), with two
kernels instead of atomic additions in the backward pass.
"""

import triton
import triton.language as tl

from regard.attention.engines.triton.additive import NONE, add_gradients, additive_scores, laid_out, of_group
from regard.attention.engines.triton.arithmetic import dot, hidden_dot, is_unfinite, keep_scale, scalar

__all__ = ["backward_of_keys", "backward_of_pairs", "backward_of_queries", "forward", "merge"]

LOG2E = tl.constexpr(1.4426950408889634)

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

FAR = tl.constexpr(1 << 30)


@triton.jit
def load_rows(pointer, rows, length, stride, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    """(row, size), with zeros beyond the length and the size."""
    columns = tl.arange(0, BLOCK)
    there = (rows[:, None] < length) & (columns[None, :] < SIZE)
    return tl.load(pointer + rows[:, None].to(tl.int64) * stride + columns[None, :], mask=there, other=0.0)


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
def shift_of(shift, batch, RAGGED: tl.constexpr):
    """What to add to a row's number to get its position among the keys."""
    if RAGGED:
        return tl.load(shift + batch).to(tl.int32)
    else:
        return shift


@triton.jit
def intervals_of(rows, batch, shift, queries, keys, mask, MASK: tl.constexpr):
    """The keys that each row may see: [start, stop) and [start2, stop2), empty where equal."""
    nothing = tl.zeros_like(rows)
    if MASK == BAND:
        position = rows + shift
        start = tl.maximum(position - mask[0], 0)
        stop = tl.maximum(tl.minimum(position + mask[1] + 1, keys), start)
        return start, stop, nothing, nothing
    elif MASK == INTERVAL:
        place, there = batch * mask[2] + rows, rows < queries
        start = tl.load(mask[0] + place, mask=there, other=0)
        stop = tl.load(mask[1] + place, mask=there, other=0)
        return start, stop, nothing, nothing
    elif MASK == TWO_INTERVALS:
        place, there = batch * mask[2] + rows, rows < queries
        start = tl.load(mask[0] + place, mask=there, other=0)
        stop = tl.load(mask[1] + place, mask=there, other=0)
        start2 = tl.load(mask[0] + mask[3] + place, mask=there, other=0)
        stop2 = tl.load(mask[1] + mask[3] + place, mask=there, other=0)
        return start, stop, start2, stop2
    else:
        return nothing, nothing + keys, nothing, nothing


@triton.jit
def phases_of(rows, start, stop, start2, stop2, queries, keys, STEP: tl.constexpr, MASK: tl.constexpr):
    """Where a tile of rows finds its keys, in whole tiles: partial ones from the first number to the second, full ones
    to the third, partial ones to the fourth."""
    if MASK == EVERYTHING:
        return 0, 0, keys // STEP * STEP, keys
    elif MASK == BAND or MASK == INTERVAL:
        here = rows < queries
        some = (start < stop) & here
        first = tl.min(tl.where(some, start, FAR), 0) // STEP * STEP
        last = tl.max(tl.where(some, stop, 0), 0)
        # Rows beyond the last one don't matter; a row that sees nothing leaves no tile full.
        full = tl.max(tl.where(here, tl.where(start < stop, start, FAR), 0), 0)
        full_end = tl.min(tl.where(here, stop, FAR), 0) // STEP * STEP
        full = (tl.minimum(full, keys) + STEP - 1) // STEP * STEP
        none = full >= full_end
        full = tl.where(none, last, full)
        return first, full, tl.where(none, last, full_end), last
    elif MASK == TWO_INTERVALS:
        here = rows < queries
        some, some2 = (start < stop) & here, (start2 < stop2) & here
        first = tl.minimum(tl.min(tl.where(some, start, FAR), 0), tl.min(tl.where(some2, start2, FAR), 0))
        last = tl.maximum(tl.max(tl.where(some, stop, 0), 0), tl.max(tl.where(some2, stop2, 0), 0))
        return first // STEP * STEP, last, last, last
    else:
        return 0, keys, keys, keys


@triton.jit
def is_seen(rows, columns, batch, head, mask, MASK: tl.constexpr):
    """Whether a tile holds an allowed pair, as far as a table of tiles says so."""
    if MASK == TABLE:
        row, column = tl.min(rows, 0) - mask[8], tl.min(columns, 0)
        place = batch * mask[5] + head * mask[6] + row // rows.shape[0] * mask[7] + column // columns.shape[0]
        return tl.load(mask[4] + place) != 0
    else:
        return True


@triton.jit
def shown_pairs(rows, columns, batch, head, start, stop, start2, stop2, queries, keys, mask, MASK: tl.constexpr):
    """Which pairs of a tile are allowed."""
    there = (columns[None, :] < keys) & (rows[:, None] < queries)
    if MASK == TABLE:
        row = (rows[:, None] - mask[8]).to(tl.int64)
        place = batch * mask[1] + head * mask[2] + row * mask[3] + columns[None, :]
        return tl.load(mask[0] + place, mask=there, other=0) != 0
    elif MASK == EVERYTHING:
        return there
    elif MASK == TWO_INTERVALS:
        inside = (columns[None, :] >= start[:, None]) & (columns[None, :] < stop[:, None])
        inside2 = (columns[None, :] >= start2[:, None]) & (columns[None, :] < stop2[:, None])
        return there & (inside | inside2)
    else:
        return there & (columns[None, :] >= start[:, None]) & (columns[None, :] < stop[:, None])


@triton.jit
def by_offset(pointer, rows, offset, queries, RELATIVE: tl.constexpr):
    """One number for each pair, of (row, 2 reach + 1): that of its distance, clipped. RELATIVE is 2 reach + 1."""
    reach: tl.constexpr = RELATIVE // 2
    clipped = tl.minimum(tl.maximum(offset, -reach), reach) + reach
    return tl.load(pointer + rows[:, None].to(tl.int64) * RELATIVE + clipped, mask=rows[:, None] < queries, other=0.0)


@triton.jit
def sum_by_offset(pointer, tile, rows, offset, shown, before, after, RELATIVE: tl.constexpr):
    """Put a tile's numbers where their distance belongs, in (row, 2 reach + 1). In a row, each distance occurs once,
    except for those that share the two ends, whose sums are returned."""
    reach: tl.constexpr = RELATIVE // 2
    place = pointer + rows[:, None].to(tl.int64) * RELATIVE + (offset + reach)
    tl.store(place, tile.to(pointer.dtype.element_ty), mask=shown & (offset > -reach) & (offset < reach))
    if reach == 0:
        before += tl.sum(tl.where(shown, tile, 0.0), 1)
    else:
        before += tl.sum(tl.where(shown & (offset <= -reach), tile, 0.0), 1)
        after += tl.sum(tl.where(shown & (offset >= reach), tile, 0.0), 1)
    return before, after


@triton.jit
def store_ends(pointer, rows, queries, before, after, RELATIVE: tl.constexpr):
    place = pointer + rows.to(tl.int64) * RELATIVE
    tl.store(place, before.to(pointer.dtype.element_ty), mask=rows < queries)
    if RELATIVE > 1:
        tl.store(place + RELATIVE - 1, after.to(pointer.dtype.element_ty), mask=rows < queries)


@triton.jit
def scores_of(
    query, key, rows, columns, batch, head, shift, queries, keys, scale, a, b, line, products, others, additive,
    SCORE: tl.constexpr, OTHERS: tl.constexpr, RELATIVE: tl.constexpr, ADDITIVE: tl.constexpr, SIZE: tl.constexpr,
    WIDE: tl.constexpr, PRECISION: tl.constexpr, INTERPRETED: tl.constexpr,
):  # fmt: skip
    """The products of a tile, and its scores with what the position adds to them."""
    if ADDITIVE != NONE:
        product = additive_scores(rows, columns, queries, keys, additive, ADDITIVE, SIZE, WIDE, INTERPRETED)
    else:
        nothing = tl.zeros([query.shape[0], key.shape[0]], WIDE)
        product = dot(query, tl.trans(key), nothing, PRECISION, INTERPRETED) * scale
    score = SCORE[0](product, a, b)
    offset = columns[None, :] - (rows[:, None] + shift)
    if len(line) > 0:
        there = (columns[None, :] < keys) & (rows[:, None] < queries)
        score += tl.load(line[0] + head * line[1] + (offset + line[2]), mask=there, other=0.0).to(WIDE)
    if RELATIVE > 0:
        score += by_offset(products, rows, offset, queries, RELATIVE).to(WIDE)
    for i in tl.static_range(len(OTHERS)):
        score = OTHERS[i](score, rows, columns, offset, batch, head, queries, keys, others[i])
    return product, score, offset


@triton.jit
def thresholds(
    query, K, rows, first, full, full_end, last, batch, head, shift, start, stop, start2, stop2, queries, keys, stride,
    scale, score_numbers, a, b, total, below, mask, line, products, others, additive,
    SCORE: tl.constexpr, NORMALISER: tl.constexpr, MASK: tl.constexpr, OTHERS: tl.constexpr, RELATIVE: tl.constexpr,
    ADDITIVE: tl.constexpr, SIZE: tl.constexpr, SIZE_BLOCK: tl.constexpr, COLUMNS: tl.constexpr, WIDE: tl.constexpr, PRECISION: tl.constexpr,
    TOLERANCE: tl.constexpr, FROM_LOWEST: tl.constexpr, INTERPRETED: tl.constexpr,
):  # fmt: skip
    """The highest score of each row, and the threshold below it with which the row's weights sum to `total`.

    Newton's method from below, within a bracket that is bisected where a step leaves it. For a sum that is convex in
    the threshold, as of entmax up to alpha 2, no step does.
    """
    highest = tl.full([rows.shape[0]], -float("inf"), WIDE)
    lowest = tl.full([rows.shape[0]], float("inf"), WIDE)
    for begin in range(first, last, COLUMNS):
        columns = begin + tl.arange(0, COLUMNS)
        if is_seen(rows, columns, batch, head, mask, MASK):
            key = load_rows(K, columns, keys, stride, SIZE, SIZE_BLOCK)
            _, score, _ = scores_of(
                query, key, rows, columns, batch, head, shift, queries, keys, scale, score_numbers[0], score_numbers[1],
                line, products, others, additive, SCORE, OTHERS, RELATIVE, ADDITIVE, SIZE, WIDE, PRECISION, INTERPRETED,
            )  # fmt: skip
            shown = shown_pairs(rows, columns, batch, head, start, stop, start2, stop2, queries, keys, mask, MASK)
            highest = tl.maximum(highest, tl.max(tl.where(shown, score, -float("inf")), 1))
            if FROM_LOWEST:
                lowest = tl.minimum(lowest, tl.min(tl.where(shown & (score > -float("inf")), score, float("inf")), 1))
    alive = highest != -float("inf")
    base = tl.where(alive, highest, 0.0)
    # The lower end: where the best key alone, or every key, has its largest weight.
    low = tl.where(alive, lowest - base - 1.0, -1.0) if FROM_LOWEST else tl.zeros_like(base) - below
    high = tl.zeros_like(base)
    found = low
    active = alive & (low == low) & (low > -float("inf"))
    passes = 0
    while (tl.max(tl.where(active, 1, 0), 0) > 0) & (passes < 128):
        of_weights = tl.zeros_like(base)
        of_slopes = tl.zeros_like(base)
        for begin in range(first, last, COLUMNS):
            columns = begin + tl.arange(0, COLUMNS)
            if is_seen(rows, columns, batch, head, mask, MASK):
                key = load_rows(K, columns, keys, stride, SIZE, SIZE_BLOCK)
                _, score, _ = scores_of(
                    query, key, rows, columns, batch, head, shift, queries, keys, scale, score_numbers[0],
                    score_numbers[1], line, products, others, additive, SCORE, OTHERS, RELATIVE, ADDITIVE, SIZE, WIDE, PRECISION, INTERPRETED,
                )  # fmt: skip
                shown = shown_pairs(rows, columns, batch, head, start, stop, start2, stop2, queries, keys, mask, MASK)
                score -= base[:, None]
                weight = NORMALISER[0](score, found[:, None], columns, a, b)
                slope = NORMALISER[1](score, weight, found[:, None], columns, a, b)
                of_weights += tl.sum(tl.where(shown, weight, 0.0), 1)
                of_slopes += tl.sum(tl.where(shown, slope, 0.0), 1)
        over = of_weights >= total
        low = tl.where(active & over, found, low)
        high = tl.where(active & (of_weights < total), found, high)
        step = (of_weights - total) / tl.where(of_slopes > 0.0, of_slopes, 1.0)
        newton = found + step
        is_found = tl.abs(step) <= TOLERANCE * (1.0 + tl.abs(found))
        inside = (newton > low) & (newton < high) & (of_slopes > 0.0)
        moved = tl.where(is_found | inside, newton, 0.5 * (low + high))
        still = ~is_found & (tl.abs(moved - found) > TOLERANCE * (1.0 + tl.abs(found)))
        # NaN weights make the threshold NaN, so that the row shows it.
        found = tl.where(of_weights == of_weights, tl.where(active, moved, found), of_weights)
        active = active & still
        passes += 1
    found = tl.where(alive, tl.where(highest == highest, found, highest), 0.0)
    return highest, found


@triton.jit
def forward(
    Q, K, V, OUT, WIDE_OUT, HIGHEST_OUT, FOUND_OUT, SUMS, strides, sizes, shift, scale_number, score_numbers,
    numbers, search, mask, line, products, others, dropout, additive,
    SCORE: tl.constexpr, NORMALISER: tl.constexpr, FIND: tl.constexpr, SHARP: tl.constexpr, MASK: tl.constexpr,
    OTHERS: tl.constexpr, RELATIVE: tl.constexpr, RELATIVE_VALUES: tl.constexpr, DROPS: tl.constexpr,
    RAGGED: tl.constexpr, SAVES: tl.constexpr, SPLITS: tl.constexpr, ADDITIVE: tl.constexpr,
    SIZE: tl.constexpr, SIZE_BLOCK: tl.constexpr, VALUE: tl.constexpr, VALUE_BLOCK: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDE: tl.constexpr,
    PRECISION: tl.constexpr,
    TOLERANCE: tl.constexpr, FROM_LOWEST: tl.constexpr, INTERPRETED: tl.constexpr,
):  # fmt: skip
    """The outputs of a tile of queries, and what their gradient needs to know of each row."""
    group = tl.program_id(1)
    queries, keys, heads, repeat, first_row, last_row = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    batch, head = group // heads, group % heads
    batch_place, head_place, key_head = batch.to(tl.int64), head.to(tl.int64), (head // repeat).to(tl.int64)
    Q += batch_place * strides[0] + head_place * strides[1]
    K += batch_place * strides[3] + key_head * strides[4]
    V += batch_place * strides[6] + key_head * strides[7]
    rows = first_row + tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    if RELATIVE > 0:
        products += group.to(tl.int64) * queries * RELATIVE
    shift = shift_of(shift, batch, RAGGED)
    scale = scalar(scale_number, head, WIDE)
    score_numbers = (scalar(score_numbers[0], head, WIDE), scalar(score_numbers[1], head, WIDE))
    a, b = scalar(numbers[0], head, WIDE), scalar(numbers[1], head, WIDE)
    if ADDITIVE != NONE:
        additive = of_group(additive, batch, head, heads, repeat, queries, keys, SIZE, WIDE)
    start, stop, start2, stop2 = intervals_of(rows, batch, shift, queries, keys, mask, MASK)
    first, full, full_end, last = phases_of(rows, start, stop, start2, stop2, queries, keys, COLUMNS, MASK)
    query = load_rows(Q, rows, last_row, strides[2], SIZE, SIZE_BLOCK)
    first_of_all, last_of_all = first, last
    if SPLITS > 1:
        # This program's share of the keys, in whole tiles.
        share = tl.cdiv(tl.cdiv(keys, COLUMNS), SPLITS) * COLUMNS
        begin_of_share = tl.program_id(2) * share
        end_of_share = tl.minimum(begin_of_share + share, keys)
        first = tl.minimum(tl.maximum(first, begin_of_share), end_of_share)
        full = tl.minimum(tl.maximum(full, begin_of_share), end_of_share)
        full_end = tl.minimum(tl.maximum(full_end, begin_of_share), end_of_share)
        last = tl.minimum(tl.maximum(last, begin_of_share), end_of_share)

    highest = tl.zeros([ROWS], WIDE)
    found = tl.zeros([ROWS], WIDE)
    if FIND == SOFTMAX:
        highest = tl.full([ROWS], -float("inf"), WIDE)
    elif FIND == NUMBER:
        found += a
    elif FIND == COUNT or FIND == LOG_COUNT:
        count = (stop - start + stop2 - start2).to(WIDE)
        if MASK == TABLE:
            count = tl.zeros([ROWS], WIDE)
            for begin in range(first_of_all, last_of_all, COLUMNS):
                columns = begin + tl.arange(0, COLUMNS)
                if is_seen(rows, columns, batch, head, mask, MASK):
                    shown = shown_pairs(
                        rows, columns, batch, head, start, stop, start2, stop2, queries, keys, mask, MASK
                    )
                    count += tl.sum(tl.where(shown, 1.0, 0.0), 1)
        count = tl.where(count > 0.0, count, 1.0)
        found = 1.0 / count if FIND == COUNT else -tl.log2(count) / LOG2E
    elif FIND == THRESHOLD:
        total, lowest = scalar(search[0], head, WIDE), scalar(search[1], head, WIDE)
        highest, found = thresholds(
            query, K, rows, first, full, full_end, last, batch, head, shift, start, stop, start2, stop2, queries, keys,
            strides[5], scale, score_numbers, a, b, total, lowest, mask, line, products, others, additive, SCORE,
            NORMALISER, MASK, OTHERS, RELATIVE, ADDITIVE, SIZE, SIZE_BLOCK, COLUMNS, WIDE, PRECISION, TOLERANCE,
            FROM_LOWEST, INTERPRETED,
        )  # fmt: skip
    elif FIND == HIGHEST:
        highest = tl.full([ROWS], -float("inf"), WIDE)
        for begin in range(first, last, COLUMNS):
            columns = begin + tl.arange(0, COLUMNS)
            if is_seen(rows, columns, batch, head, mask, MASK):
                key = load_rows(K, columns, keys, strides[5], SIZE, SIZE_BLOCK)
                _, score, _ = scores_of(
                    query, key, rows, columns, batch, head, shift, queries, keys, scale, score_numbers[0],
                    score_numbers[1], line, products, others, additive, SCORE, OTHERS, RELATIVE, ADDITIVE, SIZE, WIDE, PRECISION, INTERPRETED,
                )  # fmt: skip
                shown = shown_pairs(rows, columns, batch, head, start, stop, start2, stop2, queries, keys, mask, MASK)
                score = tl.where(shown, score, -float("inf"))
                best = tl.max(score, 1)
                place = tl.min(tl.where(score == best[:, None], columns[None, :], FAR), 1)
                nan = tl.max(tl.where(score == score, 0, 1), 1) > 0
                found = tl.where(best > highest, place.to(WIDE), found)
                found = tl.where(nan, float("nan"), found)
                highest = tl.maximum(highest, best)

    sums = tl.zeros([ROWS], WIDE)
    total_out = tl.zeros([ROWS, VALUE_BLOCK], WIDE)
    for phase in tl.static_range(3):
        if phase == 0:
            low, high = first, full
        elif phase == 1:
            low, high = full, full_end
        else:
            low, high = full_end, last
        for begin in range(low, high, COLUMNS):
            columns = begin + tl.arange(0, COLUMNS)
            if phase == 1 or is_seen(rows, columns, batch, head, mask, MASK):
                key = load_rows(K, columns, keys, strides[5], SIZE, SIZE_BLOCK)
                value = load_rows(V, columns, keys, strides[8], VALUE, VALUE_BLOCK)
                _, score, _ = scores_of(
                    query, key, rows, columns, batch, head, shift, queries, keys, scale, score_numbers[0],
                    score_numbers[1], line, products, others, additive, SCORE, OTHERS, RELATIVE, ADDITIVE, SIZE, WIDE, PRECISION, INTERPRETED,
                )  # fmt: skip
                if SHARP:
                    score *= a
                shown = shown_pairs(rows, columns, batch, head, start, stop, start2, stop2, queries, keys, mask, MASK)
                if FIND == SOFTMAX:
                    if phase != 1:
                        score = tl.where(shown, score, -float("inf"))
                    best = tl.maximum(highest, tl.max(score, 1))
                    base = tl.where(best == -float("inf"), 0.0, best)
                    weight = tl.exp2((score - base[:, None]) * LOG2E)
                    rest = tl.exp2((highest - base) * LOG2E)
                    highest = best
                    sums = sums * rest + tl.sum(weight, 1)
                    total_out *= rest[:, None]
                else:
                    base = (
                        tl.where(highest == -float("inf"), 0.0, highest) if FIND == THRESHOLD else tl.zeros_like(found)
                    )
                    weight = NORMALISER[0](score - base[:, None], found[:, None], columns, a, b)
                    if phase != 1:
                        weight = tl.where(shown, weight, 0.0)
                if DROPS:
                    weight *= keep_scale(
                        batch, head, rows, columns, dropout[0], dropout[1], scalar(dropout[2], head, WIDE), WIDE
                    )
                if phase != 1 and MASK != EVERYTHING:
                    if is_unfinite(value):
                        total_out = hidden_dot(weight, value, shown, total_out)
                    else:
                        total_out = dot(weight.to(value.dtype), value, total_out, PRECISION, INTERPRETED)
                else:
                    total_out = dot(weight.to(value.dtype), value, total_out, PRECISION, INTERPRETED)
    if FIND == SOFTMAX:
        found = 1.0 / tl.where(sums == 0.0, 1.0, sums)
        total_out *= found[:, None]
        highest = tl.where(sums == 0.0, -float("inf"), highest)
    if FIND == SOFTMAX or FIND == THRESHOLD or FIND == HIGHEST:
        # A row whose scores are all minus infinity is one that sees nothing.
        total_out = tl.where(highest[:, None] == -float("inf"), 0.0, total_out)

    if RELATIVE_VALUES > 0:
        # Weights by distance, now that they are known.
        SUMS += group.to(tl.int64) * queries * RELATIVE_VALUES
        before = tl.zeros([ROWS], WIDE)
        after = tl.zeros([ROWS], WIDE)
        base = (
            tl.where(highest == -float("inf"), 0.0, highest)
            if FIND == SOFTMAX or FIND == THRESHOLD
            else tl.zeros_like(found)
        )
        for begin in range(first, last, COLUMNS):
            columns = begin + tl.arange(0, COLUMNS)
            if is_seen(rows, columns, batch, head, mask, MASK):
                key = load_rows(K, columns, keys, strides[5], SIZE, SIZE_BLOCK)
                _, score, offset = scores_of(
                    query, key, rows, columns, batch, head, shift, queries, keys, scale, score_numbers[0],
                    score_numbers[1], line, products, others, additive, SCORE, OTHERS, RELATIVE, ADDITIVE, SIZE, WIDE, PRECISION, INTERPRETED,
                )  # fmt: skip
                if SHARP:
                    score *= a
                shown = shown_pairs(rows, columns, batch, head, start, stop, start2, stop2, queries, keys, mask, MASK)
                shown = shown & (highest[:, None] != -float("inf"))
                weight = NORMALISER[0](score - base[:, None], found[:, None], columns, a, b)
                if DROPS:
                    weight *= keep_scale(
                        batch, head, rows, columns, dropout[0], dropout[1], scalar(dropout[2], head, WIDE), WIDE
                    )
                before, after = sum_by_offset(SUMS, weight, rows, offset, shown, before, after, RELATIVE_VALUES)
        store_ends(SUMS, rows, last_row, before, after, RELATIVE_VALUES)

    place = group.to(tl.int64) * queries
    if SPLITS > 1:
        place += tl.program_id(2).to(tl.int64) * tl.num_programs(1) * queries
    store_rows(OUT + place * VALUE, rows, last_row, VALUE, total_out, VALUE, VALUE_BLOCK)
    if SAVES:
        store_rows(WIDE_OUT + place * VALUE, rows, last_row, VALUE, total_out, VALUE, VALUE_BLOCK)
    tl.store(HIGHEST_OUT + place + rows, highest, mask=rows < last_row)
    tl.store(FOUND_OUT + place + rows, found, mask=rows < last_row)


@triton.jit
def merge(
    PARTS, HIGHEST_PARTS, FOUND_PARTS, OUT, WIDE_OUT, HIGHEST_OUT, FOUND_OUT, count, splits,
    IS_SOFTMAX: tl.constexpr, SAVES: tl.constexpr, VALUE: tl.constexpr, VALUE_BLOCK: tl.constexpr, ROWS: tl.constexpr,
    WIDE: tl.constexpr,
):  # fmt: skip
    """The outputs of a tile of rows, of all heads, from those over the shares of the keys."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    highest = tl.full([ROWS], -float("inf"), WIDE)
    sums = tl.zeros([ROWS], WIDE)
    found = tl.zeros([ROWS], WIDE)
    total = tl.zeros([ROWS, VALUE_BLOCK], WIDE)
    for split in range(splits):
        place = rows + tl.full([ROWS], split, tl.int64) * count
        part = load_rows(PARTS, place, count * splits, VALUE, VALUE, VALUE_BLOCK)
        here = tl.load(HIGHEST_PARTS + place, mask=rows < count, other=0.0)
        own = tl.load(FOUND_PARTS + place, mask=rows < count, other=1.0)
        if IS_SOFTMAX:
            best = tl.maximum(highest, here)
            base = tl.where(best == -float("inf"), 0.0, best)
            rest = tl.exp2((highest - base) * LOG2E)
            share = tl.where(here == -float("inf"), 0.0, tl.exp2((here - base) * LOG2E) / own)
            sums = sums * rest + share
            total = total * rest[:, None] + tl.where(share[:, None] == 0.0, 0.0, part * share[:, None])
            highest = best
        else:
            total += part
            highest, found = here, own
    if IS_SOFTMAX:
        found = 1.0 / tl.where(sums == 0.0, 1.0, sums)
        total *= found[:, None]
    store_rows(OUT, rows, count, VALUE, total, VALUE, VALUE_BLOCK)
    if SAVES:
        store_rows(WIDE_OUT, rows, count, VALUE, total, VALUE, VALUE_BLOCK)
    tl.store(HIGHEST_OUT + rows, highest, mask=rows < count)
    tl.store(FOUND_OUT + rows, found, mask=rows < count)


@triton.jit
def derivatives(
    query, key, value, grad_output, rows, columns, batch, head, shift, queries, keys, scale, score_numbers, a, b,
    highest, found, start, stop, start2, stop2, mask, line, products, value_products, others, dropout, additive,
    SCORE: tl.constexpr, NORMALISER: tl.constexpr, SHARP: tl.constexpr, MASK: tl.constexpr, OTHERS: tl.constexpr,
    RELATIVE: tl.constexpr, RELATIVE_VALUES: tl.constexpr, DROPS: tl.constexpr, PARTIAL: tl.constexpr,
    ADDITIVE: tl.constexpr, SIZE: tl.constexpr, WIDE: tl.constexpr, PRECISION: tl.constexpr, INTERPRETED: tl.constexpr,
):  # fmt: skip
    """Of a tile: products, scores less the highest, weights, slopes, the gradient of the weights, the factors of
    dropout, the pairs that count, and their distances."""
    product, score, offset = scores_of(
        query, key, rows, columns, batch, head, shift, queries, keys, scale, score_numbers[0], score_numbers[1], line,
        products, others, additive, SCORE, OTHERS, RELATIVE, ADDITIVE, SIZE, WIDE, PRECISION, INTERPRETED,
    )  # fmt: skip
    if SHARP:
        score *= a
    alive = highest != -float("inf")
    score -= tl.where(alive, highest, 0.0)[:, None]
    weight = NORMALISER[0](score, found[:, None], columns, a, b)
    slope = NORMALISER[1](score, weight, found[:, None], columns, a, b)
    above = dot(grad_output, tl.trans(value), tl.zeros([rows.shape[0], columns.shape[0]], WIDE), PRECISION, INTERPRETED)
    if RELATIVE_VALUES > 0:
        above += by_offset(value_products, rows, offset, queries, RELATIVE_VALUES).to(WIDE)
    keep = tl.full([rows.shape[0], columns.shape[0]], 1.0, WIDE)
    if DROPS:
        keep = keep_scale(batch, head, rows, columns, dropout[0], dropout[1], scalar(dropout[2], head, WIDE), WIDE)
        above *= keep
    shown = (rows[:, None] < queries) & alive[:, None]
    if PARTIAL:
        shown &= shown_pairs(rows, columns, batch, head, start, stop, start2, stop2, queries, keys, mask, MASK)
    return product, score, weight, slope, above, keep, shown, offset


@triton.jit
def backward_of_queries(
    Q, K, V, WIDE_OUT, GRAD_OUT, GRAD_LOG_SUMS, HIGHEST_IN, FOUND_IN, MEAN_OUT, GRAD_Q, GRAD_PRODUCTS, GRAD_NUMBER,
    GRAD_SCORE_NUMBER, GRAD_TABLE, GRAD_SLOPES, SHARE, strides, sizes, shift, scale_number, score_numbers, numbers, mask, line,
    products, value_products, others, dropout, additive, table,
    SCORE: tl.constexpr, NORMALISER: tl.constexpr, FIND: tl.constexpr, CENTRED: tl.constexpr, SHARP: tl.constexpr,
    MASK: tl.constexpr, OTHERS: tl.constexpr, RELATIVE: tl.constexpr, RELATIVE_VALUES: tl.constexpr,
    TABLE_SIZE: tl.constexpr, SLOPES: tl.constexpr, DROPS: tl.constexpr, RAGGED: tl.constexpr, LOG_SUMS: tl.constexpr,
    ADDITIVE: tl.constexpr, SIZE: tl.constexpr, SIZE_BLOCK: tl.constexpr, VALUE: tl.constexpr, VALUE_BLOCK: tl.constexpr, ROWS: tl.constexpr,
    COLUMNS: tl.constexpr, WIDE: tl.constexpr,
    PRECISION: tl.constexpr, INTERPRETED: tl.constexpr,
):  # fmt: skip
    """The gradient of a tile of queries, and its share in the gradients of the parts' operands."""
    group = tl.program_id(1)
    queries, keys, heads, repeat, first_row, last_row = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    batch, head = group // heads, group % heads
    batch_place, head_place, key_head = batch.to(tl.int64), head.to(tl.int64), (head // repeat).to(tl.int64)
    Q += batch_place * strides[0] + head_place * strides[1]
    K += batch_place * strides[3] + key_head * strides[4]
    V += batch_place * strides[6] + key_head * strides[7]
    GRAD_OUT += batch_place * strides[9] + head_place * strides[10]
    rows = first_row + tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    place = group.to(tl.int64) * queries
    if RELATIVE > 0:
        products += place * RELATIVE
        GRAD_PRODUCTS += place * RELATIVE
    if RELATIVE_VALUES > 0:
        value_products += place * RELATIVE_VALUES
    shift = shift_of(shift, batch, RAGGED)
    scale = scalar(scale_number, head, WIDE)
    score_numbers = (scalar(score_numbers[0], head, WIDE), scalar(score_numbers[1], head, WIDE))
    a, b = scalar(numbers[0], head, WIDE), scalar(numbers[1], head, WIDE)
    if ADDITIVE != NONE:
        additive = of_group(additive, batch, head, heads, repeat, queries, keys, SIZE, WIDE)
    start, stop, start2, stop2 = intervals_of(rows, batch, shift, queries, keys, mask, MASK)
    first, full, full_end, last = phases_of(rows, start, stop, start2, stop2, queries, keys, COLUMNS, MASK)
    query = load_rows(Q, rows, last_row, strides[2], SIZE, SIZE_BLOCK)
    grad_output = load_rows(GRAD_OUT, rows, last_row, strides[11], VALUE, VALUE_BLOCK)
    highest = tl.load(HIGHEST_IN + place + rows, mask=rows < last_row, other=0.0)
    found = tl.load(FOUND_IN + place + rows, mask=rows < last_row, other=0.0)
    # A row that sees nothing passes no gradient, whatever comes in.
    grad_output = tl.where(highest[:, None] == -float("inf"), 0.0, grad_output)

    mean = tl.zeros([ROWS], WIDE)
    if FIND == SOFTMAX:
        output = load_rows(WIDE_OUT + place * VALUE, rows, last_row, VALUE, VALUE, VALUE_BLOCK)
        mean = tl.sum(output.to(WIDE) * grad_output.to(WIDE), 1)
        if LOG_SUMS:
            mean -= tl.load(GRAD_LOG_SUMS + place + rows, mask=rows < last_row, other=0.0).to(WIDE)
    elif CENTRED:
        of_slopes = tl.zeros([ROWS], WIDE)
        for begin in range(first, last, COLUMNS):
            columns = begin + tl.arange(0, COLUMNS)
            if is_seen(rows, columns, batch, head, mask, MASK):
                key = load_rows(K, columns, keys, strides[5], SIZE, SIZE_BLOCK)
                value = load_rows(V, columns, keys, strides[8], VALUE, VALUE_BLOCK)
                _, _, _, slope, above, _, shown, _ = derivatives(
                    query, key, value, grad_output, rows, columns, batch, head, shift, queries, keys, scale,
                    score_numbers, a, b, highest, found, start, stop, start2, stop2, mask, line, products,
                    value_products, others, dropout, additive, SCORE, NORMALISER, SHARP, MASK, OTHERS, RELATIVE,
                    RELATIVE_VALUES, DROPS, True, ADDITIVE, SIZE, WIDE, PRECISION, INTERPRETED,
                )  # fmt: skip
                of_slopes += tl.sum(tl.where(shown, slope, 0.0), 1)
                # Where a weight doesn't change, what it is multiplied by doesn't matter.
                mean += tl.sum(tl.where(shown & (slope != 0.0), slope * above, 0.0), 1)
        mean = mean / tl.where(of_slopes == 0.0, 1.0, of_slopes)

    grad_query = tl.zeros([ROWS, SIZE_BLOCK], WIDE)
    if ADDITIVE != NONE:
        GRAD_Q += place * laid_out(SIZE)
        SHARE += place * laid_out(SIZE)
    of_number = tl.zeros([ROWS], WIDE)
    of_score_number = tl.zeros([ROWS], WIDE)
    before = tl.zeros([ROWS], WIDE)
    after = tl.zeros([ROWS], WIDE)
    of_slopes_own = tl.zeros([ROWS], WIDE)
    TABLE_FIELDS: tl.constexpr = 2 if TABLE_SIZE > 0 else 0
    TABLE_BLOCK: tl.constexpr = TABLE_SIZE if TABLE_SIZE > 0 else 1
    entries = tl.arange(0, TABLE_BLOCK)
    of_table = tl.zeros([TABLE_BLOCK], WIDE)
    for phase in tl.static_range(3):
        if phase == 0:
            low, high = first, full
        elif phase == 1:
            low, high = full, full_end
        else:
            low, high = full_end, last
        for begin in range(low, high, COLUMNS):
            columns = begin + tl.arange(0, COLUMNS)
            if phase == 1 or is_seen(rows, columns, batch, head, mask, MASK):
                key = load_rows(K, columns, keys, strides[5], SIZE, SIZE_BLOCK)
                value = load_rows(V, columns, keys, strides[8], VALUE, VALUE_BLOCK)
                product, score, weight, slope, above, _, shown, offset = derivatives(
                    query, key, value, grad_output, rows, columns, batch, head, shift, queries, keys, scale,
                    score_numbers, a, b, highest, found, start, stop, start2, stop2, mask, line, products,
                    value_products, others, dropout, additive, SCORE, NORMALISER, SHARP, MASK, OTHERS, RELATIVE,
                    RELATIVE_VALUES, DROPS, phase != 1, ADDITIVE, SIZE, WIDE, PRECISION, INTERPRETED,
                )  # fmt: skip
                change = above - mean[:, None]
                grad_score = slope * change
                if phase != 1:
                    grad_score = tl.where(shown, grad_score, 0.0)
                if len(NORMALISER) > 2:
                    own = NORMALISER[2](score, weight, slope, found[:, None], columns, a, b)
                    of_number += tl.sum(tl.where(shown, own * change, 0.0), 1)
                if SHARP:
                    grad_score *= a
                if RELATIVE > 0:
                    before, after = sum_by_offset(
                        GRAD_PRODUCTS, grad_score, rows, offset, shown, before, after, RELATIVE
                    )
                if TABLE_SIZE > 0:
                    # Which entry of a table the pair's bias is: few of them in a tile.
                    index = tl.load(table[0] + (offset + table[1]), mask=shown, other=0)
                    lowest = tl.min(tl.min(tl.where(shown, index, FAR), 1), 0)
                    most = tl.max(tl.max(tl.where(shown, index, -1), 1), 0)
                    for entry in range(lowest, most + 1):
                        of_entry = tl.sum(tl.sum(tl.where(shown & (index == entry), grad_score, 0.0), 1), 0)
                        of_table += tl.where(entries == entry, of_entry, 0.0)
                if SLOPES:
                    distance = tl.load(table[TABLE_FIELDS] + (offset + table[TABLE_FIELDS + 1]), mask=shown, other=0.0)
                    of_slopes_own += tl.sum(tl.where(shown, grad_score * distance, 0.0), 1)
                if len(SCORE) > 2:
                    own = SCORE[2](product, score_numbers[0], score_numbers[1])
                    of_score_number += tl.sum(tl.where(shown, own * grad_score, 0.0), 1)
                grad_score = SCORE[1](product, score_numbers[0], score_numbers[1]) * grad_score
                if phase != 1:
                    grad_score = tl.where(shown, grad_score, 0.0)
                grad_score *= scale
                if ADDITIVE != NONE:
                    add_gradients(
                        tl.trans(grad_score), rows, columns, queries, keys, additive[0], additive[1], additive, GRAD_Q,
                        SHARE, ADDITIVE, SIZE, True, phase != 1, INTERPRETED,
                    )  # fmt: skip
                elif phase != 1 and MASK != EVERYTHING:
                    if is_unfinite(key):
                        grad_query = hidden_dot(grad_score, key, shown, grad_query)
                    else:
                        grad_query = dot(grad_score.to(key.dtype), key, grad_query, PRECISION, INTERPRETED)
                else:
                    grad_query = dot(grad_score.to(key.dtype), key, grad_query, PRECISION, INTERPRETED)
    if ADDITIVE == NONE:
        store_rows(GRAD_Q + place * SIZE, rows, last_row, SIZE, grad_query, SIZE, SIZE_BLOCK)
    tl.store(MEAN_OUT + place + rows, mean, mask=rows < last_row)
    if RELATIVE > 0:
        store_ends(GRAD_PRODUCTS, rows, last_row, before, after, RELATIVE)
    if len(NORMALISER) > 2:
        tl.store(GRAD_NUMBER + place + rows, of_number, mask=rows < last_row)
    if len(SCORE) > 2:
        tl.store(GRAD_SCORE_NUMBER + place + rows, of_score_number, mask=rows < last_row)
    if SLOPES:
        tl.store(GRAD_SLOPES + place + rows, of_slopes_own, mask=rows < last_row)
    if TABLE_SIZE > 0:
        block = first_row // ROWS + tl.program_id(0)
        program = group.to(tl.int64) * tl.cdiv(queries, ROWS) + block
        tl.store(GRAD_TABLE + program * TABLE_SIZE + entries, of_table)


@triton.jit
def rows_that_see(columns, shift, queries, keys, mask, STEP: tl.constexpr, MASK: tl.constexpr):
    """Where a tile of keys finds its queries: as `phases_of`, the other way round."""
    if MASK == EVERYTHING:
        return 0, 0, queries // STEP * STEP, queries
    elif MASK == BAND:
        low, high = tl.min(columns, 0), tl.minimum(tl.max(columns, 0), keys - 1)
        first = tl.maximum(low - shift - mask[1], 0) // STEP * STEP
        last = tl.minimum(high - shift + mask[0] + 1, queries)
        full = tl.maximum(high - shift - mask[1], 0)
        full_end = tl.minimum(tl.maximum(low - shift + mask[0] + 1, 0), queries) // STEP * STEP
        full = (tl.minimum(full, queries) + STEP - 1) // STEP * STEP
        none = full >= full_end
        return first, tl.where(none, last, full), tl.where(none, last, full_end), last
    else:
        return 0, queries, queries, queries


@triton.jit
def backward_of_keys(
    Q, K, V, GRAD_OUT, HIGHEST_IN, FOUND_IN, MEAN_IN, GRAD_K, GRAD_V, strides, sizes, shift, scale_number,
    score_numbers, numbers, mask, line, products, value_products, others, dropout, additive,
    SCORE: tl.constexpr, NORMALISER: tl.constexpr, SHARP: tl.constexpr, MASK: tl.constexpr, OTHERS: tl.constexpr,
    RELATIVE: tl.constexpr, RELATIVE_VALUES: tl.constexpr, DROPS: tl.constexpr, RAGGED: tl.constexpr,
    ADDS: tl.constexpr, ADDITIVE: tl.constexpr, SIZE: tl.constexpr, SIZE_BLOCK: tl.constexpr, VALUE: tl.constexpr, VALUE_BLOCK: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDE: tl.constexpr, PRECISION: tl.constexpr, INTERPRETED: tl.constexpr,
):  # fmt: skip
    """The gradients of a tile of keys and of their values, from all heads of queries that share them."""
    group = tl.program_id(1)
    queries, keys, heads, repeat, first_row, last_row = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    key_heads = heads // repeat
    batch, key_head = group // key_heads, group % key_heads
    batch_place = batch.to(tl.int64)
    K += batch_place * strides[3] + key_head.to(tl.int64) * strides[4]
    V += batch_place * strides[6] + key_head.to(tl.int64) * strides[7]
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    shift = shift_of(shift, batch, RAGGED)
    key = load_rows(K, columns, keys, strides[5], SIZE, SIZE_BLOCK)
    value = load_rows(V, columns, keys, strides[8], VALUE, VALUE_BLOCK)
    first, full, full_end, last = rows_that_see(columns, shift, queries, keys, mask, ROWS, MASK)
    first = tl.maximum(first, first_row)
    last = tl.minimum(last, last_row)
    grad_key = tl.zeros([COLUMNS, SIZE_BLOCK], WIDE)
    if ADDITIVE != NONE:
        GRAD_K += group.to(tl.int64) * keys * laid_out(SIZE)
    grad_value = tl.zeros([COLUMNS, VALUE_BLOCK], WIDE)
    for member in range(repeat):
        head = key_head * repeat + member
        scale = scalar(scale_number, head, WIDE)
        numbers_of_score = (scalar(score_numbers[0], head, WIDE), scalar(score_numbers[1], head, WIDE))
        a, b = scalar(numbers[0], head, WIDE), scalar(numbers[1], head, WIDE)
        if ADDITIVE != NONE:
            additive_head = of_group(additive, batch, head, heads, repeat, queries, keys, SIZE, WIDE)
        else:
            additive_head = additive
        Q_head = Q + batch_place * strides[0] + head.to(tl.int64) * strides[1]
        GRAD_head = GRAD_OUT + batch_place * strides[9] + head.to(tl.int64) * strides[10]
        place = (batch_place * heads + head) * queries
        products_head = products + place * RELATIVE if RELATIVE > 0 else products
        value_products_head = value_products + place * RELATIVE_VALUES if RELATIVE_VALUES > 0 else value_products
        for phase in tl.static_range(3):
            if phase == 0:
                low, high = first, full
            elif phase == 1:
                low, high = full, full_end
            else:
                low, high = full_end, last
            for begin in range(low, high, ROWS):
                rows = begin + tl.arange(0, ROWS)
                start, stop, start2, stop2 = intervals_of(rows, batch, shift, queries, keys, mask, MASK)
                if phase == 1 or reaches(rows, columns, batch, head, start, stop, start2, stop2, queries, mask, MASK):
                    query = load_rows(Q_head, rows, last_row, strides[2], SIZE, SIZE_BLOCK)
                    grad_output = load_rows(GRAD_head, rows, last_row, strides[11], VALUE, VALUE_BLOCK)
                    highest = tl.load(HIGHEST_IN + place + rows, mask=rows < last_row, other=0.0)
                    found = tl.load(FOUND_IN + place + rows, mask=rows < last_row, other=0.0)
                    mean = tl.load(MEAN_IN + place + rows, mask=rows < last_row, other=0.0)
                    grad_output = tl.where(highest[:, None] == -float("inf"), 0.0, grad_output)
                    product, _, weight, slope, above, keep, shown, _ = derivatives(
                        query, key, value, grad_output, rows, columns, batch, head, shift, queries, keys, scale,
                        numbers_of_score, a, b, highest, found, start, stop, start2, stop2, mask, line, products_head,
                        value_products_head, others, dropout, additive_head, SCORE, NORMALISER, SHARP, MASK, OTHERS, RELATIVE,
                        RELATIVE_VALUES, DROPS, phase != 1, ADDITIVE, SIZE, WIDE, PRECISION, INTERPRETED,
                    )  # fmt: skip
                    grad_score = slope * (above - mean[:, None])
                    grad_score = SCORE[1](product, numbers_of_score[0], numbers_of_score[1]) * grad_score
                    if SHARP:
                        grad_score *= a
                    grad_score *= scale
                    if DROPS:
                        weight *= keep
                    if phase != 1:
                        grad_score = tl.where(shown, grad_score, 0.0)
                        weight = tl.where(shown, weight, 0.0)
                    to_keys, to_values = tl.trans(grad_score), tl.trans(weight)
                    if ADDITIVE != NONE:
                        add_gradients(
                            grad_score, columns, rows, keys, queries, additive_head[1], additive_head[0], additive_head,
                            GRAD_K, GRAD_K, ADDITIVE, SIZE, False, phase != 1, INTERPRETED,
                        )  # fmt: skip
                    if phase != 1 and MASK != EVERYTHING:
                        if (ADDITIVE == NONE and is_unfinite(query)) or is_unfinite(grad_output):
                            if ADDITIVE == NONE:
                                grad_key = hidden_dot(to_keys, query, tl.trans(shown), grad_key)
                            grad_value = hidden_dot(to_values, grad_output, tl.trans(shown), grad_value)
                        else:
                            if ADDITIVE == NONE:
                                grad_key = dot(to_keys.to(query.dtype), query, grad_key, PRECISION, INTERPRETED)
                            grad_value = dot(
                                to_values.to(grad_output.dtype), grad_output, grad_value, PRECISION, INTERPRETED
                            )
                    else:
                        if ADDITIVE == NONE:
                            grad_key = dot(to_keys.to(query.dtype), query, grad_key, PRECISION, INTERPRETED)
                        grad_value = dot(
                            to_values.to(grad_output.dtype), grad_output, grad_value, PRECISION, INTERPRETED
                        )
    place = group.to(tl.int64) * keys
    if ADDITIVE == NONE:
        add_rows(GRAD_K + place * SIZE, columns, keys, SIZE, grad_key, SIZE, SIZE_BLOCK, ADDS)
    add_rows(GRAD_V + place * VALUE, columns, keys, VALUE, grad_value, VALUE, VALUE_BLOCK, ADDS)


@triton.jit
def backward_of_pairs(
    Q, K, V, GRAD_OUT, HIGHEST_IN, FOUND_IN, MEAN_IN, GRAD_PAIRS, strides, sizes, tables, shift, scale_number,
    score_numbers, numbers, mask, line, products, value_products, others, dropout, additive,
    SCORE: tl.constexpr, NORMALISER: tl.constexpr, SHARP: tl.constexpr, MASK: tl.constexpr, OTHERS: tl.constexpr,
    RELATIVE: tl.constexpr, RELATIVE_VALUES: tl.constexpr, DROPS: tl.constexpr, RAGGED: tl.constexpr,
    ADDITIVE: tl.constexpr, SIZE: tl.constexpr, SIZE_BLOCK: tl.constexpr, VALUE: tl.constexpr, VALUE_BLOCK: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDE: tl.constexpr, PRECISION: tl.constexpr, INTERPRETED: tl.constexpr,
):  # fmt: skip
    """The gradient of a tile of a table of biases, from all items and heads that share it."""
    queries, keys, heads, repeat, first_row, last_row = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    # How many tables of items and of heads there are, and how many items and heads share one.
    tables_of_heads, items_of_table, heads_of_table = tables[0], tables[1], tables[2]
    number, tiles = tl.program_id(1), tl.cdiv(keys, COLUMNS)
    rows = first_row + tl.program_id(0) // tiles * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(0) % tiles * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros([ROWS, COLUMNS], WIDE)
    for member in range(items_of_table * heads_of_table):
        batch = number // tables_of_heads + member // heads_of_table
        head = number % tables_of_heads + member % heads_of_table
        batch_place, head_place, key_head = batch.to(tl.int64), head.to(tl.int64), (head // repeat).to(tl.int64)
        own_shift = shift_of(shift, batch, RAGGED)
        start, stop, start2, stop2 = intervals_of(rows, batch, own_shift, queries, keys, mask, MASK)
        if reaches(rows, columns, batch, head, start, stop, start2, stop2, queries, mask, MASK):
            Q_own = Q + batch_place * strides[0] + head_place * strides[1]
            K_own = K + batch_place * strides[3] + key_head * strides[4]
            V_own = V + batch_place * strides[6] + key_head * strides[7]
            GRAD_own = GRAD_OUT + batch_place * strides[9] + head_place * strides[10]
            query = load_rows(Q_own, rows, last_row, strides[2], SIZE, SIZE_BLOCK)
            key = load_rows(K_own, columns, keys, strides[5], SIZE, SIZE_BLOCK)
            value = load_rows(V_own, columns, keys, strides[8], VALUE, VALUE_BLOCK)
            grad_output = load_rows(GRAD_own, rows, last_row, strides[11], VALUE, VALUE_BLOCK)
            place = (batch_place * heads + head) * queries
            highest = tl.load(HIGHEST_IN + place + rows, mask=rows < last_row, other=0.0)
            found = tl.load(FOUND_IN + place + rows, mask=rows < last_row, other=0.0)
            mean = tl.load(MEAN_IN + place + rows, mask=rows < last_row, other=0.0)
            products_own = products + place * RELATIVE if RELATIVE > 0 else products
            value_products_own = value_products + place * RELATIVE_VALUES if RELATIVE_VALUES > 0 else value_products
            grad_output = tl.where(highest[:, None] == -float("inf"), 0.0, grad_output)
            a, b = scalar(numbers[0], head, WIDE), scalar(numbers[1], head, WIDE)
            if ADDITIVE != NONE:
                additive_own = of_group(additive, batch, head, heads, repeat, queries, keys, SIZE, WIDE)
            else:
                additive_own = additive
            _, _, _, slope, above, _, shown, _ = derivatives(
                query, key, value, grad_output, rows, columns, batch, head, own_shift, queries, keys,
                scalar(scale_number, head, WIDE),
                (scalar(score_numbers[0], head, WIDE), scalar(score_numbers[1], head, WIDE)), a, b, highest, found,
                start, stop, start2, stop2, mask, line, products_own, value_products_own, others, dropout,
                additive_own, SCORE, NORMALISER, SHARP, MASK, OTHERS, RELATIVE, RELATIVE_VALUES, DROPS, True, ADDITIVE,
                SIZE, WIDE, PRECISION, INTERPRETED,
            )  # fmt: skip
            grad_score = slope * (above - mean[:, None])
            if SHARP:
                grad_score *= a
            total += tl.where(shown, grad_score, 0.0)
    place = number.to(tl.int64) * queries * keys
    there = (rows[:, None] < last_row) & (columns[None, :] < keys)
    tl.store(GRAD_PAIRS + place + rows[:, None].to(tl.int64) * keys + columns[None, :], total, mask=there)


@triton.jit
def reaches(rows, columns, batch, head, start, stop, start2, stop2, queries, mask, MASK: tl.constexpr):
    """Whether a tile may hold an allowed pair, by the intervals of its rows."""
    if MASK == TABLE:
        return is_seen(rows, columns, batch, head, mask, MASK)
    elif MASK == EVERYTHING:
        return True
    else:
        low, high = tl.min(columns, 0), tl.max(columns, 0)
        some = (start <= high) & (stop > low) & (start < stop)
        if MASK == TWO_INTERVALS:
            some = some | ((start2 <= high) & (stop2 > low) & (start2 < stop2))
        return tl.max(tl.where(some & (rows < queries), 1, 0), 0) > 0
