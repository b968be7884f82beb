"""Weighted averages of values whose weights are products of features, in time and memory linear in the length.

The weight of key j for query i is phi(q_i) . phi(k_j), divided by the sum of these over all keys that i attends to:

    out_i = phi(q_i)^T (sum_j phi(k_j) v_j^T) / (phi(q_i)^T sum_j phi(k_j))

The sums over j don't contain the query, so the pairs of queries and keys are never formed.

Source: Katharopoulos et al. 2020 (arXiv 2006.16236), equations 5 and 6, and 9 to 12 for the causal sums.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

__all__ = ["feature_averages"]

# Positions in a block of the causal sums. Within a block all pairs are formed, so large blocks cost more; after
# each block the state of features x values is updated, so many small blocks cost more, too.
BLOCK = 64


def feature_averages(
    query: Float[Tensor, "batch head length features"],
    key: Float[Tensor, "batch head length features"],
    value: Float[Tensor, "batch head length value"],
    *,
    causal: bool = False,
) -> Float[Tensor, "batch head length value"]:
    """The averages of the values, weighted by the products of the features of queries and keys.

    Args:
        query, key: features, which must not be negative. A key whose features are zeros has no weight.
        value: what is averaged.
        causal: whether a query averages only the values up to its own.

    A query gets zeros if its weights have underflowed to a sum below 4e-29 (in float32).

    Example:
        >>> query, key = torch.ones(1, 1, 3, 1), torch.tensor([1.0, 3.0, 4.0]).view(1, 1, 3, 1)
        >>> value = torch.tensor([4.0, 8.0, 1.0]).view(1, 1, 3, 1)
        >>> feature_averages(query, key, value).flatten(), feature_averages(query, key, value, causal=True).flatten()
        (tensor([4., 4., 4.]), tensor([4., 7., 4.]))
    """
    if causal:
        # One more column of values, all ones: its sums are the sums of the weights.
        sums: Tensor = _CausalSums.apply(query, key, pad(value, (0, 1), value=1.0), False)  # pyright: ignore[reportAssignmentType]
        sums, norms = sums.split([value.shape[-1], 1], -1)
    else:
        sums, norms = query @ (key.mT @ value), query @ key.sum(2).unsqueeze(-1)
    # Division by a smaller sum would overflow in the gradient.
    return sums / norms.masked_fill(norms < torch.finfo(norms.dtype).tiny ** 0.75, torch.inf)


class _CausalSums(torch.autograd.Function):
    """sum_j (q_i . k_j) v_j over j <= i, or over j >= i if `reverse`.

    Only the arguments are saved for backward. The gradients are sums of the same kind:

        dq_i = sum_{j <= i} (g_i . v_j) k_j
        dk_j = sum_{i >= j} (v_j . g_i) q_i
        dv_j = sum_{i >= j} (k_j . q_i) g_i
    """

    @staticmethod
    def forward(query: Tensor, key: Tensor, value: Tensor, reverse: bool) -> Tensor:
        output = value.new_empty(value.shape)
        state = None
        starts = range(0, query.shape[2], BLOCK)
        for start in reversed(starts) if reverse else starts:
            rows = slice(start, start + BLOCK)
            # (b h block d) -> ((b h) block d)
            q, k, v = (tensor[:, :, rows].flatten(0, 1) for tensor in (query, key, value))
            weights = q @ k.mT
            sums = (weights.triu_() if reverse else weights.tril_()) @ v
            if state is None:
                state = k.mT @ v
            else:
                sums.baddbmm_(q, state)
                state.baddbmm_(k.mT, v)
            output[:, :, rows] = sums.unflatten(0, output.shape[:2])
        return output

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        *saved, ctx.reverse = inputs
        ctx.save_for_backward(*saved)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        query, key, value = ctx.saved_tensors
        same, opposite = ctx.reverse, not ctx.reverse
        return (
            _CausalSums.apply(grad, value, key, same),
            _CausalSums.apply(value, grad, query, opposite),
            _CausalSums.apply(key, query, grad, opposite),
            None,
        )
