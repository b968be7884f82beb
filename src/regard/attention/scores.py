"""Scores: how well each key matches each query, before normalising.

A score is any callable `(query, key) -> scores`: (..., query, feature) and (..., key, feature) to (..., query, key).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

__all__ = ["SCORES", "Dot", "ScaledDot", "Score"]

Score = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Dot:
    """The inner product, score_ij = q_i . k_j.

    Source: the notes, 001 "Dot-product"; Luong et al. 2015 (arXiv 1508.04025), equation 8.

    Example:
        >>> import torch
        >>> Dot()(torch.tensor([[1.0, 0.0, 2.0]]), torch.tensor([[0.0, 1.0, 1.0], [4.0, 4.0, 0.0]]))
        tensor([[2., 4.]])
    """

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return query @ key.mT


@dataclass(frozen=True)
class ScaledDot:
    """The inner product divided by the square root of the feature size, score_ij = q_i . k_j / sqrt(d).

    The variance of an inner product of d independent unit terms is d; the division keeps softmax away from its flat
    ends at any head size.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), equation 1.
    """

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        # Scaling the query is n x d work; scaling the scores would be n x n.
        return (query / math.sqrt(max(query.shape[-1], 1))) @ key.mT


SCORES: dict[str, Callable[[], Score]] = {
    "dot": Dot,
    "scaled_dot": ScaledDot,
}
