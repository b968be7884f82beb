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
    """A number, or the entry of this head if it is a pointer to one for each head."""
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
    """total + left @ right without the terms at hidden pairs, whose factors may be NaN or infinite: one by one.

    left and shown: (row, column); right: (column, size).
    """
    column = tl.arange(0, left.shape[1])
    for j in range(left.shape[1]):
        here = column[None, :] == j
        factor = tl.sum(tl.where(here, left, 0.0), 1)
        vector = tl.sum(tl.where(column[:, None] == j, right, 0.0), 0).to(total.dtype)
        is_shown = tl.max(tl.where(here & shown, 1, 0), 1) > 0
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
    """The hash of one more index."""
    return mix(state + (index.to(tl.uint32) + 1) * 0x9E3779B1)


@triton.jit
def keep_scale(batch, head, row, column, seed, least, factor, WIDE: tl.constexpr):
    """The factors of dropout of a tile: 0 where the hash lies below `least`, else `factor`."""
    of_head = key_hash(key_hash(seed.to(tl.uint32), batch), head)
    state = key_hash(key_hash(of_head, row), column)
    return tl.where(state >= least.to(tl.uint32), factor, 0.0).to(WIDE)


@triton.jit
def newton_step(found, low, high, active, of_weights, of_slopes, total, TOLERANCE: tl.constexpr):
    """The next thresholds, their brackets, and which of them still move, from the sums of weights and slopes."""
    low = tl.where(active & (of_weights >= total), found, low)
    high = tl.where(active & (of_weights < total), found, high)
    step = (of_weights - total) / tl.where(of_slopes > 0.0, of_slopes, 1.0)
    newton = found + step
    is_found = tl.abs(step) <= TOLERANCE * (1.0 + tl.abs(found))
    inside = (newton > low) & (newton < high) & (of_slopes > 0.0)
    moved = tl.where(is_found | inside, newton, 0.5 * (low + high))
    still = ~is_found & (tl.abs(moved - found) > TOLERANCE * (1.0 + tl.abs(found)))
    # NaN weights make the threshold NaN, so that the row shows it.
    found = tl.where(of_weights == of_weights, tl.where(active, moved, found), of_weights)
    return found, low, high, active & still
