"""How long to train where dev is too small to say: cross-validation on the training examples chooses the epoch."""

import dataclasses
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from regard.tasks.examples import as_pairs
from regard.tasks.recipe import Recipe

__all__ = ["FOLDS", "choose_epoch", "needs_cross_validation"]

FOLDS = 4
_LEAST = 2 * FOLDS
_ENOUGH_DEV = 200

Rehearsal = Callable[[Recipe, Sequence[Any], Sequence[Any]], Sequence[Mapping[str, Any]]]
"""Trains by a recipe on examples, and returns the log with the loss on other examples."""


def needs_cross_validation(recipe: Recipe, examples: Sequence[Any], dev: Sequence[Any]) -> bool:
    """Whether a recipe asks for cross-validation where dev is too small, dev is, and the examples are enough for it."""
    asked = recipe.cross_validate and recipe.keep_epoch is None
    return asked and len(dev) < _ENOUGH_DEV and len(examples) >= _LEAST


def choose_epoch(recipe: Recipe, examples: Sequence[Any], rehearse: Rehearsal) -> Recipe:
    """The recipe with the epoch to keep, which cross-validation chooses.

    A network is trained on three quarters of the examples, four times, and each quarter gives the loss of the epochs
    that weren't trained on it. The earliest epoch is kept whose loss isn't worse than that of the best by more than a
    standard error.

    Args:
        recipe: how to train.
        examples: the training examples.
        rehearse: trains on three quarters, and returns the log with the loss on the other.

    Source: Breiman et al. 1984, Classification and Regression Trees, section 3.4.3: the rule of one standard error.

    Example:
        >>> def rehearse(recipe, examples, dev):
        ...     return [{"dev_loss": loss} for loss in (0.7, 0.4, 0.5)]
        >>> choose_epoch(Recipe(), [("good film", "yes"), ("bad film", "no")] * 4, rehearse).keep_epoch
        2
    """
    pairs = as_pairs(examples)
    order = random.Random(recipe.seed).sample(range(len(pairs)), len(pairs))
    curves: list[list[float]] = []
    for fold in range(FOLDS):
        held_out = {*order[fold::FOLDS]}
        train = [pair for place, pair in enumerate(pairs) if place not in held_out]
        dev = [pair for place, pair in enumerate(pairs) if place in held_out]
        curves.append([row["dev_loss"] for row in rehearse(recipe, train, dev)])
    return dataclasses.replace(recipe, keep_epoch=earliest_good(curves) + 1)


def earliest_good(curves: Sequence[Sequence[float]]) -> int:
    """The first epoch, counted from 0, that isn't worse than the best by more than a standard error over the folds.

    Args:
        curves: the loss after each epoch, for each fold; epochs count that all folds have.

    Example:
        >>> earliest_good([[0.9, 0.5, 0.40, 0.6], [0.9, 0.4, 0.45, 0.6]])  # the third is better, but not in each fold
        1
    """
    epochs = range(min(map(len, curves)))
    best = min(epochs, key=lambda epoch: sum(curve[epoch] for curve in curves))

    def as_good(epoch: int) -> bool:
        worse = [curve[epoch] - curve[best] for curve in curves]
        error = statistics.stdev(worse) / len(worse) ** 0.5 if len(worse) > 1 else 0.0
        return statistics.mean(worse) <= error

    return next(epoch for epoch in epochs if as_good(epoch))
