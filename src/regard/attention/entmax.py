"""Entmax: weights that grow from 0 above a threshold, which is chosen so that the row sums to 1.

For alpha > 1, the weight is max(z - t, 0)^(1 / (alpha - 1)), where z = (alpha - 1) score. From softmax (alpha near 1)
to a single key (alpha large), more and more keys with low scores have weights of exactly 0. The others are the support.

- alpha 1.5 and 2: for a given support, the threshold that makes it sum to 1 has a closed form. It determines the next
  support; once the support doesn't change, it is the right one, and the threshold is exact.
- any other alpha: Newton's method within a bracket, which is bisected when Newton steps don't shrink, until the step is
  smaller than rounding or no float is left in the bracket.

The number of iterations isn't limited, and nothing is sorted: there are only passes over the rows, on every device.

Source: Martins & Astudillo 2016 (arXiv 1602.02068), proposition 1; Peters et al. 2019 (arXiv 1905.05702), section 3;
the gradient of alpha: Correia et al. 2019 (arXiv 1909.00015), proposition 1. Newton's method on the norm, and with the
logarithm as the unknown, is derived here.
"""

import itertools
import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from regard.attention.compilation.traceable import is_traceable
from regard.attention.gradients.forward_over_forward import refuse_forward_over_forward

__all__ = ["entmax", "entmax_alpha_vjp", "entmax_vjp"]

# How many scores are processed at once on a CPU: few enough to stay in a core's cache from one pass to the next.
_AT_ONCE = 2**19


def entmax(scores: Tensor, alpha: float | Tensor) -> Tensor:
    """The weights of alpha-entmax over the last axis, differentiable any number of times.

    A row of minus infinities gives zeros; a row with NaN or infinity gives NaN, and so does an alpha of 1 or less.

    Args:
        scores: (..., key).
        alpha: above 1; a tensor has as many axes as the scores and broadcasts against them; its last axis is 1.

    Example:
        >>> entmax(torch.tensor([[1.0, 0.5, -1.0]]), 2.0)
        tensor([[0.7500, 0.2500, 0.0000]])
    """
    if is_traceable() and isinstance(alpha, float) and alpha in (1.5, 2.0):
        return _by_sorting(scores, alpha)
    if isinstance(alpha, Tensor):
        rows = torch.broadcast_shapes(scores.shape[:-1], alpha.shape[:-1])
        scores = scores.expand(*rows, scores.shape[-1])
    return _Entmax.apply(scores, alpha)  # pyright: ignore[reportReturnType]


def entmax_vjp(grad_weights: Tensor, weights: Tensor, alpha: float | Tensor) -> Tensor:
    """The gradient of the scores, from the weights alone; it overwrites `grad_weights`.

    With p_j = w_j^(2 - alpha) on the support and 0 elsewhere: ds_j = p_j (dw_j - sum_k p_k dw_k / sum_k p_k).

    Source: Peters et al. 2019 (arXiv 1905.05702), section 3, on the Jacobian.

    Example:
        >>> entmax_vjp(torch.tensor([[3.0, 1.0, 9.0]]), torch.tensor([[0.75, 0.25, 0.0]]), 2.0)
        tensor([[ 1., -1.,  0.]])
    """
    if isinstance(alpha, Tensor):
        powers = _powers(weights, alpha)
    elif alpha == 2.0:
        powers = weights.sign()
    elif alpha == 1.5:
        # The square root by its reciprocal: sqrt takes five times as long if most numbers are 0.
        powers = weights.clamp(min=torch.finfo(weights.dtype).tiny).rsqrt_().mul_(weights)
    else:
        powers = weights ** (2.0 - alpha) if alpha < 2.0 else _powers(weights, alpha)
    total = _row_sums(powers)
    mean = grad_weights.mul_(powers).sum(-1, keepdim=True).div_(total)
    return grad_weights.addcmul_(powers, mean, value=-1)


def entmax_alpha_vjp(grad_weights: Tensor, weights: Tensor, alpha: Tensor) -> Tensor:
    """The gradient of alpha, from the weights alone.

    With p as above, P_j = p_j / sum_k p_k, b = alpha - 1 and the terms of the entropy h_j = -w_j log w_j:
    dw_j / dalpha = (w_j - P_j) / b^2 + (h_j - P_j sum_k h_k) / b. Near alpha = 1 both terms are large and cancel, so
    they are computed in float64, from weights that are normalised in float64.

    Source: Correia et al. 2019 (arXiv 1909.00015), proposition 1.

    Example:
        >>> weights, alpha = torch.tensor([[0.75, 0.25, 0.0]]), torch.tensor([[2.0]])
        >>> entmax_alpha_vjp(torch.tensor([[1.0, 0.0, 0.0]]), weights, alpha)
        tensor([[0.1846]])
    """
    return (grad_weights * _alpha_derivative(weights, alpha)).sum_to_size(alpha.shape).to(alpha.dtype)


def _alpha_derivative(weights: Tensor, alpha: Tensor) -> Tensor:
    """The derivative of each weight with respect to alpha, in float64."""
    wide, curvature = weights.double(), alpha.double() - 1.0
    wide = wide / _row_sums(wide)
    powers = _powers(wide, alpha.double())
    powers = powers / _row_sums(powers)
    # At 0 the entropy's term is 0, but its derivative infinite; it is computed at 1, where the term is 0 too.
    entropy = torch.special.entr(torch.where(wide == 0, 1.0, wide))
    return (wide - powers) / curvature.square() + (entropy - powers * entropy.sum(-1, keepdim=True)) / curvature


def _scores_jvp(change: Tensor, weights: Tensor, alpha: float | Tensor) -> Tensor:
    """The Jacobian, which is symmetric, times a vector."""
    powers = _powers(weights, alpha)
    return powers * (change - (powers * change).sum(-1, keepdim=True) / _row_sums(powers))


def _powers(weights: Tensor, alpha: float | Tensor) -> Tensor:
    """w^(2 - alpha) on the support and 0 elsewhere, differentiable."""
    support = weights != 0
    # Outside of the support the power may have no derivative: there it is computed at 1 and discarded.
    return torch.where(support, torch.where(support, weights, 1.0) ** (2.0 - alpha), 0.0)


def _row_sums(powers: Tensor) -> Tensor:
    """The sum of each row, which is at least 1, since no weight exceeds 1; not 0 either for a row without support."""
    return powers.sum(-1, keepdim=True).clamp(min=0.5)


class _Entmax(torch.autograd.Function):
    """Finds the threshold without autograd; the gradient has a closed form in the weights, which is differentiable."""

    @staticmethod
    def forward(scores: Tensor, alpha: float | Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        rows = scores.reshape(-1, scores.shape[-1]) if scores.numel() else scores.new_zeros(0, 1)
        weights = torch.empty_like(rows)
        step = max(1, _AT_ONCE // rows.shape[-1]) if rows.device.type == "cpu" else max(1, len(rows))
        parts = zip(rows.split(step), weights.split(step), _by_rows(alpha, scores, step), strict=True)
        for some, result, exponent in parts:
            if isinstance(exponent, float) and exponent in (1.5, 2.0):
                _by_support(some, exponent, result)
            else:
                _by_bracket(some, exponent, result)
        return weights.view(scores.shape)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        alpha = inputs[1]
        ctx.alpha = None if isinstance(alpha, Tensor) else alpha
        saved = (output, *([alpha] if isinstance(alpha, Tensor) else []))
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)

    @staticmethod
    def backward(ctx: Any, grad_weights: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        weights, *saved = ctx.saved_tensors
        alpha = saved[0] if saved else ctx.alpha
        grad_alpha = entmax_alpha_vjp(grad_weights, weights, alpha) if ctx.needs_input_grad[1] else None
        return _scores_jvp(grad_weights, weights, alpha), grad_alpha

    @staticmethod
    def jvp(ctx: Any, of_scores: Tensor | None, of_alpha: Tensor | None) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        refuse_forward_over_forward()
        weights, *saved = ctx.saved_tensors
        alpha = saved[0] if saved else ctx.alpha
        # The Jacobian of the scores is symmetric.
        change = torch.zeros_like(weights) if of_scores is None else _scores_jvp(of_scores, weights, alpha)
        return change if of_alpha is None else change + (of_alpha * _alpha_derivative(weights, alpha)).to(weights.dtype)

    @staticmethod
    def vmap(  # pyright: ignore[reportIncompatibleMethodOverride]
        info: Any, in_dims: tuple[int | None, ...], scores: Tensor, alpha: float | Tensor
    ) -> tuple[Tensor, int]:
        scores = scores.unsqueeze(0) if in_dims[0] is None else scores.movedim(in_dims[0], 0)
        if isinstance(alpha, Tensor):
            alpha = alpha.unsqueeze(0) if in_dims[1] is None else alpha.movedim(in_dims[1], 0)
        return _Entmax.apply(scores.expand(info.batch_size, *scores.shape[1:]), alpha), 0  # pyright: ignore


def _by_rows(alpha: float | Tensor, scores: Tensor, step: int) -> Iterable[float | Tensor]:
    """Alpha for each block of `step` rows: a number, or (row, 1); NaN where it isn't above 1."""
    if not isinstance(alpha, Tensor):
        return itertools.repeat(alpha, -(-scores.shape[:-1].numel() // step) if scores.numel() else 1)
    alpha = alpha.to(scores.dtype).expand(*scores.shape[:-1], 1).reshape(-1, 1)[: scores.numel()]
    return torch.where((alpha > 1) & (alpha < torch.inf), alpha, torch.nan).split(step)


def _below_largest(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Each score minus the row's maximum; and which rows have no threshold: fully masked ones, and those with NaN."""
    top = scores.amax(-1, keepdim=True)
    idle = ~torch.isfinite(top)
    # A hidden score remains minus infinity, since 0 is subtracted; subtracting NaN makes the whole row NaN.
    top = top.masked_fill(idle & (top != -torch.inf), torch.nan).masked_fill(top == -torch.inf, 0.0)
    return scores - top, idle


def _by_support(scores: Tensor, alpha: float, weights: Tensor) -> None:
    """Write the weights for alpha 1.5 and 2 into `weights` (row, key)."""
    below, idle = _below_largest(scores)
    if alpha == 1.5:
        below *= 0.5
    # At a threshold of -1 the row's maximum alone gives a sum of 1, so the threshold is at least -1.
    start = torch.full_like(below[:, :1], -1.0).masked_fill(idle, 0.0)
    above, norm = _climb(below, start, idle, alpha)
    # The threshold is exact to its rounding, which adds up over many keys and is divided out here.
    torch.div(above, norm.clamp_(min=0.5), out=weights)
    if alpha == 1.5:
        weights.square_()


def _climb(values: Tensor, threshold: Tensor, done: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    """max(values - threshold, 0) for each row's threshold, and its norm, starting from a threshold that is too low.

    Let N(t) be the norm of max(values - t, 0): the sum of the entries for alpha 2, their Euclidean norm for 1.5. The
    threshold is where N(t) = 1. N is convex, so Newton steps increase t and never exceed the threshold, and for alpha 2
    they equal the closed form. For 1.5 the closed form on a support that is too large exceeds it: then the support is
    too small, the next closed form doesn't exceed it again, and the iteration continues from the larger of that and
    Newton's point.
    """
    above, inside = torch.empty_like(values), torch.empty_like(values)
    # Newton's last point, the last point not above the threshold, and the size of the support of the closed form.
    newton = climbed = torch.full_like(threshold, -torch.inf)
    count = torch.full_like(threshold, -1.0)
    while True:
        torch.sub(values, threshold, out=above).relu_()
        # As a sum of floats: counting booleans is many times slower.
        size = torch.gt(above, 0.0, out=inside).sum(1, keepdim=True)
        total = above.sum(1, keepdim=True)
        if alpha == 2.0:
            norm = total
            closed = step = threshold + (norm - 1) / size
        else:
            norm = torch.linalg.vector_norm(above, dim=1, keepdim=True)
            step = threshold + (norm - 1) * norm / total
            excess = norm.square() - 1
            root = (total.square() - size * excess).clamp_(min=0.0).sqrt_()
            closed = threshold + excess / (total + root)
        low = norm >= 1
        following = torch.where(low, closed, torch.maximum(newton, closed))
        done = done | (size == count) | (low & (threshold <= climbed)) | (following == threshold)
        if bool(done.all()):
            return above, norm
        count = torch.where(following == closed, size, -1.0)
        climbed = torch.where(low, threshold, climbed)
        newton = torch.where(low, step, newton)
        threshold = torch.where(done, threshold, following)


def _by_sorting(scores: Tensor, alpha: float) -> Tensor:
    """The weights for alpha 1.5 and 2 without a loop, to be traced: the support is a prefix of the sorted scores.

    Source: Peters et al. 2019 (arXiv 1905.05702), algorithm 2; Martins & Astudillo 2016 (arXiv 1602.02068),
        algorithm 1.
    """
    # Hidden scores lie far below the others, but are finite: their sums are computed, too.
    values = (alpha - 1) * (scores - scores.amax(-1, keepdim=True)).clamp(min=-1e4)
    ordered = values.sort(dim=-1, descending=True).values
    count = torch.arange(1, values.shape[-1] + 1, device=values.device).to(values)
    mean = ordered.cumsum(-1) / count
    if alpha == 2.0:
        thresholds = mean - 1 / count
    else:
        spread = ordered.square().cumsum(-1) - count * mean.square()
        thresholds = mean - ((1 - spread) / count).clamp(min=0.0).sqrt()
    support = (thresholds <= ordered).sum(-1, keepdim=True)
    above = (values - thresholds.gather(-1, support - 1)).clamp(min=0.0)
    return above if alpha == 2.0 else above.square()


def _by_bracket(scores: Tensor, alpha: float | Tensor, weights: Tensor) -> None:
    """Write the weights for any alpha, a number or (row, 1), into `weights` (row, key).

    The unknown is the logarithm x of the row's largest weight; the threshold is -exp((alpha - 1) x). It loses no
    precision for alpha near 1 or large. With e_j = max(1 + (alpha - 1) (s_j - max s) exp((1 - alpha) x), 0) ^
    (1 / (alpha - 1)), the weights are e_j exp(x), so x + log sum e = 0 is solved. At alpha = 1 this would give softmax.
    """
    below, done = _below_largest(scores)
    curvature = alpha - 1.0
    limits = torch.finfo(below.dtype)
    # The largest of n weights is at least 1 / n; subtracting 1 from the logarithm keeps it inside of the bracket.
    least = torch.full_like(below[:, :1], -math.log(below.shape[1]) - 1)
    most = unknown = torch.zeros_like(least)
    previous = torch.full_like(least, torch.inf)
    shares = torch.empty_like(below)
    while True:
        # (s - max s) = 0 must stay 0, so the factor must be finite.
        factor = (curvature * torch.exp(-curvature * unknown)).clamp_(max=limits.max)
        torch.mul(below, factor, out=shares).clamp_(min=-1.0)
        base = (shares + 1.0).clamp_(min=limits.tiny)
        shares.log1p_().div_(curvature).exp_()
        # e is 1 for the row's maximum; only a fully masked row has less.
        total = shares.sum(1, keepdim=True).clamp_(min=1.0)
        value = unknown + total.log()
        # The derivative of x + log sum e is sum(e / base) / sum(e).
        step = value * total / torch.div(shares, base, out=base).sum(1, keepdim=True)
        most = torch.where(value > 0, unknown, most)
        least = torch.where(value < 0, unknown, least)
        following = unknown - step
        middle = (least + most) / 2
        # Steps must shrink by half and stay inside of the bracket; NaN fails these comparisons.
        good = (step.abs() <= previous / 2) & (following > least) & (following < most)
        # Both terms of the value are rounded: it is indistinguishable from 0, or NaN.
        arrived = ~(value.abs() > 2 * limits.eps * (1 - unknown))
        following = torch.where(good, following, middle)
        done = done | arrived | ~((following > least) & (following < most))
        if bool(done.all()):
            torch.div(shares, total, out=weights)
            return
        previous = torch.where(good, step.abs(), (most - least).abs())
        unknown = torch.where(done, unknown, following)
