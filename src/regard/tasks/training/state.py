"""The state of training, and its form in a checkpoint: weights, optimiser, moving average, log.

checkpoints/last/   "state_dict", "optimizer_states", "global_step", and "regard": {"history", "average"}
checkpoints/best/   "weights" of the network, with the epoch and its score

The names are those of Lightning's Trainer, which wrote the checkpoints of earlier versions; such runs can be resumed.
"""

from pathlib import Path
from typing import Any

from torch import Tensor

from regard.errors import ModelError
from regard.tasks.recipe import Recipe
from regard.tasks.training.averaging import MovingAverage
from regard.tasks.training.checkpoints import read_state
from regard.tasks.training.objective import Objective
from regard.tasks.training.optimizer import make_optimizer

__all__ = ["TrainingState", "read_best", "read_last"]

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
        self.optimizer = make_optimizer(objective, recipe)
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
