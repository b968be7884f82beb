"""Scores as pieces of the kernels: functions of the product of query and key, and their derivatives.

A piece gets `product`, a tile of products, and the piece's own numbers `a` and `b`, of this head. Along edges, those
of an additive score get sums of query and key instead, feature by feature, and the slope of negative ones.
"""

import triton
import triton.language as tl

__all__ = [
    "bounded",
    "inner_product",
    "leaky_relu",
    "of_bounded",
    "of_inner_product",
    "of_leaky_relu",
    "of_soft_cap",
    "soft_cap",
    "tanh",
]


@triton.jit
def inner_product(product, a, b):
    return product


@triton.jit
def of_inner_product(product, a, b):
    return 1.0


@triton.jit
def soft_cap(product, a, b):
    return a * tanh(product / a)


@triton.jit
def of_soft_cap(product, a, b):
    bounded = tanh(product / a)
    return 1.0 - bounded * bounded


@triton.jit
def tanh(number):
    """By the logistic function, which doesn't overflow. The factor is -2 / log 2."""
    return 2.0 / (1.0 + tl.exp2(number * -2.8853900817779268)) - 1.0


@triton.jit
def bounded(hidden, leak):
    return tanh(hidden)


@triton.jit
def of_bounded(hidden, leak):
    value = tanh(hidden)
    return 1.0 - value * value


@triton.jit
def leaky_relu(hidden, leak):
    return tl.where(hidden > 0.0, hidden, leak * hidden)


@triton.jit
def of_leaky_relu(hidden, leak):
    return tl.where(hidden > 0.0, 1.0, leak)
