"""The processes of a group, and what they send each other: tensors to named ranks, in one message for each pair."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.errors import ArgumentError, RegardError, is_out_of_memory

__all__ = ["Exchange", "Peers"]

Shape = tuple[tuple[int, ...], torch.dtype]


class Peers:
    """The processes that share a sequence.

    Args:
        group: a process group, a device mesh with one dimension, or None for all processes.

    Raises:
        ArgumentError: there is no such group, or this process isn't in it.
    """

    def __init__(self, group: Any = None):
        dist = torch.distributed
        if not (dist.is_available() and dist.is_initialized()):
            raise ArgumentError(
                "`group` must be a group of processes that have met, but torch.distributed isn't initialised. Start "
                "the program by torchrun and call torch.distributed.init_process_group() first."
            )
        if hasattr(group, "get_group"):
            if group.ndim != 1:
                raise ArgumentError(
                    f"`group` must be a mesh with one dimension, but has {group.ndim}. Pass one of them: mesh['name']."
                )
            group = group.get_group()
        self._group: Any = dist.group.WORLD if group is None else group
        self.rank, self.size = dist.get_rank(self._group), dist.get_world_size(self._group)
        if self.rank < 0:
            raise ArgumentError("`group` must have this process in it, but hasn't. Call it in the group's ranks only.")
        self._global = [dist.get_global_rank(self._group, rank) for rank in range(self.size)]

    def tell(self, numbers: Sequence[int], device: torch.device) -> list[list[int]]:
        """The numbers of all ranks, each as many."""
        own = torch.tensor(numbers, dtype=torch.int64, device=device if device.type == "cuda" else "cpu")
        every = [torch.empty_like(own) for _ in range(self.size)]
        with _lost(self):
            torch.distributed.all_gather(every, own, group=self._group)
        return [each.tolist() for each in every]

    def exchange(
        self,
        outgoing: Mapping[int, Sequence[Tensor]],
        incoming: Mapping[int, Sequence[Shape]],
        device: torch.device,
        *,
        tag: int = 0,
    ) -> "Exchange":
        """Begin to send tensors to some ranks and to receive from some, which is what those send.

        Args:
            tag: tells messages apart that are under way between the same two at once.
        """
        dist, works, buffers = torch.distributed, [], {}
        operations = []
        for rank, shapes in sorted(incoming.items()):
            buffers[rank] = torch.empty(sum(map(_bytes, shapes)), dtype=torch.uint8, device=device)
            if len(buffers[rank]):
                operations.append(dist.P2POp(dist.irecv, buffers[rank], self._global[rank], self._group, tag))
        for rank, tensors in sorted(outgoing.items()):
            message = torch.cat([each.detach().contiguous().view(-1).view(torch.uint8) for each in tensors])
            if len(message):
                operations.append(dist.P2POp(dist.isend, message, self._global[rank], self._group, tag))
        with _lost(self):
            works = dist.batch_isend_irecv(operations) if operations else []
        # The messages live as long as the exchange: they are being read.
        return Exchange(self, works, [each.tensor for each in operations], buffers, dict(incoming))


@dataclass
class Exchange:
    """Messages under way."""

    peers: Peers
    works: Sequence[Any]
    messages: Sequence[Tensor]
    buffers: Mapping[int, Tensor]
    shapes: Mapping[int, Sequence[Shape]]

    def wait(self) -> dict[int, list[Tensor]]:
        """What each rank sent."""
        with _lost(self.peers):
            for work in self.works:
                work.wait()
        self.messages = ()
        return {rank: list(_unpacked(buffer, self.shapes[rank])) for rank, buffer in self.buffers.items()}


def _bytes(shape: Shape) -> int:
    return torch.Size(shape[0]).numel() * shape[1].itemsize


def _unpacked(buffer: Tensor, shapes: Sequence[Shape]) -> Iterator[Tensor]:
    place = 0
    for shape in shapes:
        yield buffer[place : place + _bytes(shape)].view(shape[1]).view(shape[0])
        place += _bytes(shape)


@contextmanager
def _lost(peers: Peers) -> Iterator[None]:
    """Say in one sentence that another process has ended."""
    try:
        yield
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise
        raise RegardError(
            f"Rank {peers.rank} of {peers.size} waited for another rank in vain: it has ended, or isn't in the same "
            "call. Its own messages may say why; every rank must call attend, and backward, equally often."
        ) from error
