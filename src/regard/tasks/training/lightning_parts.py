"""Training as lightning knows it: a module, a callback after each epoch, checkpoints of our own kind.

Imported only by `fit.py`, when training starts: lightning is an optional library, and takes seconds to import.
"""

import math
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins import CheckpointIO
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor, nn

from regard.errors import ModelError, RegardError
from regard.tasks.recipe import Recipe
from regard.tasks.training.averaging import MovingAverage
from regard.tasks.training.batching import Batches, key
from regard.tasks.training.checkpoints import read_state, write_state
from regard.tasks.training.muon import Muon
from regard.tasks.training.objective import DevScore, Loss, Objective
from regard.tasks.training.progress import Silent
from regard.tasks.training.run import RunFolder

__all__ = [
    "OURS",
    "AfterEpoch",
    "StateFolders",
    "Training",
    "best_weights",
    "history_of",
    "is_over",
    "share_of_rate",
]

# Under this name a checkpoint holds what is ours.
OURS = "regard"


class StateFolders(CheckpointIO):
    """Lightning's checkpoints as folders of safetensors and JSON."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        write_state(path, checkpoint)

    def load_checkpoint(self, path: Any, map_location: Any = None, weights_only: bool | None = None) -> dict[str, Any]:
        return read_state(path)

    def remove_checkpoint(self, path: Any) -> None:
        raise NotImplementedError("checkpoints are replaced, never removed")


class Training(LightningModule):
    """How a objective is trained: optimiser, schedule, average; what a resumed run needs to go on.

    Args:
        objective: what learns.
        recipe: how.
    """

    def __init__(self, objective: Objective, recipe: Recipe):
        super().__init__()
        self.objective = objective
        self.recipe = recipe
        self.average = MovingAverage(objective.network, recipe.average) if recipe.average else None
        self.history: list[dict[str, Any]] = []
        self.best: dict[str, Tensor] = {}
        self.loss_sum, self.loss_count = 0.0, 0

    def train_dataloader(self) -> Batches:
        self.batches = self.objective.batches(self.trainer.current_epoch).shard(
            self.global_rank, self.trainer.world_size
        )
        return self.batches

    def transfer_batch_to_device(self, batch: Any, device: torch.device, dataloader_idx: int) -> Any:
        return batch.to(device)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        # Weight decay pulls matrices that mix features; a rare word's vector would only fade, a bias or a norm drift.
        tables = {
            id(p) for m in self.modules() if isinstance(m, nn.Embedding | nn.EmbeddingBag) for p in m.parameters()
        }
        decayed = [p for p in self.parameters() if p.ndim > 1 and id(p) not in tables]
        kept = [p for p in self.parameters() if p.ndim <= 1 or id(p) in tables]
        groups = [{"params": decayed, "weight_decay": self.recipe.weight_decay}, {"params": kept, "weight_decay": 0.0}]
        settings: dict[str, Any] = {"lr": self.recipe.learning_rate, "betas": (0.9, self.recipe.beta2)}
        if self.recipe.optimizer == "adamw":
            return torch.optim.AdamW(groups, **settings, fused=True)
        # A convolution's filters are a matrix for each of its places.
        matrices = [p for p in decayed if p.ndim == 2]
        groups[0]["params"] = [p for p in decayed if p.ndim != 2]
        turned = {"params": matrices, "weight_decay": self.recipe.weight_decay}
        return Muon([{**group, "matrices": False} for group in groups] + [{**turned, "matrices": True}], **settings)

    def on_train_epoch_start(self) -> None:
        # Dropout is keyed by (seed, epoch) like the order is, so that a resumed run needs no generator's state.
        torch.manual_seed(key(self.recipe.seed, self.current_epoch, stream=1) + self.global_rank)
        self.loss_sum, self.loss_count = 0.0, 0

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        done = (self.current_epoch + batch_idx / int(self.trainer.num_training_batches)) / self.recipe.epochs
        for group in self.trainer.optimizers[0].param_groups:
            group["lr"] = self.recipe.learning_rate * share_of_rate(self.recipe, done)

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        loss = self.objective.loss(batch)
        own = [0 if self.batches.borrowed(batch_idx) else term.things for term in loss.terms]
        shown, total, *every = self._of_all(loss.shown * own[0], loss.total.item(), *own)
        self.loss_sum += shown
        self.loss_count += int(every[0])
        if not math.isfinite(total):
            raise RegardError(
                f"The loss became {total} in epoch {self.current_epoch + 1}, batch {batch_idx + 1}. "
                f"Try a smaller `learning_rate` than {self.recipe.learning_rate}."
            )
        # The gradients will be averaged over the processes: so weighted, each term is the mean over the things of all.
        shares = [count * self.trainer.world_size / all if all else 1.0 for count, all in zip(own, every, strict=True)]
        shared = zip(loss.terms, shares, strict=True)
        return Loss(tuple(term._replace(mean=term.mean * share) for term, share in shared)).total

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        if self.average is not None:
            self.average.update(self.trainer.global_step)

    def on_fit_start(self) -> None:
        if self.average is not None:
            self.average.to(self.device)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        average = {} if self.average is None else self.average.values
        checkpoint[OURS] = {"history": self.history, "average": average}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.history = checkpoint[OURS]["history"]
        if self.average is not None:
            self.average.load(checkpoint[OURS]["average"])

    def _of_all(self, *figures: float) -> list[float]:
        """The sums of these figures over all processes."""
        if self.trainer.world_size == 1:
            return [*figures]
        summed = torch.tensor(figures, dtype=torch.float64, device=self.device)
        return self.trainer.strategy.reduce(summed, reduce_op="sum").tolist()

    def evaluated(self) -> tuple[DevScore, dict[str, Tensor]]:
        """How good it is on the dev examples, and the weights that gave it: the average, if one is kept."""
        with self.average.in_place() if self.average is not None else nullcontext():
            self.objective.eval()
            with torch.no_grad():
                verdict = self.objective.evaluate()
            self.objective.train()
            # A copy even on the CPU: the weights go on changing.
            network = self.objective.network.state_dict()
            return verdict, {name: value.detach().cpu().clone() for name, value in network.items()}


class AfterEpoch(Callback):
    """After each epoch: evaluate on dev, keep the best and the last weights, write the log, stop if it is time."""

    def __init__(self, run: RunFolder | None, progress: Silent):
        self._run = run
        self._progress = progress
        self._spent = 0.0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        training = _ours(pl_module)
        self._spent = training.history[-1]["seconds"] if training.history else 0.0
        self._started = time.monotonic()
        self._progress.start(training.recipe.epochs, len(training.history), training.objective.measure)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self._progress.batch(trainer.current_epoch + (batch_idx + 1) / int(trainer.num_training_batches))

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        training = _ours(pl_module)
        # The first process evaluates; the others wait here, and its result decides for all.
        row, weights = self._judged(training) if trainer.is_global_zero else ({}, {})
        row = trainer.strategy.broadcast(row)
        training.history.append(row)
        # The best before the last: a kill between them leaves a last that leads to the same best again.
        if trainer.is_global_zero and row["best_epoch"] == row["epoch"]:
            training.best = weights
            if self._run is not None:
                write_state(self._run.best, {"epoch": row["epoch"], "score": row["score"], "weights": weights})
        if self._run is not None:
            # By all processes: the others wait while the first writes.
            trainer.save_checkpoint(self._run.last)
            if trainer.is_global_zero:
                self._run.write_log(training.history)
        self._progress.epoch(row)
        trainer.should_stop = is_over(training.recipe, training.history) is not None

    def _judged(self, training: Training) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """The line of the log for the epoch that is over, and its weights."""
        (score, dev_loss), weights = training.evaluated()
        row: dict[str, Any] = {
            "epoch": len(training.history) + 1,
            "loss": training.loss_sum / max(training.loss_count, 1),
            "score": score,
            "dev_loss": dev_loss,
        }
        best = training.history[training.history[-1]["best_epoch"] - 1] if training.history else row
        as_good = score == best["score"] and dev_loss < best["dev_loss"]
        if as_good or training.objective.measure.better(score, than=best["score"]):
            best = row
        row |= {
            "best": best["score"],
            "best_epoch": best["epoch"],
            "seconds": round(self._spent + time.monotonic() - self._started, 3),
        }
        return row, weights


def is_over(recipe: Recipe, history: Sequence[dict[str, Any]]) -> str | None:
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


def share_of_rate(recipe: Recipe, done: float) -> float:
    """The learning rate as a share of the recipe's, when this share of the training is done.

    Example:
        >>> recipe = Recipe(warm_up=0.5)
        >>> [round(share_of_rate(recipe, done), 3) for done in (0.25, 0.5, 0.75)]
        [0.502, 1.0, 0.5]
    """
    if done < recipe.warm_up:
        # Not from zero: the first batch would be spent on nothing.
        return min(1.0, (done + 1e-3) / recipe.warm_up)
    rest = (done - recipe.warm_up) / (1 - recipe.warm_up)
    return 1 - rest if recipe.schedule == "linear" else 0.5 * (1 + math.cos(math.pi * rest))


def best_weights(run: RunFolder) -> dict[str, Tensor]:
    """The weights of the best epoch of a run."""
    state = read_state(run.best)
    if not isinstance(state, dict) or not isinstance(state.get("weights"), dict):
        raise ModelError(f"The checkpoint {run.best} is damaged: it has no weights. Start the run anew.")
    return state["weights"]


def history_of(checkpoint: Path) -> list[dict[str, Any]]:
    """The log of the epochs that a checkpoint has behind it."""
    state = read_state(checkpoint)
    ours = state.get(OURS) if isinstance(state, dict) else None
    if not isinstance(ours, dict) or not {"history", "average"} <= ours.keys():
        raise ModelError(f"The checkpoint {checkpoint} is damaged: it has no {OURS!r}. Start the run anew.")
    return ours["history"]


def _ours(module: LightningModule) -> Training:
    if not isinstance(module, Training):
        raise TypeError(f"AfterEpoch goes with Training, not with {type(module).__name__}")
    return module
