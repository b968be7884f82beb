"""Normalisers as pieces of the kernels: what a weight is, and its derivative.

A piece gets `score`, a tile of scores less the highest of their rows, `found`, one number a row that was found before,
the numbers of the keys, which broadcast against it, and the piece's own numbers `a` and `b`, of this head. With g the
slope of a weight,

    ds_ij = g_ij (dw_ij - mean_i),   mean_i = sum_j g_ij dw_ij / sum_j g_ij,

for all whose rows have a sum that is given, and mean_i = 0 for the others.
"""

import triton
import triton.language as tl

__all__ = [
    "budget_slope",
    "budget_weight",
    "entmax_1_5_slope",
    "entmax_1_5_weight",
    "entmax_slope",
    "entmax_weight",
    "hard_slope",
    "hard_weight",
    "of_alpha",
    "of_bias",
    "of_sharpness",
    "relu_slope",
    "relu_weight",
    "sigmoid_slope",
    "sigmoid_weight",
    "softmax_slope",
    "softmax_weight",
    "sparsemax_slope",
    "sparsemax_weight",
]

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def softmax_weight(score, found, keys, a, b):
    # found: 1 / sum_j exp(score_j)
    return tl.exp2(score * LOG2E) * found


@triton.jit
def softmax_slope(score, weight, found, keys, a, b):
    return weight


@triton.jit
def sigmoid_weight(score, found, keys, a, b):
    # found: the bias
    return 1.0 / (1.0 + tl.exp2(-(score + found) * LOG2E))


@triton.jit
def sigmoid_slope(score, weight, found, keys, a, b):
    return weight * (1.0 - weight)


@triton.jit
def relu_weight(score, found, keys, a, b):
    # found: 1 / the number of keys. NaN stays NaN.
    return tl.where(score <= 0.0, 0.0, score) * found


@triton.jit
def relu_slope(score, weight, found, keys, a, b):
    return tl.where(score <= 0.0, 0.0, found + 0.0 * score)


@triton.jit
def sparsemax_weight(score, found, keys, a, b):
    # found: the threshold
    return tl.where(score <= found, 0.0, score - found)


@triton.jit
def sparsemax_slope(score, weight, found, keys, a, b):
    return tl.where(score > found, 1.0, 0.0).to(score.dtype)


@triton.jit
def entmax_weight(score, found, keys, a, b):
    # a: alpha; b: 1 / (alpha - 1)
    above = (score - found) * (a - 1.0)
    return tl.where(above <= 0.0, 0.0, tl.exp2(tl.log2(tl.where(above <= 0.0, 1.0, above)) * b))


@triton.jit
def entmax_slope(score, weight, found, keys, a, b):
    above = (score - found) * (a - 1.0)
    return tl.where(above <= 0.0, 0.0, tl.exp2(tl.log2(tl.where(above <= 0.0, 1.0, above)) * ((2.0 - a) * b)))


@triton.jit
def entmax_1_5_weight(score, found, keys, a, b):
    above = tl.where(score <= found, 0.0, 0.5 * (score - found))
    return above * above


@triton.jit
def entmax_1_5_slope(score, weight, found, keys, a, b):
    return tl.where(score <= found, 0.0, 0.5 * (score - found))


@triton.jit
def budget_weight(score, found, keys, a, b):
    above = tl.where(score <= found, 0.0, score - found)
    return tl.where(above >= 1.0, 1.0, above)


@triton.jit
def budget_slope(score, weight, found, keys, a, b):
    return tl.where((weight > 0.0) & (weight < 1.0), 1.0, 0.0).to(score.dtype)


@triton.jit
def hard_weight(score, found, keys, a, b):
    # found: the number of the key with the highest score; NaN if a score is
    return tl.where(found == keys, 1.0, tl.where(found == found, 0.0, found)).to(score.dtype)


@triton.jit
def hard_slope(score, weight, found, keys, a, b):
    return tl.zeros_like(score)


# What the sum over a row of h_j (dw_j - mean) is the gradient of: h is the derivative of a weight by the piece's own
# number, without what the number changes through the rest of the row.


@triton.jit
def of_sharpness(score, weight, slope, found, keys, a, b):
    # softmax(c s): h = w s, for the derivative by log c
    return tl.where(weight == 0.0, 0.0, weight * score)


@triton.jit
def of_bias(score, weight, slope, found, keys, a, b):
    return slope


@triton.jit
def of_alpha(score, weight, slope, found, keys, a, b):
    # With z = (alpha - 1) (s - t): w (1 - log z) / (alpha - 1)^2
    above = (score - found) * (a - 1.0)
    logarithm = tl.log2(tl.where(above <= 0.0, 1.0, above)) / LOG2E
    return tl.where(above <= 0.0, 0.0, weight * (1.0 - logarithm) * b * b)
