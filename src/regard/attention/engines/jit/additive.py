"""Additive scores of a tile, s_ij = sum_f u_f act(q_if + k_jf), and their gradients, without a pairs x features tensor.

For tanh the exponentials are taken out of the inner loop: tanh(x + y) = 1 - 2 / (1 + e^2x e^2y), so with A = e^2q and
B = e^2k computed once per token, a term is r = 1 / (1 + A B), its derivative is 4 r (1 - r), and two features share one
division: 1/x = y / (x y). This is exact to the rounding of 1, not to that of a tanh near 0 (a form with that property
would lose all precision where q = -k is large). The powers of a feature stay in range if the queries are shifted by
some number and the keys by its opposite. If no such shift exists, tanh is computed term by term, at about a third of
the speed.

Keys are stored feature by feature, so that the inner loop runs along the columns of a row of scores.
"""

from operator import methodcaller
from typing import Literal

import torch
from torch import Tensor

from regard.attention.engines.jit.compiling import compiled, parallel_for, scalar, threads
from regard.attention.engines.jit.elementary import hyperbolic_tangent, reciprocal

__all__ = ["Activation", "scores", "vjp"]

Activation = Literal["tanh", "leaky_relu"]

# The largest x and y for which (1 + e^2x e^2y)^2 and its reciprocal are normal numbers; and where 1 - tanh vanishes in
# the rounding of 1.
_REACH = {torch.float32: 10.8, torch.float64: 88.0}
_FLAT = {torch.float32: 9.0, torch.float64: 20.0}

_COLUMNS = 1024  # keys whose features, which each row reads, fit in the L2 cache
_ROWS = 16  # in a chunk of work


def scores(
    query: Tensor, key: Tensor, vector: Tensor, activation: Activation, slope: float = 0.2, out: Tensor | None = None
) -> Tensor:
    """s_ij = sum_f u_f act(q_if + k_jf).

    Args:
        query: (group, row, feature), finite, float32 or float64, on the CPU.
        key: (group, column, feature).
        vector: (feature,) or (group, feature): u.
        activation: act.
        slope: the factor of negative numbers in leaky_relu.
        out: (group, row, column), contiguous: where to write the scores.
    """
    if out is None:
        out = query.new_empty(len(query), query.shape[1], key.shape[1])
    if not out.numel():
        return out
    if query.shape[-1] % 2:
        query, key, vector = _even(query), _even(key), _even(vector)
    vector = vector.expand(len(query), -1)
    powers = _powers(query, key) if activation == "tanh" else None
    length = out.shape[0] * out.shape[1]
    if powers is None:
        tensors = out, query.contiguous(), key.mT.contiguous(), vector.contiguous()
        _scores(length, _ROWS, threads(), *map(_array, tensors), activation == "tanh", scalar(slope, query.dtype))
    else:
        tensors = out, *powers, (2 * vector).contiguous(), vector.sum(-1)
        _scores_of_powers(length, _ROWS, threads(), *map(_array, tensors))
    return out


def vjp(
    grad_scores: Tensor, query: Tensor, key: Tensor, vector: Tensor, activation: Activation, slope: float = 0.2
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of query, key and vector, given that of the scores, (group, row, column)."""
    features = query.shape[2]
    if not query.numel() or not key.numel():
        return torch.zeros_like(query), torch.zeros_like(key), torch.zeros_like(vector)
    if features % 2:
        query, key, vector = _even(query), _even(key), _even(vector)
    groups, rows, padded = query.shape
    columns, heads = key.shape[1], vector.expand(groups, -1)
    grad_scores = grad_scores.contiguous()
    powers = _powers(query, key) if activation == "tanh" else None
    grad_query = query.new_empty(groups, padded, rows)
    grad_key = query.new_zeros(groups, padded, columns)
    grad_vector = query.new_empty(groups, padded)
    results = grad_query, grad_key, grad_vector
    if powers is None:
        tensors = grad_scores, query.mT.contiguous(), key.mT.contiguous(), heads.contiguous()
        flags = activation == "tanh", scalar(slope, query.dtype)
        _vjp(groups * padded, 1, threads(), *map(_array, (*tensors, *results)), *flags)
    else:
        tensors = grad_scores, powers[0].mT.contiguous(), powers[1], (4 * heads).contiguous()
        _vjp_of_powers(groups * padded // 2, 1, threads(), *map(_array, (*tensors, *results)))
        grad_vector = grad_scores.sum((1, 2)).unsqueeze(-1) - 2 * grad_vector
    grad_vector = grad_vector[:, :features]
    if vector.ndim == 1:
        grad_vector = grad_vector.sum(0)
    return grad_query[:, :features].mT.contiguous(), grad_key[:, :features].mT.contiguous(), grad_vector.contiguous()


def _powers(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor] | None:
    """e^2q (group, row, feature) and e^2k (group, feature, column); None if out of range."""
    reach = _REACH[query.dtype]
    # aminmax would read both once, but isn't vectorised along this dimension.
    low, high, key_low, key_high = query.amin(1), query.amax(1), key.amin(1), key.amax(1)
    fits = _fits(low, high, key_low, key_high)
    if not fits.all():
        # Only the sum of both matters: where they are out of range, move the centres of their ranges together.
        shift = torch.where(fits, 0.0, (key_low + key_high - low - high) / 4)
        if not bool(_fits(low + shift, high + shift, key_low - shift, key_high - shift).all()):
            return None
        query, key = query + shift.unsqueeze(1), key - shift.unsqueeze(1)
    query_power = query.clamp(-reach, reach).mul_(2).exp_()
    key_power = key.clamp(-reach, reach).mul_(2).exp_()
    return query_power.contiguous(), key_power.mT.contiguous()


def _fits(low: Tensor, high: Tensor, key_low: Tensor, key_high: Tensor) -> Tensor:
    """Whether clamping at `reach` changes only sums at which tanh is flat."""
    reach, flat = _REACH[low.dtype], _FLAT[low.dtype]
    over = (high <= reach) | (key_low >= flat - reach)
    under = (low >= -reach) | (key_high <= reach - flat)
    key_over = (key_high <= reach) | (low >= flat - reach)
    key_under = (key_low >= -reach) | (high <= reach - flat)
    return over & under & key_over & key_under


def _even(tensor: Tensor) -> Tensor:
    """The tensor with one more feature, of zeros: two features share a division, and it adds nothing to the scores."""
    return torch.nn.functional.pad(tensor, (0, 1))


_array = methodcaller("numpy", force=True)  # that of a tensor, without its gradient


@compiled(cache=False)
def _scores_of_powers_rows(start, stop, scores, query, key, twice, total):
    rows, columns = scores.shape[1:]
    one = query.dtype.type(1)
    for at in range(start, stop):
        group, row = at // rows, at % rows
        for first in range(0, columns, _COLUMNS):
            end = min(first + _COLUMNS, columns)
            line = scores[group, row, first:end]
            line[:] = total[group]
            for feature in range(0, query.shape[2], 2):
                a, b = query[group, row, feature], query[group, row, feature + 1]
                u, v = twice[group, feature], twice[group, feature + 1]
                left, right = key[group, feature, first:end], key[group, feature + 1, first:end]
                for j in range(line.size):
                    x, y = one + a * left[j], one + b * right[j]
                    line[j] -= (u * y + v * x) * reciprocal(x * y)


@compiled()
def _scores_of_powers(length, grain, count, *arguments):
    parallel_for(_scores_of_powers_rows, length, grain, count, arguments)


@compiled(cache=False)
def _scores_rows(start, stop, scores, query, key, vector, tanh, slope):
    rows, columns = scores.shape[1:]
    zero = query.dtype.type(0)
    for at in range(start, stop):
        group, row = at // rows, at % rows
        for first in range(0, columns, _COLUMNS):
            end = min(first + _COLUMNS, columns)
            line = scores[group, row, first:end]
            line[:] = zero
            for feature in range(query.shape[2]):
                a, u = query[group, row, feature], vector[group, feature]
                keys = key[group, feature, first:end]
                if tanh:
                    for j in range(line.size):
                        line[j] += u * hyperbolic_tangent(a + keys[j])
                else:
                    low = u * slope
                    for j in range(line.size):
                        x = a + keys[j]
                        line[j] += x * (u if x > zero else low)


@compiled()
def _scores(length, grain, count, *arguments):
    parallel_for(_scores_rows, length, grain, count, arguments)


# A chunk of the backward pass is one feature (or two that share a division) of all pairs, so its sums have one writer.


@compiled(cache=False)
def _vjp_of_powers_features(start, stop, grad_scores, query, key, four, grad_query, grad_key, sums):
    rows, columns = grad_scores.shape[1:]
    pairs = key.shape[1] // 2
    zero, one = query.dtype.type(0), query.dtype.type(1)
    for at in range(start, stop):
        group, feature = at // pairs, at % pairs * 2
        left, right = key[group, feature], key[group, feature + 1]
        grad_left, grad_right = grad_key[group, feature], grad_key[group, feature + 1]
        u, v = four[group, feature], four[group, feature + 1]
        sum_left, sum_right = zero, zero
        for row in range(rows):
            a, b = query[group, feature, row], query[group, feature + 1, row]
            grads = grad_scores[group, row]
            row_left, row_right, inner_left, inner_right = zero, zero, zero, zero
            for j in range(columns):
                x, y = one + a * left[j], one + b * right[j]
                both = reciprocal(x * y)
                r, s = y * both, x * both
                g, h = grads[j] * r, grads[j] * s
                row_left += g
                row_right += h
                g -= g * r
                h -= h * s
                inner_left += g
                inner_right += h
                grad_left[j] += g
                grad_right[j] += h
            sum_left += row_left
            sum_right += row_right
            grad_query[group, feature, row] = u * inner_left
            grad_query[group, feature + 1, row] = v * inner_right
        for j in range(columns):
            grad_left[j] *= u
            grad_right[j] *= v
        sums[group, feature] = sum_left
        sums[group, feature + 1] = sum_right


@compiled()
def _vjp_of_powers(length, grain, count, *arguments):
    parallel_for(_vjp_of_powers_features, length, grain, count, arguments)


@compiled(cache=False)
def _vjp_features(start, stop, grad_scores, query, key, vector, grad_query, grad_key, grad_vector, tanh, slope):
    rows, columns = grad_scores.shape[1:]
    features = query.shape[1]
    one, zero = query.dtype.type(1), query.dtype.type(0)
    for at in range(start, stop):
        group, feature = at // features, at % features
        keys, grad_keys = key[group, feature], grad_key[group, feature]
        u = vector[group, feature]
        total = zero
        for row in range(rows):
            a = query[group, feature, row]
            grads = grad_scores[group, row]
            row_total, inner = zero, zero
            if tanh:
                for j in range(columns):
                    t = hyperbolic_tangent(a + keys[j])
                    g = grads[j] * t
                    row_total += g
                    g = grads[j] - g * t
                    inner += g
                    grad_keys[j] += g
            else:
                for j in range(columns):
                    x = a + keys[j]
                    g = grads[j] * (one if x > zero else slope)
                    row_total += g * x
                    inner += g
                    grad_keys[j] += g
            total += row_total
            grad_query[group, feature, row] = u * inner
        for j in range(columns):
            grad_keys[j] *= u
        grad_vector[group, feature] = total


@compiled()
def _vjp(length, grain, count, *arguments):
    parallel_for(_vjp_features, length, grain, count, arguments)
