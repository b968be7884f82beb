"""A base as an embedding: the vector that it gives each item in its context, for a network that stands above it."""

from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from regard.tasks.pretrained.tuned_base import TunedBase
from regard.tasks.pretrained.tuning import Tuning

__all__ = ["PretrainedEmbedding"]


class PretrainedEmbedding(TunedBase):
    """The last hidden state of a model of transformers' at each item, special tokens included.

    A base of which nothing is trained drops nothing either: its vectors are always the same.

    Args:
        model, padding, tuning: as in `TunedBase`; the model has no output layer.
        width: the size of the vectors; other than that of the model's, they are projected to it.
    """

    def __init__(
        self,
        model: Any,
        padding: int,
        *,
        width: int,
        tuning: Tuning | None,
    ):
        super().__init__(model, padding, tuning)
        size = model.config.get_text_config().hidden_size
        self.project = None if size == width else nn.Linear(size, width)

    def train(self, mode: bool = True) -> "PretrainedEmbedding":
        super().train(mode)
        if not any(each.requires_grad for each in self.network.parameters()):
            self.network.eval()
        return self

    def forward(self, vectors: Int64[Tensor, "text item 1"]) -> Float[Tensor, "text item width"]:
        """The vectors of items; those at padding are meaningless."""
        # The id of a piece, from 1 on; 0 is none.
        ids = vectors[..., 0]
        mask = ids > 0
        found = self.found(torch.where(mask, ids - 1, self.padding), mask.long()).last_hidden_state.float()
        return found if self.project is None else self.project(found)
