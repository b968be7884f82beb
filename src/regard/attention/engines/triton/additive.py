"""Additive scores of a tile, s_ij = sum_f u_f act(q_if + k_jf), and their gradients, without a pairs x features tensor.

For tanh the exponentials are taken out of the loop over pairs: tanh(x + y) = 1 - 2 / (1 + e^2x e^2y), so with
A = e^2q and B = e^2k computed once per vector, a term is r = 1 / (1 + A B), its derivative is 4 r (1 - r), and two
features share one reciprocal: 1/x = y / (x y). This is exact to the rounding of 1, not to that of a tanh near 0. The
powers of a feature stay in range if the queries are shifted by some number and the keys by its opposite. Features for
which no such shift exists are left as they are, and their tanh is computed term by term, at about a quarter of the
speed: a kernel that sees all vectors says which, so that nothing is asked of the GPU.

Queries and keys are laid out by feature, (feature, row), so that the loops over features read rows that lie next to
each other; rows are padded to whole tiles. Features are numbered in blocks of 16, of which the first 8 share their
reciprocals with the last 8; those beyond the last one are zeros.

A tile's gradients are summed by threads that each own a row and a feature: the tile's gradient goes through memory, of
which each program has a tile, so that no sum is taken across threads.
"""

import triton
import triton.language as tl

from regard.attention.engines.triton.arithmetic import scalar

__all__ = [
    "LEAKY_RELU",
    "NONE",
    "TANH",
    "add_gradients",
    "additive_scores",
    "laid_out",
    "lay_out",
    "of_group",
    "padded",
]

LOG2E = tl.constexpr(1.4426950408889634)

# The activation of additive scores, if scores are additive.
NONE = tl.constexpr(0)
TANH = tl.constexpr(1)
LEAKY_RELU = tl.constexpr(2)

BLOCK = tl.constexpr(16)
HALF = tl.constexpr(8)
PADDED = tl.constexpr(128)  # as many rows as the largest tile has
TOGETHER = tl.constexpr(4)  # numbers that a thread reads at once
UNROLLED = tl.constexpr(2)


@triton.jit
def reciprocal(x, INTERPRETED: tl.constexpr):
    """1 / x within two roundings, for which a division would take three times as long."""
    if INTERPRETED:
        return 1.0 / x
    else:
        return tl.inline_asm_elementwise(
            "rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )


@triton.jit
def falling(x, INTERPRETED: tl.constexpr):
    """1 / (1 + e^2x), which is (1 - tanh x) / 2, for any x."""
    power = tl.exp2(tl.abs(x) * (-2.0 * LOG2E))
    return tl.where(x > 0.0, power, 1.0) * reciprocal(1.0 + power, INTERPRETED)


@triton.jit
def padded(length):
    return (length + PADDED - 1) // PADDED * PADDED


@triton.jit
def range_of(pointer, length, stride, features, low, high, SIZE: tl.constexpr, ROWS: tl.constexpr):
    """The least and the greatest number of each feature, but for NaN."""
    for begin in range(0, length, ROWS):
        rows = begin + tl.arange(0, ROWS)
        there = (features[:, None] < SIZE) & (rows[None, :] < length)
        place = pointer + rows[None, :].to(tl.int64) * stride + features[:, None]
        tile = tl.load(place, mask=there, other=0.0).to(low.dtype)
        there &= tile == tile
        low = tl.minimum(low, tl.min(tl.where(there, tile, float("inf")), 1))
        high = tl.maximum(high, tl.max(tl.where(there, tile, -float("inf")), 1))
    return low, high


@triton.jit
def fit(low, high, key_low, key_high, reach, flat):
    """Whether clamping at `reach` changes only sums at which tanh is flat."""
    over = (high <= reach) | (key_low >= flat - reach)
    under = (low >= -reach) | (key_high <= reach - flat)
    key_over = (key_high <= reach) | (low >= flat - reach)
    key_under = (key_low >= -reach) | (high <= reach - flat)
    return over & under & key_over & key_under


@triton.jit
def write(
    pointer, into, length, stride, features, shift, fits, reach, ADDITIVE: tl.constexpr, SIZE: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """Lay out one head's vectors by feature, as powers if they fit."""
    laid_out = padded(length)
    for begin in range(0, laid_out, ROWS):
        rows = begin + tl.arange(0, ROWS)
        here = rows[None, :] < length
        place = pointer + rows[None, :].to(tl.int64) * stride + features[:, None]
        tile = tl.load(place, mask=here & (features[:, None] < SIZE), other=0.0).to(shift.dtype)
        if ADDITIVE == TANH:
            moved = tile + shift[:, None]
            moved = tl.where(moved < -reach, -reach, tl.where(moved > reach, reach, moved))
            tile = tl.where(fits, tl.exp2(moved * (2.0 * LOG2E)), tile)
        tl.store(into + features[:, None].to(tl.int64) * laid_out + rows[None, :], tile)


@triton.jit
def lay_out(
    Q, K, A, B, FITS, strides, sizes,
    ADDITIVE: tl.constexpr, SIZE: tl.constexpr, ROWS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Lay out a block of features of the keys of one head, and of all queries that see them: (feature, row)."""
    queries, keys, heads, repeat = sizes[0], sizes[1], sizes[2], sizes[3]
    blocks: tl.constexpr = (SIZE + BLOCK - 1) // BLOCK
    block, group = tl.program_id(0) % blocks, tl.program_id(0) // blocks
    key_heads = heads // repeat
    batch, key_head = (group // key_heads).to(tl.int64), (group % key_heads).to(tl.int64)
    features = block * BLOCK + tl.arange(0, BLOCK)
    Q += batch * strides[0]
    K += batch * strides[3] + key_head * strides[4]
    shift = tl.zeros([BLOCK], WIDE)
    fits = block >= 0
    # The largest x and y for which (1 + e^2x e^2y)^2 and its reciprocal are normal numbers; and where 1 - tanh
    # vanishes in the rounding of 1.
    reach: tl.constexpr = 10.8 if WIDE == tl.float32 else 88.0
    flat: tl.constexpr = 9.0 if WIDE == tl.float32 else 20.0
    if ADDITIVE == TANH:
        low, high = shift + float("inf"), shift - float("inf")
        key_low, key_high = range_of(K, keys, strides[5], features, low, high, SIZE, ROWS)
        for member in range(repeat):
            head = key_head * repeat + member
            low, high = range_of(Q + head * strides[1], queries, strides[2], features, low, high, SIZE, ROWS)
        real = features < SIZE
        low, high = tl.where(real, low, 0.0), tl.where(real, high, 0.0)
        key_low, key_high = tl.where(real, key_low, 0.0), tl.where(real, key_high, 0.0)
        # Only the sum of both matters: where they are out of range, move the centres of their ranges together.
        move = (key_low * 0.25 - high * 0.25) + (key_high * 0.25 - low * 0.25)
        shift = tl.where(fit(low, high, key_low, key_high, reach, flat), 0.0, move)
        found = fit(low + shift, high + shift, key_low - shift, key_high - shift, reach, flat)
        fits = tl.min(tl.where(found, 1, 0), 0) > 0
    tl.store(FITS + group * blocks + block, tl.where(fits, 1, 0))
    place = (batch * heads + key_head * repeat) * blocks * BLOCK
    for member in range(repeat):
        head = key_head * repeat + member
        write(
            Q + head * strides[1], A + (place + member * blocks * BLOCK) * padded(queries), queries, strides[2],
            features, shift, fits, reach, ADDITIVE, SIZE, ROWS,
        )  # fmt: skip
    write(
        K, B + group.to(tl.int64) * blocks * BLOCK * padded(keys), keys, strides[5], features, -shift, fits, reach,
        ADDITIVE, SIZE, ROWS,
    )  # fmt: skip


@triton.jit
def laid_out(SIZE: tl.constexpr):
    """How many features are laid out."""
    return (SIZE + BLOCK - 1) // BLOCK * BLOCK


@triton.jit
def of_group(operands, batch, head, heads, repeat, queries, keys, SIZE: tl.constexpr, WIDE: tl.constexpr):
    """The operands of this head: queries, keys, vector, its sum, which blocks fit, the slope of negative numbers,
    and where programs have a tile."""
    of_queries = batch.to(tl.int64) * heads + head
    of_keys = batch.to(tl.int64) * (heads // repeat) + head // repeat
    return (
        operands[0] + of_queries * laid_out(SIZE) * padded(queries),
        operands[1] + of_keys * laid_out(SIZE) * padded(keys),
        operands[2] + head * laid_out(SIZE),
        tl.load(operands[3] + head),
        operands[4] + of_keys * (laid_out(SIZE) // BLOCK),
        scalar(operands[5], head, WIDE),
        operands[6],
    )


@triton.jit
def additive_scores(
    rows, columns, queries, keys, operands, ADDITIVE: tl.constexpr, SIZE: tl.constexpr, WIDE: tl.constexpr,
    INTERPRETED: tl.constexpr,
):  # fmt: skip
    """The scores of a tile, (row, column)."""
    # A thread's rows are those of the tile's shorter side.
    if rows.shape[0] > columns.shape[0]:
        found = sums_of_terms(
            columns, rows, operands[1], operands[0], keys, queries, operands, ADDITIVE, SIZE, WIDE, INTERPRETED
        )
        return tl.trans(found)
    else:
        return sums_of_terms(
            rows, columns, operands[0], operands[1], queries, keys, operands, ADDITIVE, SIZE, WIDE, INTERPRETED
        )


@triton.jit
def first_of(rows):
    """The first of a tile's rows; said to be a multiple of 16, so that numbers are read four at a time from there."""
    return tl.multiple_of(tl.min(rows, 0), BLOCK)


@triton.jit
def sums_of_terms(
    rows, columns, A, B, rows_length, columns_length, operands, ADDITIVE: tl.constexpr, SIZE: tl.constexpr,
    WIDE: tl.constexpr, INTERPRETED: tl.constexpr,
):  # fmt: skip
    STEP: tl.constexpr = HALF if SIZE > HALF else SIZE
    A, B, U = A + first_of(rows), B + first_of(columns), operands[2]
    rows, columns = tl.arange(0, rows.shape[0]), tl.arange(0, columns.shape[0])
    of_row, of_column = padded(rows_length), padded(columns_length)
    score = tl.zeros([rows.shape[0], columns.shape[0]], WIDE)
    for first in range(0, SIZE, BLOCK):
        if ADDITIVE == TANH:
            if tl.load(operands[4] + first // BLOCK) != 0:
                for feature in range(first, first + STEP):
                    second = feature + HALF
                    a, b = tl.load(A + feature * of_row + rows), tl.load(B + feature * of_column + columns)
                    c, d = tl.load(A + second * of_row + rows), tl.load(B + second * of_column + columns)
                    x, y = 1.0 + a[:, None] * b[None, :], 1.0 + c[:, None] * d[None, :]
                    u, v = tl.load(U + feature), tl.load(U + second)
                    score += (u * y + v * x) * reciprocal(x * y, INTERPRETED)
            else:
                for feature in range(first, first + BLOCK):
                    a, b = tl.load(A + feature * of_row + rows), tl.load(B + feature * of_column + columns)
                    score += tl.load(U + feature) * falling(a[:, None] + b[None, :], INTERPRETED)
        else:
            for feature in range(first, first + BLOCK):
                a, b = tl.load(A + feature * of_row + rows), tl.load(B + feature * of_column + columns)
                x = a[:, None] + b[None, :]
                u = tl.load(U + feature)
                score += tl.where(x > 0.0, u, u * operands[5]) * x
    return operands[3] - 2.0 * score if ADDITIVE == TANH else score


@triton.jit
def add_to(pointer, tile, here):
    tl.store(pointer, tl.load(pointer, mask=here, other=0.0) + tile, mask=here)


@triton.jit
def two_terms(a, b, c, d, POWERS: tl.constexpr, INTERPRETED: tl.constexpr):
    """1 / (1 + e^2x) for two features."""
    if POWERS:
        x, y = 1.0 + a * b, 1.0 + c * d
        both = reciprocal(x * y, INTERPRETED)
        return y * both, x * both
    else:
        return falling(a + b, INTERPRETED), falling(c + d, INTERPRETED)


@triton.jit
def sums_of_tanh(
    a, c, grads, theirs, seconds, OTHERS: tl.constexpr, POWERS: tl.constexpr, SHARES: tl.constexpr,
    PARTIAL: tl.constexpr, WIDE: tl.constexpr, INTERPRETED: tl.constexpr,
):  # fmt: skip
    """Of the terms r of two features: the sums over the others of grad r (1 - r), and if `SHARES` of grad r."""
    of_r = tl.zeros([a.shape[0], a.shape[1], TOGETHER], WIDE)
    of_s, share_r, share_s = of_r, of_r, of_r
    for _ in range(0, OTHERS, UNROLLED * TOGETHER):
        for step in tl.static_range(UNROLLED):
            grad = tl.load(grads + step * TOGETHER)
            b, d = tl.load(theirs + step * TOGETHER), tl.load(seconds + step * TOGETHER)
            r, s = two_terms(a, b, c, d, POWERS, INTERPRETED)
            if PARTIAL:
                # At a hidden pair, where the gradient is 0, a term may be NaN.
                r, s = tl.where(grad == 0.0, 0.0, r), tl.where(grad == 0.0, 0.0, s)
            if SHARES:
                of_one, of_other = grad * r, grad * s
                share_r += of_one
                share_s += of_other
                of_r -= of_one * r
                of_s -= of_other * s
            else:
                of_r += grad * (r - r * r)
                of_s += grad * (s - s * s)
        grads += UNROLLED * TOGETHER
        theirs += UNROLLED * TOGETHER
        seconds += UNROLLED * TOGETHER
    if SHARES:
        of_r += share_r
        of_s += share_s
    return tl.sum(of_r, 2), tl.sum(of_s, 2), tl.sum(share_r, 2), tl.sum(share_s, 2)


@triton.jit
def sums_of_leaky_relu(
    a, c, grads, theirs, seconds, slope, OTHERS: tl.constexpr, SHARES: tl.constexpr, PARTIAL: tl.constexpr,
    WIDE: tl.constexpr,
):  # fmt: skip
    """For two features: the sums over the others of grad act'(x), and if `SHARES` of grad act(x)."""
    of_x = tl.zeros([a.shape[0], a.shape[1], TOGETHER], WIDE)
    of_y, share_x, share_y = of_x, of_x, of_x
    for _ in range(0, OTHERS, UNROLLED * TOGETHER):
        for step in tl.static_range(UNROLLED):
            grad = tl.load(grads + step * TOGETHER)
            leaked = grad * slope
            x, y = a + tl.load(theirs + step * TOGETHER), c + tl.load(seconds + step * TOGETHER)
            of_one, of_other = tl.where(x > 0.0, grad, leaked), tl.where(y > 0.0, grad, leaked)
            of_x += of_one
            of_y += of_other
            if SHARES:
                if PARTIAL:
                    x, y = tl.where(grad == 0.0, 0.0, x), tl.where(grad == 0.0, 0.0, y)
                share_x += of_one * x
                share_y += of_other * y
        grads += UNROLLED * TOGETHER
        theirs += UNROLLED * TOGETHER
        seconds += UNROLLED * TOGETHER
    return tl.sum(of_x, 2), tl.sum(of_y, 2), tl.sum(share_x, 2), tl.sum(share_y, 2)


@triton.jit
def add_gradients(
    grad, own, others, own_length, others_length, A, B, operands, GRAD, SHARE,
    ADDITIVE: tl.constexpr, SIZE: tl.constexpr, SHARES: tl.constexpr, PARTIAL: tl.constexpr,
    INTERPRETED: tl.constexpr,
):  # fmt: skip
    """Add a tile's part to the gradients of its own vectors, and if `SHARES` to their shares in the vector's gradient:
    both (feature, own), in memory that is this program's alone.

    grad: (other, own). A and B: the vectors of its own, and the others'.
    """
    OTHERS: tl.constexpr = grad.shape[0]
    OWNS: tl.constexpr = grad.shape[1]
    WIDE: tl.constexpr = grad.dtype
    program = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, OWNS)[None, :]
    grads = operands[6] + program * OTHERS * OWNS + columns * OTHERS
    tl.store(grads + tl.arange(0, OTHERS)[:, None], grad)
    total = tl.sum(grad, 0)[None, :]
    here = own[None, :] < own_length
    of_own, of_others = padded(own_length), padded(others_length)
    # A length of 1 is a constant, which has no `to`.
    of_feature = tl.full([], 0, tl.int64) + own_length
    halves = tl.arange(0, HALF)[:, None]
    # (feature, own, other): a thread for each feature and row, in whatever is read, so that nothing changes threads.
    together = tl.arange(0, TOGETHER)[None, None, :]
    grads = (grads + halves * 0)[:, :, None] + together
    A += (halves * of_own + own[None, :])[:, :, None]
    B += (first_of(others) + halves * of_others + columns * 0)[:, :, None] + together
    GRAD += halves * of_feature + own[None, :]
    SHARE += halves * of_feature + own[None, :]
    tl.debug_barrier()
    for first in range(0, SIZE, BLOCK):
        second = first + HALF
        a, c = tl.load(A + first * of_own), tl.load(A + second * of_own)
        theirs, seconds = B + first * of_others, B + second * of_others
        u, v = tl.load(operands[2] + first + halves), tl.load(operands[2] + second + halves)
        if ADDITIVE == TANH:
            if tl.load(operands[4] + first // BLOCK) != 0:
                of_a, of_c, share_a, share_c = sums_of_tanh(
                    a, c, grads, theirs, seconds, OTHERS, True, SHARES, PARTIAL, WIDE, INTERPRETED
                )
            else:
                of_a, of_c, share_a, share_c = sums_of_tanh(
                    a, c, grads, theirs, seconds, OTHERS, False, SHARES, PARTIAL, WIDE, INTERPRETED
                )
            of_a, of_c, share_a, share_c = 4.0 * of_a, 4.0 * of_c, total - 2.0 * share_a, total - 2.0 * share_c
        else:
            of_a, of_c, share_a, share_c = sums_of_leaky_relu(
                a, c, grads, theirs, seconds, operands[5], OTHERS, SHARES, PARTIAL, WIDE
            )
        place, next_place = first * of_feature, second * of_feature
        add_to(GRAD + place, u * of_a, here)
        add_to(GRAD + next_place, v * of_c, here)
        if SHARES:
            add_to(SHARE + place, share_a, here)
            add_to(SHARE + next_place, share_c, here)
    # The next tile writes its gradient where this one's is read, and adds to what other threads may have stored.
    tl.debug_barrier()
