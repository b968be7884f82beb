"""Lightning's trainer for one of the processes that train together, or for the only one.

Imported only by `fit.py`, when training starts, as `lightning_parts.py` is.
"""

from typing import Any

from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.strategies import DDPStrategy, Strategy

from regard.tasks.lightning_parts import StateFolders
from regard.tasks.place import Place
from regard.tasks.recipe import Recipe

__all__ = ["Here", "trainer_of"]


class Here(LightningEnvironment):
    """A process that begins no others and reads no variables: a cluster's would make it one of a group elsewhere."""

    def __init__(self, place: Place):
        super().__init__()
        self._place = place

    @property
    def creates_processes_externally(self) -> bool:
        return True

    def local_rank(self) -> int:
        return self._place.rank

    def node_rank(self) -> int:
        return 0


def trainer_of(recipe: Recipe, place: Place, accelerator: str, callbacks: list[Callback], folder: Any) -> Trainer:
    """A trainer that does what the recipe says and leaves the rest to the callbacks.

    Args:
        recipe: how to train.
        place: which of how many processes this is.
        accelerator: lightning's name of what it runs on.
        callbacks: what to do beside.
        folder: where lightning may write, if it must.
    """
    # No net has a buffer that training changes.
    several: Strategy = DDPStrategy(process_group_backend="gloo", broadcast_buffers=False)
    return Trainer(
        accelerator=accelerator,
        devices=place.devices,
        strategy="auto" if place.devices == 1 else several,
        max_epochs=recipe.epochs,
        gradient_clip_val=recipe.gradient_clip,
        callbacks=callbacks,
        plugins=[StateFolders(), Here(place)],
        default_root_dir=folder,
        reload_dataloaders_every_n_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
