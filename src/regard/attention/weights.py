"""Weights: scores normalised, row by row.

A normaliser is any callable `(scores, allowed) -> weights`, both (..., query, key). `allowed` is a bool tensor of that
shape, or None where everything is allowed. Hidden scores arrive as minus infinity; whatever the normaliser makes of
them, the engine sets their weights to exactly 0, so that a row in which nothing is allowed has weights of 0. A tile may
leave out columns that are hidden from all its rows, so a normaliser must not depend on how many of those there are.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["WEIGHTS", "Normaliser", "Relu", "Softmax"]

Normaliser = Callable[[Tensor, Tensor | None], Tensor]


@dataclass(frozen=True)
class Softmax:
    """w_ij = exp(s_ij) / sum_k exp(s_ik), over the allowed keys.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), equation 1.

    Example:
        >>> Softmax()(torch.tensor([[2.0, 4.0, 4.0]]), None)
        tensor([[0.0634, 0.4683, 0.4683]])
    """

    def __call__(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        return torch.softmax(scores, dim=-1)


@dataclass(frozen=True)
class Relu:
    """w_ij = max(s_ij, 0) / n_i, where n_i is how many keys query i is allowed to see. Rows need not sum to 1.

    Counting the allowed keys, not all of them, makes a masked row equal to the same row with the hidden keys taken out.

    Source: Wortsman et al. 2023 (arXiv 2309.08586), section 3, with alpha = 1.

    Example:
        >>> Relu()(torch.tensor([[-1.0, 2.0, 4.0]]), torch.tensor([[True, True, False]]))
        tensor([[0., 1., 2.]])
    """

    def __call__(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        if allowed is None:
            return torch.relu(scores) / max(scores.shape[-1], 1)
        return torch.relu(scores) / allowed.sum(-1, keepdim=True).clamp(min=1)


WEIGHTS: dict[str, Callable[[], Normaliser]] = {
    "softmax": Softmax,
    "relu": Relu,
}
