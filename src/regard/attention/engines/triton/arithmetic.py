"""What all kernels compute with: products of tiles, scalars for each head, and the hash of dropout."""

import triton
import triton.language as tl

__all__ = [
    "dot",
    "hidden_dot",
    "is_unfinite",
    "keep_scale",
    "key_hash",
    "mix",
    "newton_step",
    "scalar",
]


@triton.jit
def scalar(number, head, WIDE: tl.constexpr):
    """`number` itself or, if it is a pointer to one number for each head, the one of this head."""
    if number.dtype.is_ptr():
        return tl.load(number + head).to(WIDE)
    else:
        return number.to(WIDE)


@triton.jit
def dot(left, right, total, KIND: tl.constexpr):
    """total + left @ right. Triton's interpreter multiplies numbers of half precision wrongly, so they are widened."""
    if KIND.interpreted:
        return tl.dot(left.to(total.dtype), right.to(total.dtype), total, input_precision="ieee", out_dtype=total.dtype)
    else:
        return tl.dot(left, right, total, input_precision=KIND.precision, out_dtype=total.dtype)


@triton.jit
def hidden_dot(left, right, shown, total):
    """total + left @ right, without the terms at hidden pairs, whose factors may be NaN or infinite.

    The terms are added one column of `left` at a time.

    left and shown: (row, column); right: (column, size).
    """
    column = tl.arange(0, left.shape[1])
    for number in range(left.shape[1]):
        is_column = column[None, :] == number
        factor = tl.sum(tl.where(is_column, left, 0.0), 1)
        vector = tl.sum(tl.where(column[:, None] == number, right, 0.0), 0).to(total.dtype)
        is_shown = tl.max(tl.where(is_column & shown, 1, 0), 1) > 0
        total += tl.where(is_shown[:, None], factor[:, None] * vector[None, :], 0.0)
    return total


@triton.jit
def is_unfinite(tile):
    """Whether a tile holds a NaN or an infinity, as a scalar."""
    finite = tl.abs(tile.to(tl.float32)) < float("inf")
    return tl.max(tl.max(tl.where(finite, 0, 1), 1), 0) > 0


@triton.jit
def mix(state):
    """A bijection of 32-bit numbers, as in regard.attention.dropout."""
    state = state ^ (state >> 16)
    state = state * 0x7FEB352D
    state = state ^ (state >> 15)
    state = state * 0x846CA68B
    return state ^ (state >> 16)


@triton.jit
def key_hash(state, index):
    """The state of the hash after one more index."""
    return mix(state + (index.to(tl.uint32) + 1) * 0x9E3779B1)


@triton.jit
def keep_scale(batch, head, row, column, seed, least, factor, WIDE: tl.constexpr):
    """The factors of dropout of a tile: 0 where the hash is below `least`, elsewhere `factor`."""
    head_state = key_hash(key_hash(seed.to(tl.uint32), batch), head)
    state = key_hash(key_hash(head_state, row), column)
    return tl.where(state >= least.to(tl.uint32), factor, 0.0).to(WIDE)


@triton.jit
def newton_step(threshold, low, high, active, weight_sums, slope_sums, total, TOLERANCE: tl.constexpr):
    """One step of Newton's method for the thresholds: the new thresholds, their brackets, and which ones still move.

    `weight_sums` and `slope_sums` belong to the thresholds handed in; the sums of weights are to become `total`. Where
    Newton's step leaves the bracket, the bracket is halved.
    """
    low = tl.where(active & (weight_sums >= total), threshold, low)
    high = tl.where(active & (weight_sums < total), threshold, high)
    step = (weight_sums - total) / tl.where(slope_sums > 0.0, slope_sums, 1.0)
    newton = threshold + step
    is_converged = tl.abs(step) <= TOLERANCE * (1.0 + tl.abs(threshold))
    inside = (newton > low) & (newton < high) & (slope_sums > 0.0)
    proposed = tl.where(is_converged | inside, newton, 0.5 * (low + high))
    is_moving = ~is_converged & (tl.abs(proposed - threshold) > TOLERANCE * (1.0 + tl.abs(threshold)))
    # NaN weights make the threshold NaN, so that the row shows it.
    threshold = tl.where(weight_sums == weight_sums, tl.where(active, proposed, threshold), weight_sums)
    return threshold, low, high, active & is_moving
