"""The optimiser that a recipe asks for: which parameters decay, and how the learning rate goes."""

import math
from typing import Any

import torch
from torch import nn

from regard.tasks.recipe import Recipe
from regard.tasks.training.muon import Muon

__all__ = ["make_optimizer", "set_rate", "share_of_rate"]


def make_optimizer(module: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """AdamW or Muon, for all parameters of a module.

    Weight decay pulls matrices that mix features; a rare word's vector would only fade, a bias or a norm drift.
    """
    tables = {id(p) for m in module.modules() if isinstance(m, nn.Embedding | nn.EmbeddingBag) for p in m.parameters()}
    decayed = [p for p in module.parameters() if p.ndim > 1 and id(p) not in tables]
    kept = [p for p in module.parameters() if p.ndim <= 1 or id(p) in tables]
    groups = [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": kept, "weight_decay": 0.0}]
    settings: dict[str, Any] = {"lr": recipe.learning_rate, "betas": (0.9, recipe.beta2)}
    if recipe.optimizer == "adamw":
        return torch.optim.AdamW(groups, **settings, fused=True)
    # A convolution's filters are a matrix for each of its places.
    matrices = [p for p in decayed if p.ndim == 2]
    groups[0]["params"] = [p for p in decayed if p.ndim != 2]
    turned = {"params": matrices, "weight_decay": recipe.weight_decay}
    return Muon([{**group, "matrices": False} for group in groups] + [{**turned, "matrices": True}], **settings)


def set_rate(optimizer: torch.optim.Optimizer, recipe: Recipe, done: float) -> None:
    """Set the learning rate for the next update, when this share of the training is done."""
    for group in optimizer.param_groups:
        group["lr"] = recipe.learning_rate * share_of_rate(recipe, done)


def share_of_rate(recipe: Recipe, done: float) -> float:
    """The learning rate as a share of the recipe's, when this share of the training is done.

    Example:
        >>> recipe = Recipe(warm_up=0.5)
        >>> [round(share_of_rate(recipe, done), 3) for done in (0.25, 0.5, 0.75)]
        [0.502, 1.0, 0.5]
    """
    if done < recipe.warm_up:
        # Not from zero: the first batch would be spent on nothing.
        return min(1.0, (done + 1e-3) / recipe.warm_up)
    rest = (done - recipe.warm_up) / (1 - recipe.warm_up)
    return 1 - rest if recipe.schedule == "linear" else 0.5 * (1 + math.cos(math.pi * rest))
