"""Projection of scores onto the capped simplex: weights max(0, min(s - t, 1)), with t such that they sum to a budget.

As t rises, the sum falls from the number of keys to 0 and is piecewise linear: between two kinks its slope is minus the
number of weights strictly between 0 and 1, and t has a closed form. Newton steps within a bracket find the linear
piece; when it doesn't change, t is exact.

Source: Malaviya et al. 2018 (arXiv 1805.08241), constrained sparsemax, here with an upper bound of 1 for every weight
and a given sum; the search for the threshold is derived here.
"""

import math
from typing import Any

import torch
from torch import Tensor

from regard.attention.gradients.forward_over_forward import refuse_forward_over_forward

__all__ = ["capped_simplex", "capped_simplex_vjp"]

_AT_ONCE = 2**19  # scores processed at once, as many as in `entmax`


def capped_simplex(scores: Tensor, budget: float) -> Tensor:
    """The weights over the last axis; all are 1 if there are no more keys than the budget.

    A score of minus infinity has a weight of 0; a row with NaN or infinity gives NaN.

    Example:
        >>> capped_simplex(torch.tensor([[3.0, 1.0, 0.8, -1.0]]), 2.0)
        tensor([[1.0000, 0.6000, 0.4000, 0.0000]])
    """
    return _CappedSimplex.apply(scores, budget)  # pyright: ignore[reportReturnType]


def capped_simplex_vjp(grad_weights: Tensor, weights: Tensor) -> Tensor:
    """The gradient of the scores, from the weights alone: where they lie between 0 and 1, the gradient minus its mean.

    Example:
        >>> capped_simplex_vjp(torch.tensor([[9.0, 3.0, 1.0, 9.0]]), torch.tensor([[1.0, 0.6, 0.4, 0.0]]))
        tensor([[ 0.,  1., -1.,  0.]])
    """
    inside = ((weights > 0) & (weights < 1)).to(weights.dtype)
    mean = (grad_weights * inside).sum(-1, keepdim=True) / inside.sum(-1, keepdim=True).clamp(min=1.0)
    return (grad_weights - mean) * inside


class _CappedSimplex(torch.autograd.Function):
    @staticmethod
    def forward(scores: Tensor, budget: float) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        if not scores.numel():
            return torch.zeros_like(scores)
        rows = scores.reshape(-1, scores.shape[-1])
        step = max(1, _AT_ONCE // rows.shape[-1]) if rows.device.type == "cpu" else len(rows)
        return torch.cat([_weights(some, budget) for some in rows.split(step)]).view(scores.shape)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx: Any, grad_weights: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        (weights,) = ctx.saved_tensors
        # Small changes leave the same weights between 0 and 1, so which ones these are is treated as constant.
        return capped_simplex_vjp(grad_weights, weights.detach()), None

    @staticmethod
    def jvp(ctx: Any, change: Tensor, _: None) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        refuse_forward_over_forward()
        # The Jacobian is symmetric.
        return capped_simplex_vjp(change, ctx.saved_tensors[0].detach())

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], scores: Tensor, budget: float) -> tuple[Tensor, int]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _CappedSimplex.apply(scores.movedim(in_dims[0], 0), budget), 0  # pyright: ignore


def _weights(scores: Tensor, budget: float) -> Tensor:
    columns, least = scores.shape[-1], math.ceil(budget)
    highest = scores.topk(min(columns, least + 1), dim=-1).values
    top = highest[..., :1]
    broken = ~(torch.isfinite(top) | (top == -torch.inf))
    # As many keys as the budget, or fewer, are seen: the next one is hidden.
    few = highest[..., [math.floor(budget)]] == -torch.inf if budget < columns else torch.ones_like(broken)
    idle = few | broken
    weights = torch.zeros_like(scores)
    if not bool(idle.all()):
        # At the score of this rank the sum is too small, 1 below it too large. Relative to it, large scores lose no
        # precision.
        above = torch.sub(scores, torch.where(idle, 0.0, highest[..., least - 1 : least]), out=weights)
        weights = above.sub_(_threshold(_candidates(above), budget, idle)).clamp_(0.0, 1.0)
    if bool(idle.any()):
        weights = torch.where(few, (scores != -torch.inf).to(scores.dtype), weights).masked_fill(broken, torch.nan)
    return weights


def _candidates(above: Tensor) -> Tensor:
    """The scores that may have a weight, above -1, moved to the front of each row, if they are few; otherwise all."""
    shown = torch.gt(above, -1.0, out=torch.empty_like(above))
    counts = shown.sum(-1).long()
    most = int(counts.max())
    if most > above.shape[-1] // 4:
        return above
    row, column = shown.nonzero(as_tuple=True)
    place = torch.arange(len(row), device=row.device) - (counts.cumsum(0) - counts)[row]
    front = above.new_full((len(above), max(most, 1)), -torch.inf)
    front[row, place] = above[row, column]
    return front


def _threshold(scores: Tensor, budget: float, done: Tensor) -> Tensor:
    """The threshold, between -1 and 0, for rows that aren't done."""
    low, high = torch.full_like(done, -1.0, dtype=scores.dtype), torch.zeros_like(done, dtype=scores.dtype)
    threshold, piece = low, torch.full_like(low, -1.0)
    weights, marked = torch.empty_like(scores), torch.empty_like(scores)
    while not bool(done.all()):
        torch.sub(scores, threshold, out=weights).clamp_(0.0, 1.0)
        # As sums of floats: counting booleans is many times slower.
        above = torch.gt(weights, 0.0, out=marked).sum(-1, keepdim=True)
        full = torch.eq(weights, 1.0, out=marked).sum(-1, keepdim=True)
        inside = above - full
        here = full * (scores.shape[-1] + 1) + inside
        # Ones are counted separately: in a sum of thousands, rounding would be too large when the budget is subtracted.
        excess = weights.sub_(marked).sum(-1, keepdim=True) + (full - budget)
        low, high = torch.where(excess >= 0, threshold, low), torch.where(excess < 0, threshold, high)
        step, middle = threshold + excess / inside, (low + high) / 2
        # The same linear piece again: this step, from nearby, removes the rounding of the one before.
        last = (inside > 0) & (here == piece)
        good = (low < step) & (step < high)
        stuck = (excess == 0) | ~((low < middle) & (middle < high))
        threshold = torch.where(done | (stuck & ~last), threshold, torch.where(last | good, step, middle))
        piece, done = torch.where(good, here, -1.0), done | last | stuck
    return threshold
