"""Lightning Fabric for training in one process or several."""

from lightning_fabric import Fabric
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from lightning_fabric.strategies.ddp import DDPStrategy

from regard.tasks.training.rank import ProcessRank

__all__ = ["make_fabric"]


def make_fabric(accelerator: str, process: ProcessRank) -> Fabric:
    """A Fabric with one device. Of several processes, each is a node with one device.

    Args:
        accelerator: "cpu" or "cuda".
        process: the rank of this process; it has joined its group already.
    """
    environment = _JoinedAlready(process.rank)
    if process.devices == 1:
        fabric = Fabric(accelerator=accelerator, devices=1, plugins=[environment])
    else:
        # Training changes no buffer of any network.
        strategy = _SharedBatches(process_group_backend="gloo", broadcast_buffers=False)
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
