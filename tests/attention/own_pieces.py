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
def negative(score, found, keys, a, b):
    return tl.where(score > found, -score, 0.0 * score)


@triton.jit
def of_negative(score, weight, found, keys, a, b):
    return tl.where(score > found, -1.0, 0.0)
