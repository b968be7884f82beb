"""One process's part of a training: sets up what the loop needs, and runs it.

Imported only when training starts: Fabric is an optional library, and takes seconds to import.
"""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from regard.tasks.recipe import Recipe
from regard.tasks.training.compute import Compute
from regard.tasks.training.context import ended_by_sigterm, explained_errors, quiet_fabric
from regard.tasks.training.fabric import make_fabric
from regard.tasks.training.loop import Loop
from regard.tasks.training.objective import Objective
from regard.tasks.training.progress import Silent
from regard.tasks.training.rank import ProcessRank
from regard.tasks.training.run import RunFolder
from regard.tasks.training.state import TrainingState

__all__ = ["Plan", "fit", "work"]


@dataclass(frozen=True)
class Plan:
    """What is to be trained: the same for all processes.

    Args:
        objective: what learns.
        recipe: how.
        compute: on what.
        checkpoint: where the training goes on; None: it begins.
    """

    objective: Objective
    recipe: Recipe
    compute: Compute
    checkpoint: dict[str, Any] | None


def fit(
    process: ProcessRank, plan: Plan, run: RunFolder | None, progress: Silent
) -> tuple[list[dict[str, Any]], dict[str, Tensor]]:
    """Train, from the beginning or from a checkpoint.

    Args:
        process: which of how many processes this is.
        plan: what to train.
        run: where to write; None: nowhere.
        progress: shows how far training is.

    Returns:
        the log, a row for each epoch; and the weights of the best epoch since this training began or went on, empty
        where none was better, and in all processes but the first.
    """
    try:
        with ended_by_sigterm(), explained_errors(run):
            process.join()
            fabric = make_fabric(plan.compute.accelerator, process)
            objective = plan.objective.to(fabric.device)
            loop = Loop(fabric, TrainingState(objective, plan.recipe, plan.checkpoint), plan.recipe, run, progress)
            if run is not None:
                # Not earlier: what fails before the first batch must leave the folder free for another try.
                run.begin()
            loop.run()
    finally:
        progress.stop()
    return loop.state.history, loop.best


def work(process: ProcessRank, plan: Plan) -> None:
    """What each process but the first does."""
    with plan.compute.in_use(), quiet_fabric():
        fit(process, plan, None, Silent())
