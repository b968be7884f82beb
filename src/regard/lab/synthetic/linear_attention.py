"""Causal linear attention, as a recurrence over the items and as attention with a score and weights of one's own.

out_i = sum_{j <= i} (phi(q_i) . phi(k_j)) v_j / sum_{j <= i} phi(q_i) . phi(k_j), with phi(x) = elu(x) + 1

Source: Katharopoulos et al. 2020 (arXiv 2006.16236), equations 9 and 7; section 3.4, equations 16 to 20, for the RNN.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention import attend
from regard.modules.efficient.linear import elu_features

__all__ = ["attentive_form", "recurrent_form"]


def recurrent_form(
    query: Float[Tensor, "batch head length d"],
    key: Float[Tensor, "batch head length d"],
    value: Float[Tensor, "batch head length v"],
) -> Float[Tensor, "batch head length v"]:
    """The recurrence S_i = S_(i-1) + phi(k_i) v_i^T, z_i = z_(i-1) + phi(k_i), out_i = phi(q_i)^T S_i / phi(q_i) . z_i.

    Its state S (d x v) and z (d) doesn't grow with the number of items, and time grows linearly with it.

    Example:
        >>> x = torch.randn(1, 2, 5, 4, dtype=torch.float64)
        >>> torch.allclose(recurrent_form(x, x, x), attentive_form(x, x, x))
        True
    """
    query, key = elu_features(query), elu_features(key)
    state = value.new_zeros(*key.shape[:2], key.shape[-1], value.shape[-1])
    norm = key.new_zeros(*key.shape[:2], key.shape[-1])
    outputs = []
    for i in range(query.shape[2]):
        state = state + key[:, :, i, :, None] * value[:, :, i, None, :]
        norm = norm + key[:, :, i]
        weighted = (query[:, :, i, None, :] @ state).squeeze(-2)
        outputs.append(weighted / (query[:, :, i] * norm).sum(-1, keepdim=True))
    return torch.stack(outputs, dim=2) if outputs else torch.zeros_like(value)


def attentive_form(
    query: Float[Tensor, "batch head length d"],
    key: Float[Tensor, "batch head length d"],
    value: Float[Tensor, "batch head length v"],
) -> Float[Tensor, "batch head length v"]:
    """The same as attention: the score is phi(q) . phi(k), and the weights are the scores divided by their sum.

    Each item attends to those before it and to itself, so that time grows with the square of their number.
    """
    return attend(query, key, value, score=_similarity, weights=_shares, mask="causal")


def _similarity(query: Tensor, key: Tensor) -> Tensor:
    return elu_features(query) @ elu_features(key).mT


def _shares(scores: Tensor, allowed: Tensor | None) -> Tensor:
    # Hidden scores are minus infinity. All others are positive, and every row has at least one: its own item.
    scores = scores if allowed is None else scores.masked_fill(~allowed, 0.0)
    return scores / scores.sum(-1, keepdim=True)
