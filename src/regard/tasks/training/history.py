"""The log of a run, a row for each epoch: which epoch is the best, and whether training is over."""

from collections.abc import Sequence
from typing import Any

from regard.tasks.measure import Measure
from regard.tasks.recipe import Recipe
from regard.tasks.training.objective import DevScore

__all__ = ["is_over", "next_row"]

Row = dict[str, Any]


def next_row(history: Sequence[Row], loss: float, dev: DevScore, seconds: float, measure: Measure) -> Row:
    """The row of the epoch that has just ended.

    Args:
        history: the rows of the epochs before.
        loss: the mean loss on the training examples.
        dev: how good the network is now on the dev examples.
        seconds: since training began, those of the runs before this one was resumed included.
        measure: what the score is.

    Example:
        >>> from regard.tasks.measure import ACCURACY
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
    """Why training is over after these epochs, or None: it follows from the log, so a resumed run stops alike."""
    if not history:
        return None
    last = history[-1]
    if last["epoch"] >= recipe.epochs:
        return "all epochs are done"
    # As good with a lower loss is another best epoch, but no better score; unless none has been better than the first:
    # where nothing is right yet, as in a seq2seq model's first epochs, the loss alone says that it learns.
    risen = next(row["epoch"] for row in history if row["best"] == last["best"])
    risen = last["best_epoch"] if risen == history[0]["epoch"] else risen
    if last["epoch"] - risen >= recipe.patience:
        return f"no better dev score for {recipe.patience} epochs"
    if recipe.minutes is not None and last["seconds"] >= 60 * recipe.minutes:
        return f"the time limit of {recipe.minutes:g} minutes has passed"
    return None
