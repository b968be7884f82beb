"""Ensembles: several networks that are trained together; the prediction is made from the mean of their outputs."""

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
    """The mean of the outputs of several networks of one recipe.

    The members make different errors, so the error of the mean is smaller than the mean of their errors.

    Args:
        members: two or more networks with different initial weights.

    Source: Lakshminarayanan et al. 2017 (arXiv 1612.01474), section 2.4. They average probabilities. Here the outputs
        before softmax or sigmoid are averaged, so that labels, several labels and numbers are treated alike.
    """

    def __init__(self, members: Sequence[SourceNetwork]):
        super().__init__()
        self.members: Any = nn.ModuleList(members)

    @property
    def pooling(self) -> Pooling | None:
        """The pooling of the first member; either all members have one, or none."""
        return self.members[0].pooling

    def item_numbers(self, batch: Batch) -> Float[Tensor, "batch length output"]:
        """The outputs for each item, as in `SourceNetwork.item_numbers`."""
        return torch.stack([member.item_numbers(batch) for member in self.members]).mean(0)

    def forward(self, batch: Batch) -> Float[Tensor, "target output"]:
        """The outputs, which a `Target` decodes."""
        return torch.stack([member(batch) for member in self.members]).mean(0)


def source_network(recipe: Recipe, encoder: Any, outputs: int) -> SourceNetwork | Ensemble:
    """The network of a recipe for a tagger or a classifier, with its initial weights.

    Args:
        recipe, encoder, outputs: as in `SourceNetwork`; `members` of the recipe is the number of members.
    """
    members = [SourceNetwork(recipe, encoder, outputs) for _ in range(recipe.members)]
    return Ensemble(members) if len(members) > 1 else members[0]
