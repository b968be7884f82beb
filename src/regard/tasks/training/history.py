"""The log of a run, with a row for each epoch: the best epoch so far, and whether training is over."""

from collections.abc import Sequence
from typing import Any

from regard.tasks.judging.measure import Measure
from regard.tasks.recipe import Recipe
from regard.tasks.training.objective import DevScore

__all__ = ["is_over", "next_row"]

Row = dict[str, Any]


def next_row(history: Sequence[Row], loss: float, dev: DevScore, seconds: float, measure: Measure) -> Row:
    """Make the row of the epoch that has just ended.

    Args:
        history: the rows of the previous epochs.
        loss: the mean loss on the training examples.
        dev: the score and loss on the dev examples.
        seconds: the duration of training so far, including the time before the run was resumed.
        measure: the measure of the score.

    Example:
        >>> from regard.tasks.judging.measure import ACCURACY
        >>> first = next_row([], 0.9, DevScore(0.8, 0.7), 1.0, ACCURACY)
        >>> next_row([first], 0.8, DevScore(0.7, 0.6), 2.0, ACCURACY)["best_epoch"]
        1
    """
    row: Row = {"epoch": len(history) + 1, "loss": loss, "score": dev.score, "dev_loss": dev.loss}
    best = history[history[-1]["best_epoch"] - 1] if history else row
    as_good = dev.score == best["score"] and dev.loss < best["dev_loss"]
    if as_good or measure.better(dev.score, than=best["score"]):
        best = row
    return row | {"best": best["score"], "best_epoch": best["epoch"], "seconds": round(seconds, 3)}


def is_over(recipe: Recipe, history: Sequence[Row]) -> str | None:
    """Why training is over, or None. It depends only on the log, so a resumed run stops at the same epoch."""
    if not history:
        return None
    last = history[-1]
    if last["epoch"] >= recipe.epochs:
        return "all epochs are done"
    # An equal score with a lower loss makes a new best epoch, but doesn't extend the patience. It does while the score
    # is still that of the first epoch: early in training a seq2seq model gets nothing right, and only its loss falls.
    risen = next(row["epoch"] for row in history if row["best"] == last["best"])
    risen = last["best_epoch"] if risen == history[0]["epoch"] else risen
    if last["epoch"] - risen >= recipe.patience:
        return f"no better dev score for {recipe.patience} epochs"
    if recipe.minutes is not None and last["seconds"] >= 60 * recipe.minutes:
        return f"the time limit of {recipe.minutes:g} minutes has passed"
    return None
