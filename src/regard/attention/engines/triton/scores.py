"""Scores as pieces of the kernels: functions of the product of query and key, and their derivatives.

A piece gets `product`, a tile of products, and the piece's own numbers `a` and `b`, of this head.
"""

import triton
import triton.language as tl

__all__ = ["inner_product", "of_inner_product", "of_soft_cap", "soft_cap"]

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def inner_product(product, a, b):
    return product


@triton.jit
def of_inner_product(product, a, b):
    return 1.0


@triton.jit
def soft_cap(product, a, b):
    # a tanh(product / a), by the logistic function, which doesn't overflow
    return a * (2.0 / (1.0 + tl.exp2(-2.0 * LOG2E * product / a)) - 1.0)


@triton.jit
def of_soft_cap(product, a, b):
    tanh = 2.0 / (1.0 + tl.exp2(-2.0 * LOG2E * product / a)) - 1.0
    return 1.0 - tanh * tanh
