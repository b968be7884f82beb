"""The optimiser of a recipe: groups of parameters with and without weight decay, and the learning rate schedule."""

import math
from typing import Any

import torch
from torch import nn

from regard.tasks.recipe import Recipe
from regard.tasks.training.muon import Muon

__all__ = ["make_optimizer", "set_rate", "share_of_rate"]


def make_optimizer(module: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """AdamW or Muon, for all parameters of a module.

    Weight decay applies to matrices that mix features. It would only shrink the embeddings of rare words, and biases
    and norms need none.
    """
    tables = {id(p) for m in module.modules() if isinstance(m, nn.Embedding | nn.EmbeddingBag) for p in m.parameters()}
    decayed = [p for p in module.parameters() if p.ndim > 1 and id(p) not in tables]
    kept = [p for p in module.parameters() if p.ndim <= 1 or id(p) in tables]
    groups = [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": kept, "weight_decay": 0.0}]
    settings: dict[str, Any] = {"lr": recipe.learning_rate, "betas": (0.9, recipe.beta2)}
    if recipe.optimizer == "adamw":
        return torch.optim.AdamW(groups, **settings, fused=True)
    # Muon takes matrices only; the filters of a convolution have a third axis.
    matrices = [p for p in decayed if p.ndim == 2]
    groups[0]["params"] = [p for p in decayed if p.ndim != 2]
    turned = {"params": matrices, "weight_decay": recipe.weight_decay}
    return Muon([{**group, "matrices": False} for group in groups] + [{**turned, "matrices": True}], **settings)


def set_rate(optimizer: torch.optim.Optimizer, recipe: Recipe, done: float) -> None:
    """Set the learning rate for the next update; `done` is the fraction of the training that is done."""
    for group in optimizer.param_groups:
        group["lr"] = recipe.learning_rate * share_of_rate(recipe, done)


def share_of_rate(recipe: Recipe, done: float) -> float:
    """The learning rate as a fraction of the recipe's, after the fraction `done` of the training.

    Example:
        >>> recipe = Recipe(warm_up=0.5)
        >>> [round(share_of_rate(recipe, done), 3) for done in (0.25, 0.5, 0.75)]
        [0.502, 1.0, 0.5]
    """
    if done < recipe.warm_up:
        # At a rate of zero the first batch would have no effect.
        return min(1.0, (done + 1e-3) / recipe.warm_up)
    rest = (done - recipe.warm_up) / (1 - recipe.warm_up)
    return 1 - rest if recipe.schedule == "linear" else 0.5 * (1 + math.cos(math.pi * rest))
