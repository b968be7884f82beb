"""The kernels of the backward pass: the gradients of queries, of keys and values, and of a bias for each pair.

Scores and weights are computed again. Each program owns a tile of what it writes and walks along the tiles of the
other side, so no two programs write to one place, and results are reproducible to the bit.

Source: Dao et al. 2022, FlashAttention (arXiv 2205.14135), algorithm 4, with kernels in place of atomic additions.
"""

import triton
import triton.language as tl

from regard.attention.engines.triton.additive import NONE, add_gradients, laid_out
from regard.attention.engines.triton.arithmetic import dot, hidden_dot, is_unfinite
from regard.attention.engines.triton.pairs import (
    bias_numbers_of,
    derivatives,
    head_of,
    kept,
    store_ends,
    sum_by_offset,
)
from regard.attention.engines.triton.tiles import (
    EVERYTHING,
    FAR,
    SOFTMAX,
    TABLE,
    add_rows,
    fits,
    head_start,
    intervals_of,
    is_seen,
    load_rows,
    phases_of,
    program_of,
    reaches,
    row_program_of,
    rows_that_see,
    shift_of,
    store_rows,
    written_to,
)

__all__ = ["backward_of_keys", "backward_of_pairs", "backward_of_queries"]


@triton.jit
def backward_of_queries(
    call, GRAD_OUT, grad_strides, WIDE_OUT, GRAD_LOG_SUMS, HIGHEST_IN, FOUND_IN, MEAN_OUT, GRAD_Q, GRAD_PRODUCTS,
    GRAD_NUMBER, GRAD_SCORE_NUMBER, GRAD_BIAS_NUMBER, GRAD_TABLE, GRAD_SLOPES, SHARE, table, slopes,
    KIND: tl.constexpr, TABLE_SIZE: tl.constexpr, LOG_SUMS: tl.constexpr,
):  # fmt: skip
    """The gradient of a tile of queries, and its share in the gradients of the parts' operands."""
    if KIND.guarded > 0:  # noqa: SIM102 - known when it is compiled, unlike the rest
        if fits(call.guard, KIND):
            return
    ROWS: tl.constexpr = KIND.rows
    SIZE_BLOCK: tl.constexpr = KIND.size_block
    tile, group = row_program_of(tl.cdiv(call.last_row - call.first_row, KIND.rows))
    batch, number = group // call.heads, group % call.heads
    head = head_of(batch, number, call, KIND)
    strides, last_row, place = call.strides, call.last_row, head.place
    key_head = number // call.repeat
    Q = head_start(call.query, batch, number, strides[0], strides[1], KIND.size)
    K = head_start(call.key, batch, key_head, strides[3], strides[4], KIND.size)
    V = head_start(call.value, batch, key_head, strides[6], strides[7], KIND.width)
    GRAD_OUT = head_start(GRAD_OUT, batch, number, grad_strides[0], grad_strides[1], KIND.width)
    numbers = call.first_row + tile * KIND.rows + tl.arange(0, KIND.rows)
    rows = intervals_of(numbers, batch, head.shift, call, KIND)
    first, full, full_end, last = phases_of(rows, call, KIND.columns, KIND)
    query = load_rows(Q, numbers, last_row, strides[2], KIND.size, KIND.size_block)
    grad_output = load_rows(GRAD_OUT, numbers, last_row, grad_strides[2], KIND.width, KIND.width_block)
    highest = tl.load(HIGHEST_IN + place + numbers, mask=numbers < last_row, other=0.0)
    found = tl.load(FOUND_IN + place + numbers, mask=numbers < last_row, other=0.0)
    # A row that sees nothing passes no gradient, whatever comes in.
    grad_output = tl.where(highest[:, None] == -float("inf"), 0.0, grad_output)

    mean = tl.zeros([ROWS], KIND.wide)
    if KIND.find == SOFTMAX:
        output = load_rows(WIDE_OUT + place * KIND.width, numbers, last_row, KIND.width, KIND.width, KIND.width_block)
        mean = tl.sum(output.to(KIND.wide) * grad_output.to(KIND.wide), 1)
        if LOG_SUMS:
            mean -= tl.load(GRAD_LOG_SUMS + place + numbers, mask=numbers < last_row, other=0.0).to(KIND.wide)
    elif KIND.centred:
        of_slopes = tl.zeros([ROWS], KIND.wide)
        for begin in range(first, last, KIND.columns):
            columns = begin + tl.arange(0, KIND.columns)
            if is_seen(rows, columns, head, call, KIND):
                key = load_rows(K, columns, call.keys, strides[5], KIND.size, KIND.size_block)
                value = load_rows(V, columns, call.keys, strides[8], KIND.width, KIND.width_block)
                _, _, _, slope, above, shown, _ = derivatives(
                    query, key, value, grad_output, highest, found, rows, columns, head, call, KIND, True, False
                )
                of_slopes += tl.sum(tl.where(shown, slope, 0.0), 1)
                # Where a weight doesn't change, what it is multiplied by doesn't matter.
                mean += tl.sum(tl.where(shown & (slope != 0.0), slope * above, 0.0), 1)
        mean = mean / tl.where(of_slopes == 0.0, 1.0, of_slopes)

    if KIND.relative > 0:
        GRAD_PRODUCTS += place * KIND.relative
    if KIND.additive != NONE:
        GRAD_Q += place * laid_out(KIND.size)
        SHARE += place * laid_out(KIND.size)
    grad_query = tl.zeros([ROWS, SIZE_BLOCK], KIND.wide)
    of_number = tl.zeros([ROWS], KIND.wide)
    of_score_number = tl.zeros([ROWS], KIND.wide)
    of_bias_number = tl.zeros([ROWS], KIND.wide)
    of_distance = tl.zeros([ROWS], KIND.wide)
    before = tl.zeros([ROWS], KIND.wide)
    after = tl.zeros([ROWS], KIND.wide)
    TABLE_BLOCK: tl.constexpr = TABLE_SIZE if TABLE_SIZE > 0 else 1
    entries = tl.arange(0, TABLE_BLOCK)
    of_table = tl.zeros([TABLE_BLOCK], KIND.wide)
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
                product, score, weight, slope, above, shown, offset = derivatives(
                    query, key, value, grad_output, highest, found, rows, columns, head, call, KIND, phase != 1, False
                )
                change = above - mean[:, None]
                grad_score = slope * change
                if phase != 1:
                    grad_score = tl.where(shown, grad_score, 0.0)
                if len(KIND.normaliser) > 2:
                    own = KIND.normaliser[2](score, weight, slope, found[:, None], columns[None, :], head.a, head.b)
                    of_number += tl.sum(tl.where(shown, own * change, 0.0), 1)
                if KIND.sharp:
                    grad_score *= head.a
                if KIND.relative > 0:
                    before, after = sum_by_offset(
                        GRAD_PRODUCTS, grad_score, numbers, offset, shown, before, after, KIND.relative
                    )
                if TABLE_SIZE > 0:
                    # Which entry of a table the pair's bias is: few of them in a tile.
                    index = tl.load(table[0] + (offset + table[1]), mask=shown, other=0)
                    lowest = tl.min(tl.min(tl.where(shown, index, FAR), 1), 0)
                    most = tl.max(tl.max(tl.where(shown, index, -1), 1), 0)
                    for entry in range(lowest, most + 1):
                        of_entry = tl.sum(tl.sum(tl.where(shown & (index == entry), grad_score, 0.0), 1), 0)
                        of_table += tl.where(entries == entry, of_entry, 0.0)
                if len(slopes) > 0:
                    distance = tl.load(slopes[0] + (offset + slopes[1]), mask=shown, other=0.0)
                    of_distance += tl.sum(tl.where(shown, grad_score * distance, 0.0), 1)
                if len(KIND.bias) > 1:
                    a, b = bias_numbers_of(head, call, KIND)
                    own = KIND.bias[1](numbers[:, None] + head.shift, columns[None, :], a, b)
                    of_bias_number += tl.sum(tl.where(shown, own * grad_score, 0.0), 1)
                if len(KIND.score) > 2:
                    own = KIND.score[2](product, head.score_a, head.score_b)
                    of_score_number += tl.sum(tl.where(shown, own * grad_score, 0.0), 1)
                grad_score = KIND.score[1](product, head.score_a, head.score_b) * grad_score
                if phase != 1:
                    grad_score = tl.where(shown, grad_score, 0.0)
                grad_score *= head.scale
                if KIND.additive != NONE:
                    add_gradients(
                        tl.trans(grad_score), numbers, columns, call.queries, call.keys, head.additive[0],
                        head.additive[1], head.additive, GRAD_Q, SHARE, KIND.additive, KIND.size, True, phase != 1,
                        KIND.interpreted,
                    )  # fmt: skip
                elif phase != 1 and KIND.mask != EVERYTHING:
                    if is_unfinite(key):
                        grad_query = hidden_dot(grad_score, key, shown, grad_query)
                    else:
                        grad_query = dot(grad_score.to(key.dtype), key, grad_query, KIND)
                else:
                    grad_query = dot(grad_score.to(key.dtype), key, grad_query, KIND)
    SIZE: tl.constexpr = KIND.size
    if KIND.additive == NONE:
        GRAD_Q, row_stride = written_to(GRAD_Q, batch, number, place, call.into, 0, SIZE, KIND)
        store_rows(GRAD_Q, numbers, last_row, row_stride, grad_query, SIZE, KIND.size_block)
    tl.store(MEAN_OUT + place + numbers, mean, mask=numbers < last_row)
    if KIND.relative > 0:
        store_ends(GRAD_PRODUCTS, numbers, last_row, before, after, KIND.relative)
    if len(KIND.normaliser) > 2:
        tl.store(GRAD_NUMBER + place + numbers, of_number, mask=numbers < last_row)
    if len(KIND.score) > 2:
        tl.store(GRAD_SCORE_NUMBER + place + numbers, of_score_number, mask=numbers < last_row)
    if len(KIND.bias) > 1:
        tl.store(GRAD_BIAS_NUMBER + place + numbers, of_bias_number, mask=numbers < last_row)
    if len(slopes) > 0:
        tl.store(GRAD_SLOPES + place + numbers, of_distance, mask=numbers < last_row)
    if TABLE_SIZE > 0:
        block = call.first_row // KIND.rows + tile
        program = group.to(tl.int64) * tl.cdiv(call.queries, KIND.rows) + block
        tl.store(GRAD_TABLE + program * TABLE_SIZE + entries, of_table)


@triton.jit
def backward_of_keys(
    call, GRAD_OUT, grad_strides, HIGHEST_IN, FOUND_IN, MEAN_IN, GRAD_K, GRAD_V,
    KIND: tl.constexpr, ADDS: tl.constexpr,
):  # fmt: skip
    """The gradients of a tile of keys and of their values, from all heads of queries that share them.

    Tiles are turned, (key, query), so that they are multiplied by queries as they are.
    """
    if KIND.guarded > 0:  # noqa: SIM102 - known when it is compiled, unlike the rest
        if fits(call.guard, KIND):
            return
    COLUMNS: tl.constexpr = KIND.columns
    WIDTH_BLOCK: tl.constexpr = KIND.width_block
    SIZE_BLOCK: tl.constexpr = KIND.size_block
    tile, group = program_of(tl.cdiv(call.keys, KIND.columns))
    strides, last_row, repeat = call.strides, call.last_row, call.repeat
    key_heads = call.heads // repeat
    batch, key_head = group // key_heads, group % key_heads
    K = head_start(call.key, batch, key_head, strides[3], strides[4], KIND.size)
    V = head_start(call.value, batch, key_head, strides[6], strides[7], KIND.width)
    columns = tile * KIND.columns + tl.arange(0, KIND.columns)
    key = load_rows(K, columns, call.keys, strides[5], KIND.size, KIND.size_block)
    value = load_rows(V, columns, call.keys, strides[8], KIND.width, KIND.width_block)
    first, full, full_end, last = rows_that_see(columns, batch, shift_of(call, batch, KIND), call, KIND.rows, KIND)
    if KIND.mask == TABLE:
        # A part of a table has a launch of its own.
        first, full = call.first_row, last_row
        full_end, last = last_row, last_row
    grad_key = tl.zeros([COLUMNS, SIZE_BLOCK], KIND.wide)
    grad_value = tl.zeros([COLUMNS, WIDTH_BLOCK], KIND.wide)
    if KIND.additive != NONE:
        GRAD_K += group.to(tl.int64) * call.keys * laid_out(KIND.size)
    for member in range(repeat):
        number = key_head * repeat + member
        head = head_of(batch, number, call, KIND)
        Q = head_start(call.query, batch, number, strides[0], strides[1], KIND.size)
        GRAD = head_start(GRAD_OUT, batch, number, grad_strides[0], grad_strides[1], KIND.width)
        for phase in tl.static_range(3):
            if phase == 0:
                low, high = first, full
            elif phase == 1:
                low, high = full, full_end
            else:
                low, high = full_end, last
            for begin in range(low, high, KIND.rows):
                numbers = begin + tl.arange(0, KIND.rows)
                rows = intervals_of(numbers, batch, head.shift, call, KIND)
                if phase == 1 or reaches(rows, columns, head, call, KIND):
                    query = load_rows(Q, numbers, last_row, strides[2], KIND.size, KIND.size_block)
                    grad_output = load_rows(GRAD, numbers, last_row, grad_strides[2], KIND.width, KIND.width_block)
                    there = numbers < last_row
                    highest = tl.load(HIGHEST_IN + head.place + numbers, mask=there, other=0.0)
                    found = tl.load(FOUND_IN + head.place + numbers, mask=there, other=0.0)
                    mean = tl.load(MEAN_IN + head.place + numbers, mask=there, other=0.0)
                    # Unchanged, it is multiplied where it was copied to, and copied in advance.
                    if phase != 1 or KIND.dies:
                        grad_output = tl.where(highest[:, None] == -float("inf"), 0.0, grad_output)
                    product, _, weight, slope, above, shown, _ = derivatives(
                        query,
                        key,
                        value,
                        grad_output,
                        highest,
                        found,
                        rows,
                        columns,
                        head,
                        call,
                        KIND,
                        phase != 1,
                        True,
                    )
                    grad_score = slope * (above - mean[None, :])
                    grad_score = KIND.score[1](product, head.score_a, head.score_b) * grad_score
                    if KIND.sharp:
                        grad_score *= head.a
                    grad_score *= head.scale
                    if KIND.drops:
                        weight *= kept(rows, columns, head, call, KIND, True)
                    if phase != 1:
                        grad_score = tl.where(shown, grad_score, 0.0)
                        weight = tl.where(shown, weight, 0.0)
                    if KIND.additive != NONE:
                        add_gradients(
                            tl.trans(grad_score), columns, numbers, call.keys, call.queries, head.additive[1],
                            head.additive[0], head.additive, GRAD_K, GRAD_K, KIND.additive, KIND.size, False,
                            phase != 1, KIND.interpreted,
                        )  # fmt: skip
                    if phase != 1 and KIND.mask != EVERYTHING:
                        if is_unfinite(grad_output):
                            grad_value = hidden_dot(weight, grad_output, shown, grad_value)
                        else:
                            grad_value = dot(weight.to(grad_output.dtype), grad_output, grad_value, KIND)
                        if KIND.additive == NONE:
                            if is_unfinite(query):
                                grad_key = hidden_dot(grad_score, query, shown, grad_key)
                            else:
                                grad_key = dot(grad_score.to(query.dtype), query, grad_key, KIND)
                    else:
                        grad_value = dot(weight.to(grad_output.dtype), grad_output, grad_value, KIND)
                        if KIND.additive == NONE:
                            grad_key = dot(grad_score.to(query.dtype), query, grad_key, KIND)
    place = group.to(tl.int64) * call.keys
    SIZE: tl.constexpr = KIND.size
    WIDTH: tl.constexpr = KIND.width
    if KIND.additive == NONE:
        GRAD_K, row_stride = written_to(GRAD_K, batch, key_head, place, call.into, 3, SIZE, KIND)
        add_rows(GRAD_K, columns, call.keys, row_stride, grad_key, SIZE, KIND.size_block, ADDS)
    GRAD_V, row_stride = written_to(GRAD_V, batch, key_head, place, call.into, 6, WIDTH, KIND)
    add_rows(GRAD_V, columns, call.keys, row_stride, grad_value, WIDTH, KIND.width_block, ADDS)


@triton.jit
def backward_of_pairs(
    call, GRAD_OUT, grad_strides, HIGHEST_IN, FOUND_IN, MEAN_IN, GRAD_PAIRS, tables, KIND: tl.constexpr
):
    """The gradient of a tile of a table of biases, from all items and heads that share it.

    tables: how many tables heads have, and how many items and heads share one.
    """
    ROWS: tl.constexpr = KIND.rows
    COLUMNS: tl.constexpr = KIND.columns
    strides, last_row = call.strides, call.last_row
    tables_of_heads, items_of_table, heads_of_table = tables[0], tables[1], tables[2]
    table, tiles = tl.program_id(1), tl.cdiv(call.keys, KIND.columns)
    numbers = call.first_row + tl.program_id(0) // tiles * KIND.rows + tl.arange(0, KIND.rows)
    columns = tl.program_id(0) % tiles * KIND.columns + tl.arange(0, KIND.columns)
    total = tl.zeros([ROWS, COLUMNS], KIND.wide)
    for member in range(items_of_table * heads_of_table):
        batch = table // tables_of_heads + member // heads_of_table
        number = table % tables_of_heads + member % heads_of_table
        head = head_of(batch, number, call, KIND)
        rows = intervals_of(numbers, batch, head.shift, call, KIND)
        if reaches(rows, columns, head, call, KIND):
            key_head = number // call.repeat
            Q = head_start(call.query, batch, number, strides[0], strides[1], KIND.size)
            K = head_start(call.key, batch, key_head, strides[3], strides[4], KIND.size)
            V = head_start(call.value, batch, key_head, strides[6], strides[7], KIND.width)
            GRAD = head_start(GRAD_OUT, batch, number, grad_strides[0], grad_strides[1], KIND.width)
            query = load_rows(Q, numbers, last_row, strides[2], KIND.size, KIND.size_block)
            key = load_rows(K, columns, call.keys, strides[5], KIND.size, KIND.size_block)
            value = load_rows(V, columns, call.keys, strides[8], KIND.width, KIND.width_block)
            grad_output = load_rows(GRAD, numbers, last_row, grad_strides[2], KIND.width, KIND.width_block)
            there = numbers < last_row
            highest = tl.load(HIGHEST_IN + head.place + numbers, mask=there, other=0.0)
            found = tl.load(FOUND_IN + head.place + numbers, mask=there, other=0.0)
            mean = tl.load(MEAN_IN + head.place + numbers, mask=there, other=0.0)
            grad_output = tl.where(highest[:, None] == -float("inf"), 0.0, grad_output)
            _, _, _, slope, above, shown, _ = derivatives(
                query, key, value, grad_output, highest, found, rows, columns, head, call, KIND, True, False
            )
            grad_score = slope * (above - mean[:, None])
            if KIND.sharp:
                grad_score *= head.a
            total += tl.where(shown, grad_score, 0.0)
    place = table.to(tl.int64) * call.queries * call.keys
    there = (numbers[:, None] < last_row) & (columns[None, :] < call.keys)
    tl.store(GRAD_PAIRS + place + numbers[:, None].to(tl.int64) * call.keys + columns[None, :], total, mask=there)
