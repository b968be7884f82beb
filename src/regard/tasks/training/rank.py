"""Which of several training processes this one is, and how they find each other."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch

__all__ = ["PATIENCE", "ProcessRank", "meet", "on_loopback"]

# The end of another process is noticed at once; so wait for as long as the first takes to evaluate.
PATIENCE = timedelta(days=7)


@dataclass(frozen=True)
class ProcessRank:
    """Which of the processes that train together this one is.

    Args:
        rank: its number; 0 is the one that was asked to train.
        devices: how many there are.
        join: waits until all are ready, and joins them in a group.
    """

    rank: int = 0
    devices: int = 1
    join: Callable[[], None] = lambda: None

    @property
    def is_first(self) -> bool:
        """Whether it is the one that evaluates, writes and shows progress."""
        return self.rank == 0

    def broadcast(self, value: Any) -> Any:
        """What the first process has for this value; all must have joined, and call it."""
        if self.devices == 1:
            return value
        values = [value]
        torch.distributed.broadcast_object_list(values, src=0)
        return values[0]

    def gather(self, value: Any) -> list[Any]:
        """What each process has for this value; all must have joined, and call it."""
        if self.devices == 1:
            return [value]
        values: list[Any] = [None] * self.devices
        torch.distributed.all_gather_object(values, value)
        return values


def meet(meeting: str, rank: int, devices: int) -> None:
    """Join the group: the processes find each other by a file, and speak through ports that the system chooses.

    Args:
        meeting: the URL of the file.
        rank: the number of this process.
        devices: how many there are.
    """
    with on_loopback():
        torch.distributed.init_process_group(
            "gloo", init_method=meeting, rank=rank, world_size=devices, timeout=PATIENCE
        )


@contextmanager
def on_loopback() -> Iterator[None]:
    """Let gloo use the machine's own interface: whatever its name resolves to, and closed to the outside."""
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
