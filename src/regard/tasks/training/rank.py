"""The rank of a training process, and how the processes find each other."""

import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch

__all__ = ["PATIENCE", "ProcessRank", "leaving_group", "meet", "on_loopback"]

# The end of a process is noticed at once, so this need only exceed the time that the first takes to evaluate.
PATIENCE = timedelta(days=7)


@dataclass(frozen=True)
class ProcessRank:
    """The rank of a process among those that train together.

    Args:
        rank: the number of this process; 0 is the first.
        devices: the number of processes.
        join: waits until all processes are ready, and joins the group.
        is_near: whether all processes are on this machine.
    """

    rank: int = 0
    devices: int = 1
    join: Callable[[], None] = lambda: None
    is_near: bool = True

    @property
    def is_first(self) -> bool:
        """Whether this process evaluates, writes and shows progress."""
        return self.rank == 0

    def sharing(self, count: int) -> Any:
        """The group of `count` processes, this one among them, that share each sequence: ranks one after the other.

        All processes must have joined, and must call this; `count` divides their number. None: a `count` of 1.
        """
        if count == 1:
            return None
        with on_loopback() if self.is_near else nullcontext():
            own, _ = torch.distributed.new_subgroups(group_size=count, timeout=PATIENCE)
        return own

    def broadcast(self, value: Any) -> Any:
        """Return the value of the first process. All processes must have joined, and must call this.

        Values are pickled, here and in `gather`. They come only from processes of the group, which are trusted: the
        user started all of them, on loopback or on a network that the documentation requires to be trusted.
        """
        if self.devices == 1:
            return value
        values = [value]
        torch.distributed.broadcast_object_list(values, src=0)
        return values[0]

    def gather(self, value: Any) -> list[Any]:
        """Return the values of all processes. All must have joined, and must call this."""
        if self.devices == 1:
            return [value]
        values: list[Any] = [None] * self.devices
        torch.distributed.all_gather_object(values, value)
        return values


def meet(meeting: str, rank: int, devices: int) -> None:
    """Join the group: the processes find each other through a file, and connect on ports that the system chooses.

    Args:
        meeting: the URL of the file.
        rank: the number of this process.
        devices: the number of processes.
    """
    with on_loopback():
        torch.distributed.init_process_group(
            "gloo", init_method=meeting, rank=rank, world_size=devices, timeout=PATIENCE
        )


@contextmanager
def leaving_group() -> Iterator[None]:
    """Leave the group after the block, if it was joined, and restore the hook for exceptions."""
    # `init_process_group` replaces the hook, and `destroy_process_group` doesn't restore it.
    hook = sys.excepthook
    try:
        yield
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
        sys.excepthook = hook


@contextmanager
def on_loopback() -> Iterator[None]:
    """Make gloo use the loopback interface: other machines can't connect to it, and no host name is resolved."""
    name = "GLOO_SOCKET_IFNAME"
    loopback = [interface for _, interface in socket.if_nameindex() if interface.startswith("lo")]
    if name in os.environ or not loopback:
        yield
        return
    os.environ[name] = loopback[0]
    try:
        yield
    finally:
        del os.environ[name]
