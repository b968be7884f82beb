"""Weights of sampled places: each query has a weight for a few keys, which it chooses itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from regard.attention import Index, Position

__all__ = ["Sampled"]


@dataclass(frozen=True)
class Sampled(Position):
    """The weights of a few keys for each query, in the place of the scores; where a key stands twice they are added.

    Args:
        places: (batch, head, query, sample), the numbers of keys.
        weights: (batch, head, query, sample), their weights.

    Example:
        >>> from regard.attention import weigh
        >>> from regard.inspection.capture.by_hand.rules import AsScores
        >>> part = Sampled(torch.tensor([[[[0, 2], [1, 1]]]]), torch.tensor([[[[0.25, 0.75], [0.5, 0.25]]]]))
        >>> weigh(torch.zeros(1, 1, 2, 1), torch.zeros(1, 1, 3, 1), weights=AsScores(), position=part)[0, 0]
        tensor([[0.2500, 0.0000, 0.7500],
                [0.0000, 0.7500, 0.0000]])
    """

    places: Tensor
    weights: Tensor

    adds: ClassVar[bool] = False
    formulas: ClassVar[Mapping[str, str]] = {}

    def scores(self, scores: Tensor, query: Tensor, key: Tensor, at: Index) -> Tensor:
        # (group query 1 sample) -> (group query sample)
        rows = at.batch, at.head, at.query
        places = self.places[rows].squeeze(-2).expand(*scores.shape[:2], -1)
        weights = self.weights[rows].squeeze(-2).to(scores.dtype).expand(*scores.shape[:2], -1)
        count = scores.shape[-1]
        inside = places - at.key[..., :1]
        if count and bool((at.key - at.key[..., :1] == torch.arange(count, device=at.key.device)).all()):
            # What lies outside of the tile is gathered in a column behind it.
            inside = torch.where((inside >= 0) & (inside < count), inside, count)
            found = scores.new_zeros(*scores.shape[:2], count + 1)
            return found.scatter_add(-1, inside, weights)[..., :count]
        found = torch.zeros_like(scores)
        for number in range(places.shape[-1]):
            found = found + torch.where(places[..., number, None] == at.key, weights[..., number, None], 0.0)
        return found
