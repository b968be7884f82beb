"""Lightning Fabric for one of the processes that train together, or for the only one."""

from lightning_fabric import Fabric
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from lightning_fabric.strategies.ddp import DDPStrategy

from regard.tasks.training.rank import ProcessRank

__all__ = ["make_fabric"]


def make_fabric(accelerator: str, process: ProcessRank) -> Fabric:
    """A Fabric of one device, which is a node of its own among those of the other processes.

    Args:
        accelerator: "cpu" or "cuda".
        process: which of how many processes this is; they have joined their group already.
    """
    environment = _JoinedAlready(process.rank)
    if process.devices == 1:
        fabric = Fabric(accelerator=accelerator, devices=1, plugins=[environment])
    else:
        # No network has a buffer that training changes.
        strategy = _SharedBatches(process_group_backend="gloo", broadcast_buffers=False)
        fabric = Fabric(
            accelerator=accelerator, devices=1, num_nodes=process.devices, strategy=strategy, plugins=[environment]
        )
    fabric.launch()
    return fabric


class _JoinedAlready(LightningEnvironment):
    """Starts no processes and reads no variables, which may be those of a cluster that this process isn't part of."""

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
    """Averages the gradients of all processes."""

    @property
    def launcher(self) -> None:
        # Fabric's own would set the number of threads, and an environment variable.
        return None
