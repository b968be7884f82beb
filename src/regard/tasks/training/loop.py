"""Training in one process, alone or as one of several: one update per batch, one evaluation per epoch.

Imported only when training starts: Fabric is an optional dependency and takes seconds to import.
"""

import math
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from lightning_fabric import Fabric
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from lightning_fabric.strategies.ddp import DDPStrategy
from torch import Tensor

from regard.errors import DivergedError
from regard.tasks.recipe import Recipe
from regard.tasks.training.batching import key
from regard.tasks.training.checkpoints import write_state
from regard.tasks.training.compute import Compute
from regard.tasks.training.context import ended_by_sigterm, explained_errors, quiet_fabric
from regard.tasks.training.objective import DevScore, Loss, Objective
from regard.tasks.training.optimizer import set_rate
from regard.tasks.training.progress import TrainingProgress
from regard.tasks.training.rank import ProcessRank
from regard.tasks.training.run import RunFolder
from regard.tasks.training.sharing import sharing_sequences
from regard.tasks.training.state import TrainingState, is_over, next_row

__all__ = ["Loop", "Plan", "fit", "work"]


class Loop:
    """Trains from a given state until the recipe's stopping criterion is met.

    Every process runs the loop on its part of each batch. The first also evaluates, writes and shows progress.

    Args:
        fabric: the device, and communication with the other processes.
        state: the weights, optimiser and log, which training changes.
        recipe: how to train.
        folder: the folder to write to; None: write nothing.
        progress: shows the progress.
        sharing: the number of processes that share each sequence.
    """

    def __init__(
        self,
        fabric: Fabric,
        state: TrainingState,
        recipe: Recipe,
        folder: RunFolder | None,
        progress: TrainingProgress,
        sharing: int = 1,
    ):
        self.fabric, self.state, self.recipe, self.folder, self.progress = fabric, state, recipe, folder, progress
        # Processes that share sequences have the same part of each batch.
        self.part, self.parts = fabric.global_rank // sharing, fabric.world_size // sharing
        self.objective = state.objective
        self.best: dict[str, Tensor] = {}
        # The same objective, with the gradients of its `loss` averaged over the processes.
        self.shared, self.optimizer = fabric.setup(state.objective, state.optimizer)
        self.shared.mark_forward_method("loss")

    def run(self) -> None:
        """Train until training is over."""
        history, measure = self.state.history, self.objective.measure
        started = time.monotonic() - (history[-1]["seconds"] if history else 0.0)
        self.progress.start(self.recipe.epochs, len(history), measure)
        while is_over(self.recipe, history) is None:
            loss = self.train_epoch(len(history))
            row: dict[str, Any] = {}
            # With the first, those that share its sequences.
            dev, weights = self.evaluate() if self.part == 0 else (None, {})
            if self.fabric.is_global_zero and dev is not None:
                row = next_row(history, loss, dev, time.monotonic() - started, measure, self.recipe)
                if row["best_epoch"] == row["epoch"]:
                    self.best = weights
            # The others wait here: the score in the first process decides for all.
            row = self.fabric.broadcast(row)
            history.append(row)
            if self.fabric.is_global_zero and self.folder is not None:
                self.save(self.folder)
            self.progress.epoch(row)

    def train_epoch(self, epoch: int) -> float:
        """Update the weights with every batch of an epoch, counted from 0; return the mean loss."""
        batches = self.objective.batches(epoch).shard(self.part, self.parts)
        # Dropout is seeded by (seed, epoch), as is the order: a resumed run needs no saved state of the generator.
        torch.manual_seed(key(self.recipe.seed, epoch, stream=1) + self.part)
        loss_sum, items = 0.0, 0
        for index, batch in enumerate(batches):
            set_rate(self.state.optimizer, self.recipe, (epoch + index / len(batches)) / self.recipe.epochs)
            loss = self.shared.loss(batch.to(self.fabric.device))
            own = [0 if batches.borrowed(index) else term.items for term in loss.terms]
            shown, total, *every = self.sums(loss.shown * own[0], loss.total.item(), *own)
            if not math.isfinite(total):
                raise DivergedError(
                    f"the loss became {total} in epoch {epoch + 1}, batch {index + 1}",
                    f"Try a smaller `learning_rate` than {self.recipe.learning_rate}.",
                )
            loss_sum += shown
            items += int(every[0])
            # Without it the head was fitted, and nothing is left to be trained.
            if loss.total.requires_grad:
                self.update(self.weighted(loss, own, every).total)
            self.progress.batch(epoch + (index + 1) / len(batches))
        return loss_sum / max(items, 1)

    def sums(self, *figures: float) -> list[float]:
        """The sum of each figure over the processes."""
        if self.fabric.world_size == 1:
            return [*figures]
        summed = torch.tensor(figures, dtype=torch.float64, device=self.fabric.device)
        return self.fabric.strategy.all_reduce(summed, reduce_op="sum").tolist()

    def weighted(self, loss: Loss, own: list[int], every: list[float]) -> Loss:
        """Rescale a loss so that its gradients, averaged over the processes, are those of the mean over all items.

        Args:
            loss: the loss of this process's part of the batch.
            own: the number of items of each term in this process; 0 where another process has them too.
            every: the number of items of each term in all processes.
        """
        shares = [count * self.fabric.world_size / all if all else 1.0 for count, all in zip(own, every, strict=True)]
        shared = zip(loss.terms, shares, strict=True)
        return Loss(tuple(term._replace(mean=term.mean * share) for term, share in shared))

    def update(self, loss: Tensor) -> None:
        """Update the weights, and their moving average."""
        self.optimizer.zero_grad()
        self.fabric.backward(loss)
        clip = self.recipe.gradient_clip
        # Non-finite gradients make the next loss NaN, which raises an error.
        self.fabric.clip_gradients(self.shared, self.optimizer, max_norm=clip, error_if_nonfinite=False)
        self.optimizer.step()
        self.state.updates += 1
        if self.state.average is not None:
            self.state.average.update(self.state.updates)

    def evaluate(self) -> tuple[DevScore, dict[str, Tensor]]:
        """The score on the dev examples, and the weights that were evaluated: the moving average, if there is one."""
        average = self.state.average
        with average.in_place() if average is not None else nullcontext():
            self.objective.eval()
            with torch.no_grad():
                dev = self.objective.evaluate()
            self.objective.train()
            # Copied even on the CPU, because training continues to change the weights.
            weights = self.objective.network.state_dict()
            return dev, {name: value.detach().cpu().clone() for name, value in weights.items()}

    def save(self, folder: RunFolder) -> None:
        """Write the checkpoints and the log after an epoch."""
        row = self.state.history[-1]
        # The best is written first: if the process is killed in between, resuming from the last gives it again.
        if row["best_epoch"] == row["epoch"]:
            write_state(folder.best, {"epoch": row["epoch"], "score": row["score"], "weights": self.best})
        write_state(folder.last, self.state.to_checkpoint())
        folder.write_log(self.state.history)


def _make_fabric(accelerator: str, process: ProcessRank, *, unused: bool) -> Fabric:
    """A Fabric with one device. Of several processes, each is a node with one device.

    Args:
        accelerator: "cpu" or "cuda".
        process: the rank of this process; it has joined its group already.
        unused: whether a parameter may have no gradient, which takes a search in every batch.
    """
    environment = _JoinedAlready(process.rank)
    if process.devices == 1:
        fabric = Fabric(accelerator=accelerator, devices=1, plugins=[environment])
    else:
        # Training changes no buffer of any network.
        strategy = _SharedBatches(process_group_backend="gloo", broadcast_buffers=False, find_unused_parameters=unused)
        fabric = Fabric(
            accelerator=accelerator, devices=1, num_nodes=process.devices, strategy=strategy, plugins=[environment]
        )
    fabric.launch()
    return fabric


class _JoinedAlready(LightningEnvironment):
    """Starts no processes and reads no environment variables: they may belong to another job of a cluster."""

    def __init__(self, rank: int):
        super().__init__()
        self._rank = rank

    @property
    def creates_processes_externally(self) -> bool:
        return True

    def local_rank(self) -> int:
        return 0

    def node_rank(self) -> int:
        return self._rank


class _SharedBatches(DDPStrategy):
    """Averages the gradients over the processes."""

    @property
    def launcher(self) -> None:
        # Fabric's launcher would set the number of threads and an environment variable.
        return None


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
            fabric = _make_fabric(plan.compute.accelerator, process, unused=plan.objective.may_leave_out)
            objective = plan.objective.to(fabric.device)
            count = plan.compute.context_parallel
            state = TrainingState(objective, plan.recipe, plan.checkpoint)
            loop = Loop(fabric, state, plan.recipe, run, progress, count)
            if run is not None:
                # Only now: if something fails before the first batch, the folder can be used again.
                run.begin()
            with sharing_sequences(objective, process.sharing(count)):
                loop.run()
    finally:
        progress.stop()
    return loop.state.history, loop.best


def work(process: ProcessRank, plan: Plan) -> None:
    """Train in a process other than the first."""
    with plan.compute.in_use(), quiet_fabric():
        fit(process, plan, None, TrainingProgress())
