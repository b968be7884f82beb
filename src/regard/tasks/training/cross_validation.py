"""How long to train where dev is too small to say: cross-validation on the training examples chooses the epoch."""

import dataclasses
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from regard.tasks.examples import as_pairs
from regard.tasks.folds import folds_of
from regard.tasks.recipe import Recipe

__all__ = ["FOLDS", "choose_epoch", "earliest_good", "needs_cross_validation"]

FOLDS = 4
_LEAST = 2 * FOLDS
_MOST = 5000
_ENOUGH_DEV = 200


def needs_cross_validation(recipe: Recipe, examples: Sequence[Any], dev: Sequence[Any]) -> bool:
    """Whether a recipe asks for cross-validation where dev is small, and it is.

    Fewer than 8 examples are too few for it. More than 5,000 would take long, and so it would with a time limit.
    """
    fits = _LEAST <= len(examples) <= _MOST and recipe.minutes is None
    return recipe.cross_validate and len(dev) < _ENOUGH_DEV and fits


def choose_epoch(
    recipe: Recipe,
    examples: Sequence[Any],
    log_of: Callable[[Sequence[Any], Sequence[Any]], Sequence[Mapping[str, Any]]],
) -> Recipe:
    """The recipe with the epoch to keep, which cross-validation chooses.

    A network is trained on three quarters of the examples, four times, and each quarter gives the loss of the epochs
    that weren't trained on it. The earliest epoch is kept whose loss isn't worse than that of the best by more than a
    standard error. If no loss is finite, dev chooses.

    Args:
        recipe: how to train.
        examples: the training examples.
        log_of: trains on three quarters, and returns the log with the loss on the other, "dev_loss".

    Source: Breiman et al. 1984, Classification and Regression Trees, section 3.4.3: the rule of one standard error.

    Example:
        >>> def log_of(examples, dev):
        ...     return [{"dev_loss": loss} for loss in (0.7, 0.4, 0.5)]
        >>> choose_epoch(Recipe(), [("good film", "yes"), ("bad film", "no")] * 4, log_of).keep_epoch
        2
    """
    pairs = as_pairs(examples)
    folds = folds_of([repr(source) for source, _ in pairs], [repr(to) for _, to in pairs], FOLDS, seed=recipe.seed)
    curves: list[list[float]] = []
    for fold in range(FOLDS):
        train, dev = (
            [pair for pair, own in zip(pairs, folds, strict=True) if (own == fold) is held] for held in (False, True)
        )
        if train and dev:
            curves.append([row["dev_loss"] for row in log_of(train, dev)])
    curves = [curve for curve in curves if all(map(math.isfinite, curve))]
    return dataclasses.replace(recipe, keep_epoch=earliest_good(curves) + 1 if curves else None)


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
