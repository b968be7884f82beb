"""The kernels of the forward pass: the outputs of queries, and their merging where the keys are divided.

Each program owns a tile of queries and walks along the tiles of keys that they may see: partial ones, full ones,
partial ones. Only a partial tile asks the mask, and only there do NaN or infinity at hidden pairs have to be kept out
of products.

Source: Dao et al. 2022, FlashAttention (arXiv 2205.14135), algorithm 1, for softmax; Newton's method on the sum of
truncated powers is derived here.
"""

import triton
import triton.language as tl

from regard.attention.engines.triton.arithmetic import dot, hidden_dot, is_unfinite, newton_step, scalar
from regard.attention.engines.triton.pairs import (
    head_of,
    kept,
    scores_of,
    store_ends,
    sum_by_offset,
    taken_scores,
    weights_of,
)
from regard.attention.engines.triton.tiles import (
    COUNT,
    EVERYTHING,
    FAR,
    HIGHEST,
    LOG_COUNT,
    NUMBER,
    SOFTMAX,
    TABLE,
    THRESHOLD,
    fits,
    head_start,
    intervals_of,
    is_seen,
    load_rows,
    phases_of,
    row_program_of,
    shown_pairs,
    store_rows,
    written_to,
)
from regard.attention.engines.triton.top_keys import limits_of

__all__ = ["forward", "merge"]

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def thresholds(query, K, rows, first, last, head, call, KIND: tl.constexpr):
    """The highest score of each row, and the threshold below it with which the row's weights sum to what they shall.

    Newton's method from below, within a bracket that is bisected where a step leaves it. For a sum that is convex in
    the threshold, as of entmax up to alpha 2, no step does.
    """
    ROWS: tl.constexpr = KIND.rows
    total, below = scalar(call.search[0], head.head, KIND.wide), scalar(call.search[1], head.head, KIND.wide)
    highest = tl.full([ROWS], -float("inf"), KIND.wide)
    lowest = tl.full([ROWS], float("inf"), KIND.wide)
    nan = tl.zeros([ROWS], tl.int32)
    for begin in range(first, last, KIND.columns):
        columns = begin + tl.arange(0, KIND.columns)
        if is_seen(rows, columns, head, call, KIND):
            key = load_rows(K, columns, call.keys, call.strides[5], KIND.size, KIND.size_block)
            _, score, _ = scores_of(query, key, rows, columns, head, call, KIND, False)
            shown = shown_pairs(rows, columns, head, call, KIND, False)
            highest = tl.maximum(highest, tl.max(tl.where(shown, score, -float("inf")), 1))
            # A maximum passes over NaN.
            nan += tl.sum(tl.where(shown & (score != score), 1, 0), 1)
            if KIND.from_lowest:
                shown &= score > -float("inf")
                lowest = tl.minimum(lowest, tl.min(tl.where(shown, score, float("inf")), 1))
    highest = tl.where(nan > 0, float("nan"), highest)
    alive = highest != -float("inf")
    base = tl.where(alive, highest, 0.0)
    # The lower end: where the best key alone, or every key, has its largest weight.
    low = tl.where(alive, lowest - base - 1.0, -1.0) if KIND.from_lowest else tl.zeros_like(base) - below
    high = tl.zeros_like(base)
    found = low
    active = alive & (low == low) & (low > -float("inf"))
    passes = 0
    of_weights = tl.zeros_like(base) + total
    of_slopes = tl.zeros_like(base)
    while (tl.max(tl.where(active, 1, 0), 0) > 0) & (passes < 128):
        of_weights = tl.zeros_like(base)
        of_slopes = tl.zeros_like(base)
        for begin in range(first, last, KIND.columns):
            columns = begin + tl.arange(0, KIND.columns)
            if is_seen(rows, columns, head, call, KIND):
                key = load_rows(K, columns, call.keys, call.strides[5], KIND.size, KIND.size_block)
                _, score, _ = scores_of(query, key, rows, columns, head, call, KIND, False)
                shown = shown_pairs(rows, columns, head, call, KIND, False)
                score -= base[:, None]
                weight = weights_of(score, found, columns, head, KIND, False)
                slope = KIND.normaliser[1](score, weight, found[:, None], columns[None, :], head.a, head.b)
                of_weights += tl.sum(tl.where(shown, weight, 0.0), 1)
                of_slopes += tl.sum(tl.where(shown, slope, 0.0), 1)
        found, low, high, active = newton_step(found, low, high, active, of_weights, of_slopes, total, KIND.tolerance)
        passes += 1
    if not KIND.from_lowest:
        # A piece of a user's own may have no threshold between the two ends. The sums are those before the last step.
        off = 0.1 * total + 2.0 * KIND.tolerance * of_slopes
        found = tl.where(tl.abs(of_weights - total) > off, float("nan"), found)
    found = tl.where(alive, tl.where(highest == highest, found, highest), 0.0)
    return highest, found


@triton.jit
def best_keys(query, K, rows, first, last, head, call, KIND: tl.constexpr):
    """The highest score of each row, and the number of the first key that has it; NaN where a score is."""
    ROWS: tl.constexpr = KIND.rows
    highest = tl.full([ROWS], -float("inf"), KIND.wide)
    found = tl.zeros([ROWS], KIND.wide)
    for begin in range(first, last, KIND.columns):
        columns = begin + tl.arange(0, KIND.columns)
        if is_seen(rows, columns, head, call, KIND):
            key = load_rows(K, columns, call.keys, call.strides[5], KIND.size, KIND.size_block)
            _, score, _ = scores_of(query, key, rows, columns, head, call, KIND, False)
            score = tl.where(shown_pairs(rows, columns, head, call, KIND, False), score, -float("inf"))
            best = tl.max(score, 1)
            place = tl.min(tl.where(score == best[:, None], columns[None, :], FAR), 1)
            nan = tl.max(tl.where(score == score, 0, 1), 1) > 0
            found = tl.where((best > highest) & (found == found), place.to(KIND.wide), found)
            found = tl.where(nan, float("nan"), found)
            highest = tl.maximum(highest, best)
    # A maximum passes over NaN.
    highest = tl.where(found == found, highest, found)
    return highest, found


@triton.jit
def counts(rows, first, last, head, call, KIND: tl.constexpr):
    """How many keys each row may see, 1 at least."""
    ROWS: tl.constexpr = KIND.rows
    if KIND.mask == TABLE or len(KIND.allowed) > 0:
        count = tl.zeros([ROWS], KIND.wide)
        for begin in range(first, last, KIND.columns):
            columns = begin + tl.arange(0, KIND.columns)
            if is_seen(rows, columns, head, call, KIND):
                shown = shown_pairs(rows, columns, head, call, KIND, False)
                count += tl.sum(tl.where(shown, 1.0, 0.0), 1)
    else:
        count = (rows.stop - rows.start + rows.stop2 - rows.start2).to(KIND.wide)
    return tl.where(count > 0.0, count, 1.0)


@triton.jit
def forward(
    call, OUT, WIDE_OUT, HIGHEST_OUT, FOUND_OUT, SUMS,
    KIND: tl.constexpr, SAVES: tl.constexpr, SPLITS: tl.constexpr,
):  # fmt: skip
    """The outputs of a tile of queries, and what their gradient needs to know of each row."""
    if KIND.guarded > 0:  # noqa: SIM102 - known when it is compiled, unlike the rest
        if fits(call.guard, KIND):
            return
    ROWS: tl.constexpr = KIND.rows
    WIDTH_BLOCK: tl.constexpr = KIND.width_block
    tiles = tl.cdiv(call.last_row - call.first_row, KIND.rows)
    tile, group = row_program_of(tiles)
    batch, number = group // call.heads, group % call.heads
    head = head_of(batch, number, call, KIND)
    strides, last_row = call.strides, call.last_row
    key_head = number // call.repeat
    Q = head_start(call.query, batch, number, strides[0], strides[1], KIND.size)
    K = head_start(call.key, batch, key_head, strides[3], strides[4], KIND.size)
    V = head_start(call.value, batch, key_head, strides[6], strides[7], KIND.width)
    numbers = call.first_row + tile * KIND.rows + tl.arange(0, KIND.rows)
    rows = intervals_of(numbers, batch, head.shift, call, KIND)
    first, full, full_end, last = phases_of(rows, call, KIND.columns, KIND)
    query = load_rows(Q, numbers, last_row, strides[2], KIND.size, KIND.size_block)

    highest = tl.zeros([ROWS], KIND.wide)
    found = tl.zeros([ROWS], KIND.wide)
    if KIND.find == SOFTMAX:
        highest = tl.full([ROWS], -float("inf"), KIND.wide)
    elif KIND.find == NUMBER:
        found += head.a
    elif KIND.find == COUNT:
        found = 1.0 / counts(rows, first, last, head, call, KIND)
    elif KIND.find == LOG_COUNT:
        found = -tl.log2(counts(rows, first, last, head, call, KIND)) / LOG2E
    elif KIND.find == THRESHOLD:
        highest, found = thresholds(query, K, rows, first, last, head, call, KIND)
    elif KIND.find == HIGHEST:
        highest, found = best_keys(query, K, rows, first, last, head, call, KIND)
    limits = call.limits
    if len(limits) > 0:
        limits = limits_of(query, K, rows, first, last, head, call, KIND)
    # What is taken from the scores before they become weights.
    base = tl.zeros([ROWS], KIND.wide)
    if KIND.find == THRESHOLD:
        base = tl.where(highest == -float("inf"), 0.0, highest)

    if SPLITS > 1:
        # This program's share of the keys, in whole tiles.
        share = tl.cdiv(tl.cdiv(call.keys, KIND.columns), SPLITS) * KIND.columns
        begin_of_share = tl.program_id(1) * share
        end_of_share = tl.minimum(begin_of_share + share, call.keys)
        first = tl.minimum(tl.maximum(first, begin_of_share), end_of_share)
        full = tl.minimum(tl.maximum(full, begin_of_share), end_of_share)
        full_end = tl.minimum(tl.maximum(full_end, begin_of_share), end_of_share)
        last = tl.minimum(tl.maximum(last, begin_of_share), end_of_share)
    sums = tl.zeros([ROWS], KIND.wide)
    output = tl.zeros([ROWS, WIDTH_BLOCK], KIND.wide)
    for phase in tl.static_range(3):
        if phase == 0:
            low, high = first, full
        elif phase == 1:
            low, high = full, full_end
        else:
            low, high = full_end, last
        for begin in range(low, high, KIND.columns):
            columns = begin + tl.arange(0, KIND.columns)
            if phase == 1 or is_seen(rows, columns, head, call, KIND):
                key = load_rows(K, columns, call.keys, strides[5], KIND.size, KIND.size_block)
                value = load_rows(V, columns, call.keys, strides[8], KIND.width, KIND.width_block)
                _, score, _ = scores_of(query, key, rows, columns, head, call, KIND, False)
                shown = shown_pairs(rows, columns, head, call, KIND, False)
                if KIND.find == SOFTMAX:
                    if phase != 1:
                        score = tl.where(shown, score, -float("inf"))
                    if len(limits) > 0:
                        score = taken_scores(score, columns, limits, False)
                    best = tl.maximum(highest, tl.max(score, 1))
                    base = tl.where(best == -float("inf"), 0.0, best)
                    weight = tl.exp2((score - base[:, None]) * LOG2E)
                    rest = tl.exp2((highest - base) * LOG2E)
                    highest = best
                    sums = sums * rest + tl.sum(weight, 1)
                    output *= rest[:, None]
                else:
                    weight = weights_of(score - base[:, None], found, columns, head, KIND, False)
                    if phase != 1:
                        weight = tl.where(shown, weight, 0.0)
                if KIND.drops:
                    weight *= kept(rows, columns, head, call, KIND, False)
                if phase != 1 and KIND.mask != EVERYTHING:
                    if is_unfinite(value):
                        output = hidden_dot(weight, value, shown, output)
                    else:
                        output = dot(weight.to(value.dtype), value, output, KIND)
                else:
                    output = dot(weight.to(value.dtype), value, output, KIND)
    if KIND.find == SOFTMAX:
        found = 1.0 / tl.where(sums == 0.0, 1.0, sums)
        output *= found[:, None]
        # The sum shows NaN, over which a maximum passes.
        highest = tl.where(sums == 0.0, -float("inf"), tl.where(sums == sums, highest, sums))
    if KIND.find == THRESHOLD:
        # A piece of a user's own may pass over NaN.
        output = tl.where(found[:, None] == found[:, None], output, float("nan"))
    # A row whose scores are all minus infinity is one that sees nothing.
    output = tl.where(highest[:, None] == -float("inf"), 0.0, output)

    if KIND.relative_values > 0:
        # Weights by distance, now that they are known.
        SUMS += head.place * KIND.relative_values
        before = tl.zeros([ROWS], KIND.wide)
        after = tl.zeros([ROWS], KIND.wide)
        if KIND.find == SOFTMAX:
            base = tl.where(highest == -float("inf"), 0.0, highest)
        for begin in range(first, last, KIND.columns):
            columns = begin + tl.arange(0, KIND.columns)
            if is_seen(rows, columns, head, call, KIND):
                key = load_rows(K, columns, call.keys, strides[5], KIND.size, KIND.size_block)
                _, score, offset = scores_of(query, key, rows, columns, head, call, KIND, False)
                shown = shown_pairs(rows, columns, head, call, KIND, False) & (highest[:, None] != -float("inf"))
                if len(limits) > 0:
                    score = taken_scores(score, columns, limits, False)
                weight = weights_of(score - base[:, None], found, columns, head, KIND, False)
                if KIND.drops:
                    weight *= kept(rows, columns, head, call, KIND, False)
                before, after = sum_by_offset(SUMS, weight, numbers, offset, shown, before, after, KIND.relative_values)
        store_ends(SUMS, numbers, last_row, before, after, KIND.relative_values)

    place = head.place
    if SPLITS > 1:
        place += tl.program_id(1).to(tl.int64) * (tl.num_programs(0) // tiles) * call.queries
    WIDTH: tl.constexpr = KIND.width
    OUT, row_stride = written_to(OUT, batch, number, place, call.into, 0, WIDTH, KIND)
    store_rows(OUT, numbers, last_row, row_stride, output, WIDTH, KIND.width_block)
    if SAVES:
        store_rows(WIDE_OUT + place * WIDTH, numbers, last_row, WIDTH, output, WIDTH, KIND.width_block)
    tl.store(HIGHEST_OUT + place + numbers, highest, mask=numbers < last_row)
    tl.store(FOUND_OUT + place + numbers, found, mask=numbers < last_row)
    for i in tl.static_range(len(limits)):
        tl.store(call.limits[i] + place + numbers, limits[i], mask=numbers < last_row)


@triton.jit
def merge(
    PARTS, HIGHEST_PARTS, FOUND_PARTS, OUT, WIDE_OUT, HIGHEST_OUT, FOUND_OUT, count, splits,
    KIND: tl.constexpr, SAVES: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """The outputs of a tile of rows, of all heads, from those over the shares of the keys."""
    WIDTH_BLOCK: tl.constexpr = KIND.width_block
    WIDTH: tl.constexpr = KIND.width
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    highest = tl.full([ROWS], -float("inf"), KIND.wide)
    sums = tl.zeros([ROWS], KIND.wide)
    found = tl.zeros([ROWS], KIND.wide)
    total = tl.zeros([ROWS, WIDTH_BLOCK], KIND.wide)
    for split in range(splits):
        place = rows + tl.full([ROWS], split, tl.int64) * count
        part = load_rows(PARTS, place, count * splits, WIDTH, WIDTH, KIND.width_block)
        here = tl.load(HIGHEST_PARTS + place, mask=rows < count, other=0.0)
        own = tl.load(FOUND_PARTS + place, mask=rows < count, other=1.0)
        if KIND.find == SOFTMAX:
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
    if KIND.find == SOFTMAX:
        found = 1.0 / tl.where(sums == 0.0, 1.0, sums)
        total *= found[:, None]
        highest = tl.where(sums == sums, highest, sums)
    store_rows(OUT, rows, count, WIDTH, total, WIDTH, KIND.width_block)
    if SAVES:
        store_rows(WIDE_OUT, rows, count, WIDTH, total, WIDTH, KIND.width_block)
    tl.store(HIGHEST_OUT + rows, highest, mask=rows < count)
    tl.store(FOUND_OUT + rows, found, mask=rows < count)
