"""Additive scores of a tile, s_ij = sum_f u_f act(q_if + k_jf), and their gradients, without a pairs x features tensor.

For tanh the exponentials are taken out of the loop over pairs: tanh(x + y) = 1 - 2 / (1 + e^2x e^2y), so with
A = e^2q and B = e^2k computed once per vector, a term is r = 1 / (1 + A B), its derivative is 4 r (1 - r), and two
features share one reciprocal: 1/x = y / (x y). This is exact to the rounding of 1, not to that of a tanh near 0. The
powers of a feature stay in range if the queries are shifted by some number and the keys by its opposite. Features for
which no such shift exists are left as they are, and their tanh is computed term by term, at about a quarter of the
speed: a kernel that sees all vectors says which, so that nothing is asked of the GPU.

Queries and keys are laid out by feature, (feature, row), so that the loops over features read rows that lie next to
each other. Features are numbered in blocks of 16, of which the first 8 share their reciprocals with the last 8; those
beyond the last one are zeros.
"""

import triton
import triton.language as tl

from regard.attention.engines.triton.arithmetic import scalar

__all__ = ["LEAKY_RELU", "NONE", "TANH", "add_gradients", "additive_scores", "laid_out", "lay_out", "of_group"]

LOG2E = tl.constexpr(1.4426950408889634)

# The activation of additive scores, if scores are additive.
NONE = tl.constexpr(0)
TANH = tl.constexpr(1)
LEAKY_RELU = tl.constexpr(2)

BLOCK = tl.constexpr(16)
HALF = tl.constexpr(8)


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
    for begin in range(0, length, ROWS):
        rows = begin + tl.arange(0, ROWS)
        here = rows[None, :] < length
        place = pointer + rows[None, :].to(tl.int64) * stride + features[:, None]
        tile = tl.load(place, mask=here & (features[:, None] < SIZE), other=0.0).to(shift.dtype)
        if ADDITIVE == TANH:
            moved = tile + shift[:, None]
            moved = tl.where(moved < -reach, -reach, tl.where(moved > reach, reach, moved))
            tile = tl.where(fits, tl.exp2(moved * (2.0 * LOG2E)), tile)
        tl.store(into + features[:, None].to(tl.int64) * length + rows[None, :], tile, mask=here)


@triton.jit
def lay_out(
    Q, K, A, B, FITS, strides, sizes,
    ADDITIVE: tl.constexpr, SIZE: tl.constexpr, ROWS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Lay out a block of features of the keys of one head, and of all queries that see them: (feature, row)."""
    queries, keys, heads, repeat = sizes[0], sizes[1], sizes[2], sizes[3]
    block, blocks, group = tl.program_id(0), tl.num_programs(0), tl.program_id(1)
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
            Q + head * strides[1], A + (place + member * blocks * BLOCK) * queries, queries, strides[2], features, shift,
            fits, reach, ADDITIVE, SIZE, ROWS,
        )  # fmt: skip
    write(
        K, B + group.to(tl.int64) * blocks * BLOCK * keys, keys, strides[5], features, -shift, fits, reach, ADDITIVE,
        SIZE, ROWS,
    )  # fmt: skip


@triton.jit
def laid_out(SIZE: tl.constexpr):
    """How many features are laid out."""
    return (SIZE + BLOCK - 1) // BLOCK * BLOCK


@triton.jit
def of_group(operands, batch, head, heads, repeat, queries, keys, SIZE: tl.constexpr, WIDE: tl.constexpr):
    """The operands of this head: queries, keys, vector, its sum, which blocks fit, and the slope of negative numbers."""
    of_queries = batch.to(tl.int64) * heads + head
    of_keys = batch.to(tl.int64) * (heads // repeat) + head // repeat
    return (
        operands[0] + of_queries * laid_out(SIZE) * queries,
        operands[1] + of_keys * laid_out(SIZE) * keys,
        operands[2] + head * laid_out(SIZE),
        tl.load(operands[3] + head),
        operands[4] + of_keys * (laid_out(SIZE) // BLOCK),
        scalar(operands[5], head, WIDE),
    )


@triton.jit
def additive_scores(
    rows, columns, queries, keys, operands, ADDITIVE: tl.constexpr, SIZE: tl.constexpr, WIDE: tl.constexpr,
    INTERPRETED: tl.constexpr,
):  # fmt: skip
    """The scores of a tile, (row, column)."""
    STEP: tl.constexpr = HALF if SIZE > HALF else SIZE
    A, B, U = operands[0] + rows, operands[1] + columns, operands[2]
    here, there = rows < queries, columns < keys
    score = tl.zeros([rows.shape[0], columns.shape[0]], WIDE)
    for first in range(0, SIZE, BLOCK):
        if ADDITIVE == TANH:
            if tl.load(operands[4] + first // BLOCK) != 0:
                for feature in range(first, first + STEP):
                    second = feature + HALF
                    a = tl.load(A + feature * queries, mask=here, other=0.0)
                    b = tl.load(B + feature * keys, mask=there, other=0.0)
                    c = tl.load(A + second * queries, mask=here, other=0.0)
                    d = tl.load(B + second * keys, mask=there, other=0.0)
                    x = 1.0 + a[:, None] * b[None, :]
                    y = 1.0 + c[:, None] * d[None, :]
                    u, v = tl.load(U + feature), tl.load(U + second)
                    score += (u * y + v * x) * reciprocal(x * y, INTERPRETED)
            else:
                for feature in range(first, first + BLOCK):
                    a = tl.load(A + feature * queries, mask=here, other=0.0)
                    b = tl.load(B + feature * keys, mask=there, other=0.0)
                    score += tl.load(U + feature) * falling(a[:, None] + b[None, :], INTERPRETED)
        else:
            for feature in range(first, first + BLOCK):
                a = tl.load(A + feature * queries, mask=here, other=0.0)
                b = tl.load(B + feature * keys, mask=there, other=0.0)
                x = a[:, None] + b[None, :]
                u = tl.load(U + feature)
                score += tl.where(x > 0.0, u, u * operands[5]) * x
    return operands[3] - 2.0 * score if ADDITIVE == TANH else score


@triton.jit
def add_to(pointer, tile, features, own, length):
    place = pointer + features[:, None].to(tl.int64) * length + own[None, :]
    here = own[None, :] < length
    tl.store(place, tl.load(place, mask=here, other=0.0) + tile, mask=here)


@triton.jit
def sums_of(grad, term, SHARES: tl.constexpr):
    """Of terms r: the sums over the first dimension of grad r (1 - r), and if `SHARES` of grad r."""
    if SHARES:
        of_terms = tl.sum(grad * term, 0)
        return of_terms - tl.sum(grad * term * term, 0), of_terms
    else:
        inner = tl.sum(grad * (term - term * term), 0)
        return inner, inner


@triton.jit
def add_gradients(
    grad, shown, own, others, OWN, OTHERS, own_length, others_length, operands, GRAD, SHARE,
    ADDITIVE: tl.constexpr, SIZE: tl.constexpr, SHARES: tl.constexpr, PARTIAL: tl.constexpr,
    INTERPRETED: tl.constexpr,
):  # fmt: skip
    """Add a tile's part to the gradients of its own vectors, and if `SHARES` to their shares in the vector's gradient:
    both (feature, own), in memory that is this program's alone.

    grad and shown: (other, own). With the others in the first dimension of (other, feature, own), a thread adds up all
    of them by itself.
    """
    grad, shown = grad[:, None, :], shown[:, None, :]
    here = own[None, None, :] < own_length
    there = others[:, None, None] < others_length
    total = tl.sum(grad, 0)
    for first in range(0, SIZE, BLOCK):
        features = first + tl.arange(0, HALF)
        seconds = features + HALF
        ours = OWN + features.to(tl.int64)[None, :, None] * own_length + own[None, None, :]
        theirs = OTHERS + features.to(tl.int64)[None, :, None] * others_length + others[:, None, None]
        a = tl.load(ours, mask=here, other=0.0)
        c = tl.load(ours + HALF * own_length.to(tl.int64), mask=here, other=0.0)
        b = tl.load(theirs, mask=there, other=0.0)
        d = tl.load(theirs + HALF * others_length.to(tl.int64), mask=there, other=0.0)
        u, v = tl.load(operands[2] + features)[:, None], tl.load(operands[2] + seconds)[:, None]
        if ADDITIVE == TANH:
            if tl.load(operands[4] + first // BLOCK) != 0:
                x, y = 1.0 + a * b, 1.0 + c * d
                both = reciprocal(x * y, INTERPRETED)
                r, s = y * both, x * both
            else:
                r, s = falling(a + b, INTERPRETED), falling(c + d, INTERPRETED)
            if PARTIAL:
                r, s = tl.where(shown, r, 0.0), tl.where(shown, s, 0.0)
            of_r, share_r = sums_of(grad, r, SHARES)
            of_s, share_s = sums_of(grad, s, SHARES)
            of_r, of_s = 4.0 * of_r, 4.0 * of_s
            share_r, share_s = total - 2.0 * share_r, total - 2.0 * share_s
        else:
            x, y = a + b, c + d
            of_x, of_y = tl.where(x > 0.0, grad, grad * operands[5]), tl.where(y > 0.0, grad, grad * operands[5])
            if PARTIAL:
                x, y = tl.where(shown, x, 0.0), tl.where(shown, y, 0.0)
            of_r, of_s = tl.sum(of_x, 0), tl.sum(of_y, 0)
            share_r, share_s = tl.sum(of_x * x, 0), tl.sum(of_y * y, 0)
        add_to(GRAD, u * of_r, features, own, own_length)
        add_to(GRAD, v * of_s, seconds, own, own_length)
        if SHARES:
            add_to(SHARE, share_r, features, own, own_length)
            add_to(SHARE, share_s, seconds, own, own_length)
    # The next tile adds to what was stored here, perhaps in another thread.
    tl.debug_barrier()
