"""The loop of training: epochs, and in each of them an update for every batch."""

import math
import time
from contextlib import nullcontext
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor

from regard.errors import RegardError
from regard.tasks.recipe import Recipe
from regard.tasks.training.batching import key
from regard.tasks.training.checkpoints import write_state
from regard.tasks.training.history import is_over, next_row
from regard.tasks.training.objective import DevScore, Loss
from regard.tasks.training.optimizer import set_rate
from regard.tasks.training.progress import Silent
from regard.tasks.training.run import RunFolder
from regard.tasks.training.state import TrainingState

__all__ = ["Loop"]


class Loop:
    """Trains from where a state stands until the recipe says that training is over.

    Every process runs it on its part of each batch. The first evaluates, writes and shows progress.

    Args:
        fabric: the device, and the way to the other processes.
        state: what training changes.
        recipe: how to train.
        folder: where to write; None: nowhere.
        progress: shows how far training is.
    """

    def __init__(
        self, fabric: Fabric, state: TrainingState, recipe: Recipe, folder: RunFolder | None, progress: Silent
    ):
        self.fabric, self.state, self.recipe, self.folder, self.progress = fabric, state, recipe, folder, progress
        self.objective = state.objective
        self.best: dict[str, Tensor] = {}
        # The same objective, but the gradients of its `loss` are averaged over the processes.
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
            if self.fabric.is_global_zero:
                dev, weights = self.evaluate()
                row = next_row(history, loss, dev, time.monotonic() - started, measure)
                if row["best_epoch"] == row["epoch"]:
                    self.best = weights
            # The others wait here: what the first process finds decides for all.
            row = self.fabric.broadcast(row)
            history.append(row)
            if self.fabric.is_global_zero and self.folder is not None:
                self.save(self.folder)
            self.progress.epoch(row)

    def train_epoch(self, epoch: int) -> float:
        """Update the weights by every batch of an epoch, counted from 0; the mean loss."""
        batches = self.objective.batches(epoch).shard(self.fabric.global_rank, self.fabric.world_size)
        # Dropout is keyed by (seed, epoch) like the order is, so that a resumed run needs no generator's state.
        torch.manual_seed(key(self.recipe.seed, epoch, stream=1) + self.fabric.global_rank)
        loss_sum, things = 0.0, 0
        for index, batch in enumerate(batches):
            set_rate(self.state.optimizer, self.recipe, (epoch + index / len(batches)) / self.recipe.epochs)
            loss = self.shared.loss(batch.to(self.fabric.device))
            own = [0 if batches.borrowed(index) else term.things for term in loss.terms]
            shown, total, *every = self.sums(loss.shown * own[0], loss.total.item(), *own)
            if not math.isfinite(total):
                raise RegardError(
                    f"The loss became {total} in epoch {epoch + 1}, batch {index + 1}. "
                    f"Try a smaller `learning_rate` than {self.recipe.learning_rate}."
                )
            loss_sum += shown
            things += int(every[0])
            self.update(self.weighted(loss, own, every).total)
            self.progress.batch(epoch + (index + 1) / len(batches))
        return loss_sum / max(things, 1)

    def sums(self, *figures: float) -> list[float]:
        """The sum of each figure over the processes."""
        if self.fabric.world_size == 1:
            return [*figures]
        summed = torch.tensor(figures, dtype=torch.float64, device=self.fabric.device)
        return self.fabric.strategy.all_reduce(summed, reduce_op="sum").tolist()

    def weighted(self, loss: Loss, own: list[int], every: list[float]) -> Loss:
        """A loss whose gradients, averaged over the processes, are those of the mean over the things of all.

        Args:
            loss: of this process's part of the batch.
            own: of how many things each term is the mean; 0 where they are another process's too.
            every: of how many there are in all processes.
        """
        shares = [count * self.fabric.world_size / all if all else 1.0 for count, all in zip(own, every, strict=True)]
        shared = zip(loss.terms, shares, strict=True)
        return Loss(tuple(term._replace(mean=term.mean * share) for term, share in shared))

    def update(self, loss: Tensor) -> None:
        """One step of the optimiser, and of the moving average of the weights."""
        self.optimizer.zero_grad()
        self.fabric.backward(loss)
        clip = self.recipe.gradient_clip
        # Gradients that aren't finite make the next loss NaN, which is reported.
        self.fabric.clip_gradients(self.shared, self.optimizer, max_norm=clip, error_if_nonfinite=False)
        self.optimizer.step()
        self.state.updates += 1
        if self.state.average is not None:
            self.state.average.update(self.state.updates)

    def evaluate(self) -> tuple[DevScore, dict[str, Tensor]]:
        """How good it is on the dev examples, and the weights that gave it: the average, if one is kept."""
        average = self.state.average
        with average.in_place() if average is not None else nullcontext():
            self.objective.eval()
            with torch.no_grad():
                dev = self.objective.evaluate()
            self.objective.train()
            # A copy even on the CPU: the weights go on changing.
            weights = self.objective.network.state_dict()
            return dev, {name: value.detach().cpu().clone() for name, value in weights.items()}

    def save(self, folder: RunFolder) -> None:
        """Write the checkpoints and the log after an epoch."""
        row = self.state.history[-1]
        # The best before the last: a kill between them leaves a last that leads to the same best again.
        if row["best_epoch"] == row["epoch"]:
            write_state(folder.best, {"epoch": row["epoch"], "score": row["score"], "weights": self.best})
        write_state(folder.last, self.state.to_checkpoint())
        folder.write_log(self.state.history)
