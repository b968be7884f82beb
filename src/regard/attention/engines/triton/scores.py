"""Scores as pieces of the kernels: functions of the product of query and key with their derivatives, and biases.

A piece of a score gets `product`, a tile of products, and the piece's own numbers `a` and `b`, of this head. Along
edges, those of an additive score get sums of query and key instead, feature by feature, and the slope of negative ones.

A piece of a position scheme gets the scores, the numbers of queries and keys, and their distances, all of which
broadcast against the tile; the head, the operands of the launch, and its own.
"""

import triton
import triton.language as tl

__all__ = [
    "bounded",
    "guided",
    "inner_product",
    "leaky_relu",
    "of_bounded",
    "of_inner_product",
    "of_leaky_relu",
    "of_soft_cap",
    "pair_bias",
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


@triton.jit
def guided(score, row, column, offset, head, call, operands):
    # operands: -1 / (2 width^2), the items' own lengths
    queries, keys = tl.load(operands[1] + head.batch), tl.load(operands[2] + head.batch)
    of_row = row.to(score.dtype) / tl.maximum(queries, 1).to(score.dtype)
    of_column = column.to(score.dtype) / tl.maximum(keys, 1).to(score.dtype)
    beside = of_row - of_column
    return score + beside * beside * tl.load(operands[0]).to(score.dtype)


@triton.jit
def pair_bias(score, row, column, offset, head, call, operands):
    # operands: the table, and its strides from item to item, head to head, row to row, key to key
    place = head.batch.to(tl.int64) * operands[1] + head.head.to(tl.int64) * operands[2]
    pairs = place + row.to(tl.int64) * operands[3] + column.to(tl.int64) * operands[4]
    there = (row < call.queries) & (column < call.keys)
    return score + tl.load(operands[0] + pairs, mask=there, other=0.0).to(score.dtype)
