"""The state of training, and its form in a checkpoint: weights, optimiser, moving average, and the log.

checkpoints/last/   "state_dict", "optimizer_states", "global_step", and "regard": {"history", "average"}
checkpoints/best/   "weights" of the network, with the epoch and its score

The names are those of Lightning's Trainer, which wrote the checkpoints of earlier versions; such runs can be resumed.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import ModelError
from regard.tasks.judging.measure import Measure
from regard.tasks.recipe import Recipe
from regard.tasks.training.checkpoints import read_state
from regard.tasks.training.objective import DevScore, Objective
from regard.tasks.training.optimizer import make_optimizer

__all__ = ["MovingAverage", "TrainingState", "is_over", "next_row", "read_best", "read_last"]

# The prefix of each weight's name.
_PREFIX = "objective."


class TrainingState:
    """The state of training: weights, optimiser, moving average, log.

    Args:
        objective: the network and its loss, on its device.
        recipe: how to train.
        checkpoint: a state from `to_checkpoint` to resume from; None: start from the beginning.
    """

    def __init__(self, objective: Objective, recipe: Recipe, checkpoint: dict[str, Any] | None = None):
        self.objective = objective
        self.optimizer = make_optimizer(objective, recipe, objective.rate_factors())
        self.average = MovingAverage(objective.network, recipe.average) if recipe.average else None
        self.updates = 0
        self.history: list[dict[str, Any]] = []
        if checkpoint is not None:
            self._load(checkpoint)

    def to_checkpoint(self) -> dict[str, Any]:
        """Everything that a resumed run needs."""
        return {
            "global_step": self.updates,
            "state_dict": self.objective.state_dict(prefix=_PREFIX),
            "optimizer_states": [self.optimizer.state_dict()],
            "regard": {"history": self.history, "average": {} if self.average is None else self.average.values},
        }

    def _load(self, checkpoint: dict[str, Any]) -> None:
        weights = checkpoint["state_dict"].items()
        self.objective.load_state_dict({name.removeprefix(_PREFIX): value for name, value in weights})
        (optimizer,) = checkpoint["optimizer_states"]
        self.optimizer.load_state_dict(optimizer)
        self.updates = checkpoint["global_step"]
        self.history = [*checkpoint["regard"]["history"]]
        if self.average is not None:
            self.average.load(checkpoint["regard"]["average"])


def read_last(checkpoint: Path) -> dict[str, Any]:
    """The state after the last epoch of a run.

    Raises:
        ModelError: it is damaged.
    """
    state = read_state(checkpoint)
    ours = state.get("regard") if isinstance(state, dict) else None
    if not isinstance(ours, dict) or not {"history", "average"} <= ours.keys():
        raise ModelError(f"The checkpoint {checkpoint} is damaged: it has no 'regard'. Start the run anew.")
    return state


def read_best(checkpoint: Path) -> dict[str, Tensor]:
    """The weights of the best epoch of a run.

    Raises:
        ModelError: it is damaged.
    """
    state = read_state(checkpoint)
    if not isinstance(state, dict) or not isinstance(state.get("weights"), dict):
        raise ModelError(f"The checkpoint {checkpoint} is damaged: it has no weights. Start the run anew.")
    return state["weights"]


class MovingAverage:
    """Keep average <- decay * average + (1 - decay) * weights, beside the weights that are trained.

    Early on the decay is smaller, (1 + step) / (10 + step), so that the random start is forgotten quickly.

    Args:
        module: the module whose parameters are averaged.
        decay: below 1; the average reaches back about 1 / (1 - decay) steps.

    Example:
        >>> net = nn.Linear(2, 2)
        >>> average = MovingAverage(net, decay=0.99)
        >>> average.update(step=1)
        >>> with average.in_place():
        ...     scores = net(torch.zeros(1, 2))
    """

    def __init__(self, module: nn.Module, decay: float):
        self.decay = decay
        self._live = dict(module.named_parameters())
        self.values: dict[str, Tensor] = {name: value.detach().clone() for name, value in self._live.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Update the average with the weights after optimiser step number `step`, counted from 1."""
        decay = min(self.decay, (1 + step) / (10 + step))
        for name, value in self._live.items():
            self.values[name].lerp_(value, 1 - decay)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Use the averaged weights in the module inside the block; restore its own weights afterwards."""
        # Swapping the memory of the tensors needs no copies and no rounding.
        self._trade()
        try:
            yield
        finally:
            self._trade()

    def load(self, values: dict[str, Tensor]) -> None:
        """Set the average to saved values."""
        for name, value in self.values.items():
            value.copy_(values[name])

    def _trade(self) -> None:
        for name, value in self._live.items():
            value.data, self.values[name] = self.values[name], value.data


Row = dict[str, Any]

_FEW = 100
"""Of fewer dev examples, no error may be chance."""


def next_row(
    history: Sequence[Row], loss: float, dev: DevScore, seconds: float, measure: Measure, recipe: Recipe | None = None
) -> Row:
    """Make the row of the epoch that has just ended.

    Args:
        history: the rows of the previous epochs.
        loss: the mean loss on the training examples.
        dev: the score and loss on the dev examples.
        seconds: the duration of training so far, including the time before the run was resumed.
        measure: the measure of the score.
        recipe: says what makes an epoch the best; None: its score.

    Example:
        >>> from regard.tasks.judging.measure import ACCURACY
        >>> first = next_row([], 0.9, DevScore(0.8, 0.7), 1.0, ACCURACY)
        >>> next_row([first], 0.8, DevScore(0.7, 0.6), 2.0, ACCURACY)["best_epoch"]
        1
    """
    row: Row = {"epoch": len(history) + 1, "loss": loss, "score": dev.score, "dev_loss": dev.loss}
    if dev.judged >= _FEW and dev.score == (0.0 if measure.falls else 1.0):
        row["perfect"] = True
    best = history[history[-1]["best_epoch"] - 1] if history else row
    lower = dev.loss < best["dev_loss"]
    if recipe is not None and recipe.keep_epoch is not None:
        better = True
    elif recipe is not None and recipe.best_by == "loss":
        better = lower
    else:
        better = measure.better(dev.score, than=best["score"]) or (lower and dev.score == best["score"])
    if better:
        best = row
    return row | {"best": best["score"], "best_epoch": best["epoch"], "seconds": round(seconds, 3)}


def is_over(recipe: Recipe, history: Sequence[Row]) -> str | None:
    """Why training is over, or None. It depends only on the log, so a resumed run stops at the same epoch."""
    if not history:
        return None
    last = history[-1]
    if last["epoch"] >= recipe.epochs:
        return "all epochs are done"
    if recipe.keep_epoch is None and _is_perfect(recipe, history):
        return f"dev has been perfect for {_perfect_epochs(recipe)} epochs"
    if recipe.keep_epoch is not None:
        if last["epoch"] >= recipe.keep_epoch:
            return f"epoch {recipe.keep_epoch} is the one to keep"
        return _out_of_time(recipe, last)
    if recipe.best_by == "loss":
        if last["epoch"] - last["best_epoch"] >= recipe.patience:
            return f"no lower dev loss for {recipe.patience} epochs"
        return _out_of_time(recipe, last)
    # An equal score with a lower loss makes a new best epoch, but doesn't extend the patience. It does while the score
    # is still that of the first epoch: early in training a seq2seq model gets nothing right, and only its loss falls.
    risen = next(row["epoch"] for row in history if row["best"] == last["best"])
    risen = last["best_epoch"] if risen == history[0]["epoch"] else risen
    if last["epoch"] - risen >= recipe.patience:
        return f"no better dev score for {recipe.patience} epochs"
    return _out_of_time(recipe, last)


def _perfect_epochs(recipe: Recipe) -> int:
    """How many epochs without an error on dev end training: a fifth of all.

    In eleven trainings on series that ended so, the accuracy fell by 0.1 points in the mean, and the time to a third;
    after three epochs it fell by 0.7 points.
    """
    return max(3, recipe.epochs // 5)


def _is_perfect(recipe: Recipe, history: Sequence[Row]) -> bool:
    count = _perfect_epochs(recipe)
    return len(history) >= count and all(row.get("perfect", False) for row in history[-count:])


def _out_of_time(recipe: Recipe, last: Row) -> str | None:
    if recipe.minutes is not None and last["seconds"] >= 60 * recipe.minutes:
        return f"the time limit of {recipe.minutes:g} minutes has passed"
    return None
