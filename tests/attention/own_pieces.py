"""Functions of pieces for test_pieces.py: Triton reads them from a file, for its interpreter or a GPU."""

import triton
import triton.language as tl


@triton.jit
def twice(product, a, b):
    return 2.0 * product


@triton.jit
def slope(product, a, b):
    return 2.0 + 0.0 * product


@triton.jit
def short(product):
    return product


@triton.jit
def weight(score, found, keys, a, b):
    return tl.exp(score) * found


@triton.jit
def of_weight(score, weight, found, keys, a, b):
    return weight


@triton.jit
def cubic(score, found, keys, a, b):
    above = tl.maximum((score - found) / 4.0, 0.0)
    return above * above * above


@triton.jit
def of_cubic(score, weight, found, keys, a, b):
    above = tl.maximum((score - found) / 4.0, 0.0)
    return 0.75 * above * above


@triton.jit
def before(batch, head, query, position, key, a, b):
    return (key <= position) & ((position - key) % a.to(tl.int32) == 0)


@triton.jit
def here_and_there(batch, head, query, position, key, a, b):
    return (key + 2 * query + batch + head + position) % 3 != 0


@triton.jit
def without(batch, head, query, position, key, a, b):
    return (query != a) & (key != b)


@triton.jit
def square(position, key, a, b):
    return a * (key - position) * (key - position)


@triton.jit
def square_and_log(position, key, a, b):
    offset = (key - position).to(b.dtype)
    return a * offset * offset + b * tl.log2(offset + 1.0)


@triton.jit
def square_by_a(position, key, a, b):
    return (key - position) * (key - position)


@triton.jit
def times(product, a, b):
    return a * product


@triton.jit
def slope_of_times(product, a, b):
    return a + 0.0 * product


@triton.jit
def by_a_of_times(product, a, b):
    return product


@triton.jit
def negative(score, found, keys, a, b):
    return tl.where(score > found, -score, 0.0 * score)


@triton.jit
def of_negative(score, weight, found, keys, a, b):
    return tl.where(score > found, -1.0, 0.0)
