"""Training as one of the processes that torchrun started, on this machine or on several.

torchrun sets environment variables with the rank of this process and the address where all of them meet.
"""

import itertools
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import torch

from regard.errors import ArgumentError, LostRankError, RegardError
from regard.tasks.training.compute import Compute
from regard.tasks.training.rank import PATIENCE, ProcessRank, leaving_group, on_loopback

__all__ = ["check_agreement", "is_first", "joined", "launched"]

# Only torchrun sets this one. Other launchers set variables such as RANK too, perhaps for other programs.
_SIGN = "TORCHELASTIC_RUN_ID"
# torchrun keeps one store for as long as it runs: each training of a script needs its own keys in it.
_GROUPS = itertools.count()
# PyTorch's own default: another process may still be reading its data.
_ARRIVAL = timedelta(minutes=30)
_LOST = (
    "Another of the processes that torchrun started has ended, so training stopped. Its own messages say why. "
    "What is written of the run is whole: go on by `resume` (--resume)."
)


@dataclass(frozen=True)
class Launch:
    """The variables that torchrun sets.

    Args:
        rank: the number of this process.
        processes: the number of processes on all machines.
        address: the address of the first machine.
        port: the port on the first machine.
    """

    rank: int
    processes: int
    address: str
    port: int

    @property
    def is_near(self) -> bool:
        """Whether the processes meet on this machine's loopback, so that all are on it."""
        return self.address in ("localhost", "::1") or self.address.startswith("127.")

    def compute(self, compute: Compute, device: str) -> Compute:
        """These settings, with torchrun's number of processes.

        Args:
            compute: the requested settings.
            device: the argument `device` of `train`.

        Raises:
            ArgumentError: torchrun doesn't support the request.
        """
        if compute.devices > 1:
            raise ArgumentError(
                f"`devices` must be 1 where torchrun says how many processes there are, but is {compute.devices}. "
                "Leave it out."
            )
        if self.processes > 1 and device == "gpu":
            raise ArgumentError("`device` must be cpu or auto where several processes share each batch, but is 'gpu'.")
        return compute if self.processes == 1 else replace(compute, accelerator="cpu", devices=self.processes)


def launched(variables: Mapping[str, str] | None = None) -> Launch | None:
    """Read the variables of torchrun; return None if it didn't start this process.

    Args:
        variables: the environment variables; None: those of this process.

    Raises:
        ArgumentError: a variable is missing, or isn't what torchrun would have set.

    Example:
        >>> launched({}) is None
        True
        >>> said = {"WORLD_SIZE": "2", "RANK": "1", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"}
        >>> launched({**said, "TORCHELASTIC_RUN_ID": "none"}).rank
        1
    """
    variables = os.environ if variables is None else variables
    if _SIGN not in variables:
        return None
    processes = _number(variables, "WORLD_SIZE", 1, None)
    rank = _number(variables, "RANK", 0, processes - 1)
    port = _number(variables, "MASTER_PORT", 1, 65535)
    address = variables.get("MASTER_ADDR", "")
    if not address:
        raise ArgumentError(_message("MASTER_ADDR", "the address of the first machine", "isn't set"))
    return Launch(rank, processes, address, port)


def is_first() -> bool:
    """Whether this is the first of torchrun's processes, or was started without torchrun."""
    launch = launched()
    return launch is None or launch.rank == 0


@contextmanager
def joined(launch: Launch | None) -> Iterator[ProcessRank]:
    """Join the group of torchrun's processes inside the block; do nothing if torchrun didn't start this process.

    Raises:
        ArgumentError: the process is in a group already.
        RegardError: not all processes have started, they can't connect, or another one ended.
    """
    if launch is None or launch.processes == 1:
        yield ProcessRank()
        return
    if torch.distributed.is_initialized():
        raise ArgumentError("`train` must join torchrun's processes itself, but this one is in a group already.")
    # Leaving the group waits for messages under way to a machine that vanished without closing its connections, for as
    # long as PATIENCE. gloo can't cancel them; torchrun kills its processes 30 seconds after Ctrl-C.
    with leaving_group():
        try:
            _meet(launch)
            yield ProcessRank(launch.rank, launch.processes, is_near=launch.is_near)
        except LostRankError:
            raise RegardError(_LOST) from None
        except RuntimeError as error:
            if not _is_lost(error):
                raise
            raise RegardError(_LOST) from None


def check_agreement(process: ProcessRank, identity: Mapping[str, Any]) -> None:
    """Make sure that all processes were asked for the same training, before it begins.

    Args:
        process: the rank of this process, which has joined the group.
        identity: everything that determines the result.

    Raises:
        ArgumentError: the processes have different identities.
    """
    first, *others = process.gather(dict(identity))
    for rank, other in enumerate(others, 1):
        if differing := [name for name in {**first, **other} if first.get(name) != other.get(name)]:
            raise ArgumentError(
                f"All processes of torchrun must train alike, but process {rank} has other {' and '.join(differing)} "
                "than process 0. Give each machine the same command, the same data and the same versions."
            )


def _meet(launch: Launch) -> None:
    """Wait until all processes have started, and join them in a group."""
    # Not at the top: a PyTorch that was built without `torch.distributed` trains in one process.
    from torch.distributed import PrefixStore  # pyright: ignore[reportPrivateImportUsage], documented as public
    from torch.distributed.rendezvous import rendezvous

    host = f"[{launch.address}]" if ":" in launch.address else launch.address
    where = f"{launch.address}:{launch.port}"
    with on_loopback() if launch.is_near else nullcontext():
        try:
            met = rendezvous(f"tcp://{host}:{launch.port}", launch.rank, launch.processes, timeout=_ARRIVAL)
            store = PrefixStore(f"regard/{next(_GROUPS)}", next(met)[0])
            store.set(f"started/{launch.rank}", "yes")
            store.wait([f"started/{rank}" for rank in range(launch.processes)], _ARRIVAL)
        except RuntimeError as error:
            raise RegardError(
                f"Not all of torchrun's {launch.processes} processes have connected to {where}, so training can't "
                "begin. The messages of the others may say why."
            ) from error
        try:
            torch.distributed.init_process_group(
                "gloo", store=store, rank=launch.rank, world_size=launch.processes, timeout=PATIENCE
            )
        except RuntimeError as error:
            raise RegardError(
                f"torchrun's {launch.processes} processes have all connected to {where}, but can't connect to each "
                "other, so training can't begin. Either one of them has ended, and its own messages say why; or set "
                "GLOO_SOCKET_IFNAME to the network interface that leads to the other machines."
            ) from error


def _is_lost(error: RuntimeError) -> bool:
    """Whether gloo or the store raised this error because another process has ended."""
    return isinstance(error, torch.distributed.DistError) or "gloo" in str(error)


def _number(variables: Mapping[str, str], name: str, least: int, most: int | None) -> int:
    said = variables.get(name)
    wanted = f"a whole number, {least} or more" if most is None else f"a whole number from {least} to {most}"
    if said is None:
        raise ArgumentError(_message(name, wanted, "isn't set"))
    number = int(said) if said.isascii() and said.isdigit() else -1
    if number < least or (most is not None and number > most):
        raise ArgumentError(_message(name, wanted, f"is {said!r}"))
    return number


def _message(name: str, wanted: str, found: str) -> str:
    return f"The environment variable {name} must be {wanted}, as torchrun sets it, but {found}."
