"""Sparsemax and entmax of rows of scores: w_j = max((alpha - 1) s_j - tau, 0)^(1 / (alpha - 1)), with tau such that the
weights of a row sum to 1.

Only scores above max - 1 / (alpha - 1) can have a weight, so the search for tau starts there. For alpha = 2 and 1.5
each step solves for tau on the current support; when the support doesn't change, tau is exact. (For alpha = 2, starting
from below, this is Michelot's algorithm.) For other alphas, Newton steps within a bracket continue until no number lies
between its ends. A pass over a row is vectorised and stays in the L1 cache, so nothing is sorted; few passes suffice.

All scores are taken relative to the row's maximum, so that large scores lose no precision.

Source: Peters, Niculae, Martins 2019 (arXiv 1905.05702), section 3 and algorithm 2 (closed forms on a support);
Martins, Astudillo 2016 (arXiv 1602.02068), section 2 (sparsemax and its gradient).
"""

import math

import numpy as np
from llvmlite import ir
from torch import Tensor

from regard.attention.engines.jit.compiling import compiled, intrinsic, parallel_for, threads
from regard.attention.engines.jit.elementary import power

__all__ = ["entmax", "entmax_row", "entmax_vjp_row", "maximum", "vjp"]

_CHUNK = 2**16  # numbers in a chunk of work
_TINY = 1e-300  # replaces 0 where a power of 0 would be infinite


def entmax(scores: Tensor, alpha: float, out: Tensor | None = None) -> Tensor:
    """The weights of rows of scores, (..., column); hidden scores are -inf.

    A fully masked row has weights of 0; a row with NaN or +inf has weights of NaN.

    Args:
        scores: float32 or float64, on the CPU.
        alpha: above 1; 2 is sparsemax.
        out: where to write the weights; contiguous, and may be `scores` itself.
    """
    scores = scores.contiguous()
    out = scores.new_empty(scores.shape) if out is None else out
    columns = scores.shape[-1]
    if scores.numel():
        rows = scores.detach().view(-1, columns).numpy(), out.detach().view(-1, columns).numpy()
        _entmax(len(rows[0]), max(1, _CHUNK // columns), threads(), *rows, float(alpha))
    return out


def vjp(grad_weights: Tensor, weights: Tensor, alpha: float, out: Tensor | None = None) -> Tensor:
    """The gradient of the scores, given the weights and their gradient; 0 where the weight is 0, even beside NaN.

    With u_j = w_j^(2 - alpha) on the support: u_j (g_j - sum(u g) / sum(u)).

    Args:
        out: where to write it; contiguous, and may be `grad_weights` itself.
    """
    grad_weights, weights = grad_weights.contiguous(), weights.contiguous()
    out = weights.new_empty(weights.shape) if out is None else out
    columns = weights.shape[-1]
    if weights.numel():
        rows = (tensor.detach().view(-1, columns).numpy() for tensor in (grad_weights, weights, out))
        _vjp(weights.numel() // columns, max(1, _CHUNK // columns), threads(), *rows, float(alpha))
    return out


@intrinsic
def maximum(typing_context, x, y):
    """In compiled code: the larger of two numbers, or NaN if either is NaN. A loop of these is vectorised."""
    if x != y:
        return None

    def generate(context, builder, signature, values):
        number = context.get_value_type(x)
        kind = ir.FunctionType(number, [number, number])
        return builder.call(builder.module.declare_intrinsic("llvm.maximum", [number], kind), values)

    return x(x, y), generate


@compiled(cache=False)
def _top(row):
    top = row.dtype.type(-np.inf)
    for j in range(row.size):
        top = maximum(top, row[j])
    return top


# Without fast math, since reordering (s - top) - tau to s - (top + tau) would lose the digits of tau.
@compiled(fastmath=False, cache=False)
def _above(score, top, scale, tau):
    return (score - top) * scale - tau


@compiled(cache=False)
def entmax_row(scores, weights, alpha, spare):
    """In compiled code: one row; `weights` may be `scores`. `spare`: a float64 buffer as long as the row."""
    top = _top(scores)
    if top == -np.inf:
        weights[:] = 0
    elif not top < np.inf:
        weights[:] = np.nan
    elif alpha == 2.0:
        _sparsemax(scores, weights, top)
    elif alpha == 1.5:
        _entmax_of_squares(scores, weights, top)
    else:
        _entmax_of_powers(scores, weights, top, alpha, spare)


# In these loops max() and comparisons cast to numbers replace branches, which would prevent vectorisation.


@compiled(cache=False)
def _sparsemax(scores, weights, top):
    number = scores.dtype.type
    zero, one = number(0), number(1)
    tau = -one  # at most the threshold, now and after each step
    before = number(np.inf)
    while True:
        count, total = zero, zero
        for j in range(scores.size):
            above = _above(scores[j], top, one, tau)
            count += number(above > zero)
            total += max(above, zero)
        tau += (total - one) / count
        if count >= before:
            break
        before = count
    for j in range(scores.size):
        weights[j] = max(_above(scores[j], top, one, tau), zero)


@compiled(cache=False)
def _entmax_of_squares(scores, weights, top):
    number = scores.dtype.type
    zero, one, half = number(0), number(1), number(0.5)
    low, high = -one, zero
    tau = low
    solved = -one  # the size of the support that tau was solved for; -1 after another kind of step
    while True:
        count, total, squares = zero, zero, zero
        for j in range(scores.size):
            above = _above(scores[j], top, half, tau)
            count += number(above > zero)
            above = max(above, zero)
            total += above
            squares += above * above
        excess = squares - one
        root = total * total - count * excess
        step = tau + excess / (total + math.sqrt(root) if root >= zero else total + total)
        if count == solved:
            tau = step  # the same support again: this step, from nearby, removes the rounding of the one before
            break
        if excess >= zero:
            low = tau
        else:
            high = tau
        solved = count if root >= zero else -one
        if step == tau:
            break
        if not (low < step and step < high):
            step, solved = (low + high) * half, -one
            if not (low < step and step < high):
                break
        tau = step
    for j in range(scores.size):
        above = max(_above(scores[j], top, half, tau), zero)
        weights[j] = above * above


@compiled(cache=False)
def _entmax_of_powers(scores, weights, top, alpha, spare):
    """In float64: near the edge of the support, a power below 1 magnifies small differences."""
    scale, exponent = alpha - 1.0, 1.0 / (alpha - 1.0)
    highest = np.float64(top)
    size = 0
    for j in range(scores.size):
        above = _above(np.float64(scores[j]), highest, scale, 0.0)
        spare[size] = above
        size += above > -1.0
    low, high = -1.0, -(np.float64(size) ** -scale)
    tau, width = low, np.inf
    while True:
        total, slope = 0.0, 0.0
        for j in range(size):
            above = max(spare[j] - tau, _TINY)
            term = power(above, exponent - 1.0) * np.float64(above > _TINY)
            slope += term
            total += term * above
        if total >= 1.0:
            low = tau
            # Scores that aren't above `low` have no weight.
            count = 0
            for j in range(size):
                above = spare[j]
                spare[count] = above
                count += above > low
            size = count
        else:
            high = tau
        step = tau + (total - 1.0) / (exponent * slope)
        if step == tau:
            break
        # Up to alpha = 2 the sum is convex, and Newton steps approach tau from below. Above, they may creep: bisect.
        if not (low < step and step < high) or (alpha > 2.0 and high - low > 0.5 * width):
            step = 0.5 * (low + high)
            if not (low < step and step < high):
                break
        tau, width = step, high - low
    for j in range(scores.size):
        above = max(_above(np.float64(scores[j]), highest, scale, tau), _TINY)
        weights[j] = power(above, exponent) * np.float64(above > _TINY)


@compiled(cache=False)
def _entmax_rows(start, stop, scores, weights, alpha):
    spare = np.empty(1 if alpha in (1.5, 2.0) else scores.shape[1], np.float64)
    for row in range(start, stop):
        entmax_row(scores[row], weights[row], alpha, spare)


@compiled()
def _entmax(length, grain, count, *arguments):
    parallel_for(_entmax_rows, length, grain, count, arguments)


@compiled(cache=False)
def entmax_vjp_row(grads, weights, result, alpha):
    """In compiled code: one row; the result may overwrite the gradient."""
    if alpha == 2.0:
        _sparsemax_vjp(grads, weights, result)
    elif alpha == 1.5:
        _entmax_of_squares_vjp(grads, weights, result)
    else:
        _entmax_of_powers_vjp(grads, weights, result, alpha)


@compiled(cache=False)
def _sparsemax_vjp(grads, weights, result):
    zero = weights.dtype.type(0)
    total, moment = zero, zero
    for j in range(weights.size):
        total += weights.dtype.type(weights[j] != zero)
        moment += grads[j] if weights[j] != zero else zero
    mean = moment / total if total != zero else zero
    for j in range(weights.size):
        result[j] = grads[j] - mean if weights[j] != zero else zero


@compiled(cache=False)
def _entmax_of_squares_vjp(grads, weights, result):
    zero = weights.dtype.type(0)
    total, moment = zero, zero
    for j in range(weights.size):
        u = math.sqrt(weights[j])
        total += u
        moment += u * grads[j] if weights[j] != zero else zero
    mean = moment / total if total != zero else zero
    for j in range(weights.size):
        result[j] = math.sqrt(weights[j]) * (grads[j] - mean) if weights[j] != zero else zero


@compiled(cache=False)
def _entmax_of_powers_vjp(grads, weights, result, alpha):
    """In float64: above alpha = 2 the powers of small weights are large."""
    total, moment = 0.0, 0.0
    for j in range(weights.size):
        if weights[j] != 0:
            u = np.float64(weights[j]) ** (2.0 - alpha)
            total += u
            moment += u * grads[j]
    for j in range(weights.size):
        if weights[j] != 0:
            result[j] = np.float64(weights[j]) ** (2.0 - alpha) * (grads[j] - moment / total)
        else:
            result[j] = 0


@compiled(cache=False)
def _vjp_rows(start, stop, grads, weights, result, alpha):
    for row in range(start, stop):
        entmax_vjp_row(grads[row], weights[row], result[row], alpha)


@compiled()
def _vjp(length, grain, count, *arguments):
    parallel_for(_vjp_rows, length, grain, count, arguments)
