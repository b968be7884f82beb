"""Lightning's trainer for one of the processes that train together, or for the only one.

Imported only by `fit.py`, when training starts, as `lightning_parts.py` is.
"""

import signal
import threading
from typing import Any

from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.strategies import DDPStrategy, Strategy

from regard.tasks.recipe import Recipe
from regard.tasks.training.lightning_parts import StateFolders
from regard.tasks.training.rank import ProcessRank

__all__ = ["EndOnTerminate", "RankEnvironment", "make_trainer"]


class RankEnvironment(LightningEnvironment):
    """A process that begins no others and reads no variables: a cluster's would make it one of a group elsewhere."""

    def __init__(self, process: ProcessRank):
        super().__init__()
        self._process = process

    @property
    def creates_processes_externally(self) -> bool:
        return True

    def local_rank(self) -> int:
        return self._process.rank

    def node_rank(self) -> int:
        return 0


class EndOnTerminate(Callback):
    """Lets SIGTERM end training at once, as Ctrl-C does, if nobody else answers it.

    Lightning's own answer speaks to the other processes from within the signal, and may wait for ever; alone, it
    ends with exit code 0, as if all were done.
    """

    def __init__(self):
        self._before = signal.getsignal(signal.SIGTERM)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, _end if self._before in (None, signal.SIG_DFL) else self._before)


def _end(number: int, _: Any) -> None:
    raise SystemExit(128 + number)


def make_trainer(
    recipe: Recipe, process: ProcessRank, accelerator: str, callbacks: list[Callback], folder: Any
) -> Trainer:
    """A trainer that does what the recipe says and leaves the rest to the callbacks.

    Args:
        recipe: how to train.
        process: which of how many processes this is.
        accelerator: lightning's name of what it runs on.
        callbacks: what to do beside.
        folder: where lightning may write, if it must.
    """
    # No net has a buffer that training changes.
    several: Strategy = DDPStrategy(process_group_backend="gloo", broadcast_buffers=False)
    return Trainer(
        accelerator=accelerator,
        devices=process.devices,
        strategy="auto" if process.devices == 1 else several,
        max_epochs=recipe.epochs,
        gradient_clip_val=recipe.gradient_clip,
        callbacks=[EndOnTerminate(), *callbacks],
        plugins=[StateFolders(), RankEnvironment(process)],
        default_root_dir=folder,
        reload_dataloaders_every_n_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
