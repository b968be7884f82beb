"""Training in one process: set up the loop, and run it.

Imported only when training starts: Fabric is an optional dependency and takes seconds to import.
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
from regard.tasks.training.progress import TrainingProgress
from regard.tasks.training.rank import ProcessRank
from regard.tasks.training.run import RunFolder
from regard.tasks.training.state import TrainingState

__all__ = ["Plan", "fit", "work"]


@dataclass(frozen=True)
class Plan:
    """The training that all processes share.

    Args:
        objective: the network and its loss.
        recipe: how to train.
        compute: the hardware settings.
        checkpoint: the state to resume from; None: start from the beginning.
    """

    objective: Objective
    recipe: Recipe
    compute: Compute
    checkpoint: dict[str, Any] | None


def fit(
    process: ProcessRank, plan: Plan, run: RunFolder | None, progress: TrainingProgress
) -> tuple[list[dict[str, Any]], dict[str, Tensor]]:
    """Train, from the beginning or from a checkpoint.

    Args:
        process: the rank of this process.
        plan: what to train.
        run: the folder to write to; None: write nothing.
        progress: shows the progress.

    Returns:
        the log, with a row for each epoch, and the weights of the best epoch. The weights are empty if no epoch since
        resuming was better, and in all processes but the first.
    """
    try:
        with ended_by_sigterm(), explained_errors(run):
            process.join()
            fabric = make_fabric(plan.compute.accelerator, process)
            objective = plan.objective.to(fabric.device)
            loop = Loop(fabric, TrainingState(objective, plan.recipe, plan.checkpoint), plan.recipe, run, progress)
            if run is not None:
                # Only now: if something fails before the first batch, the folder can be used again.
                run.begin()
            loop.run()
    finally:
        progress.stop()
    return loop.state.history, loop.best


def work(process: ProcessRank, plan: Plan) -> None:
    """Train in a process other than the first."""
    with plan.compute.in_use(), quiet_fabric():
        fit(process, plan, None, TrainingProgress())
