"""Ensembles: several networks that are trained side by side, whose mean is the prediction."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.inputs import Batch
from regard.modules.pooling import Pooling
from regard.tasks.network import SourceNetwork
from regard.tasks.recipe import Recipe

__all__ = ["Ensemble", "source_network"]


class Ensemble(nn.Module):
    """Nets of one recipe: the mean of the numbers that they give.

    Where they err, they err in different ways, and the mean errs less than they do on average.

    Args:
        members: the nets, two or more, from other first weights.

    Source: Lakshminarayanan et al. 2017 (arXiv 1612.01474), section 2.4. There the mean is of probabilities; here it is
        of the numbers before softmax or sigmoid, the same for labels, for yes or no, and for numbers, which have
        neither.
    """

    def __init__(self, members: Sequence[SourceNetwork]):
        super().__init__()
        self.members: Any = nn.ModuleList(members)

    @property
    def pooling(self) -> Pooling | None:
        """The first member's; there is one in all of them, or in none."""
        return self.members[0].pooling

    def item_numbers(self, batch: Batch) -> Float[Tensor, "batch length output"]:
        """The numbers of each item, as `SourceNetwork.item_numbers` has them."""
        return torch.stack([member.item_numbers(batch) for member in self.members]).mean(0)

    def forward(self, batch: Batch) -> Float[Tensor, "target output"]:
        """The numbers that an answer makes sense of."""
        return torch.stack([member(batch) for member in self.members]).mean(0)


def source_network(recipe: Recipe, encoder: Any, outputs: int) -> SourceNetwork | Ensemble:
    """The net of a recipe for a tagger or a classifier, with the weights that training begins with.

    Args:
        recipe, encoder, outputs: as in `SourceNetwork`; the recipe also says how many members it has.
    """
    members = [SourceNetwork(recipe, encoder, outputs) for _ in range(recipe.members)]
    return Ensemble(members) if len(members) > 1 else members[0]
