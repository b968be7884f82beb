"""The processes of a group, and what they send each other: tensors to all other ranks at once, or to named ones."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.errors import ArgumentError, LostRankError, is_out_of_memory

__all__ = ["Peers", "Transfer"]

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

    @contextmanager
    def exchange(
        self, outgoing: Mapping[int, Sequence[Tensor]], incoming: Mapping[int, Sequence[Shape]], device: torch.device
    ) -> Iterator[dict[int, list[Tensor]]]:
        """Send tensors to the other ranks, in one message for each, and give what each sent, inside the block only.

        Every rank must call it, in the same order as its other collective operations, even if it sends and receives
        nothing. Where processes wait for processors, gloo takes a third of the CPU time that `transfer` takes.
        """
        ranks = range(self.size)
        shapes = [[(tuple(each.shape), each.dtype) for each in outgoing.get(rank, ())] for rank in ranks]
        sent, places, sent_bytes = _buffer(shapes, device)
        for rank, tensors in outgoing.items():
            for place, tensor in zip(places[rank], tensors, strict=True):
                place.copy_(tensor.detach())
        buffer, received, received_bytes = _buffer([incoming.get(rank, ()) for rank in ranks], device)
        with _lost(self):
            torch.distributed.all_to_all_single(buffer, sent, received_bytes, sent_bytes, group=self._group)
        _free(sent)
        try:
            yield {rank: received[rank] for rank in incoming}
        finally:
            _free(buffer)

    def transfer(
        self,
        outgoing: Mapping[int, Sequence[Tensor]],
        incoming: Mapping[int, Sequence[Shape]],
        device: torch.device,
        *,
        tag: int = 0,
    ) -> "Transfer":
        """Begin to send tensors to some ranks and to receive from some, which is what those send.

        Args:
            tag: tells exchanges apart that are under way between the same two at once.
        """
        operations: list[Any] = []

        def post(operation: Any, tensor: Tensor, rank: int, number: int) -> None:
            if tensor.numel():
                # As bytes, which every backend takes.
                data = tensor.view(-1).view(torch.uint8)
                peer = self._global[rank]
                operations.append(
                    torch.distributed.P2POp(operation, data, peer, self._group, _MOST_TENSORS * tag + number)
                )

        received = {
            rank: [torch.empty(size, dtype=dtype, device=device) for size, dtype in shapes]
            for rank, shapes in incoming.items()
        }
        for rank, tensors in sorted(received.items()):
            for number, tensor in enumerate(tensors):
                post(torch.distributed.irecv, tensor, rank, number)
        for rank, tensors in sorted(outgoing.items()):
            for number, tensor in enumerate(tensors):
                post(torch.distributed.isend, tensor.detach().contiguous(), rank, number)
        with _lost(self):
            works = torch.distributed.batch_isend_irecv(operations) if operations else []
        return Transfer(self, works, operations, received)


def _buffer(shapes: Sequence[Sequence[Shape]], device: torch.device) -> tuple[Tensor, list[list[Tensor]], list[int]]:
    """A buffer for the tensors of each rank, in their order; those tensors, which lie in it; the bytes of each rank."""
    sizes = [[math.prod(size) * dtype.itemsize for size, dtype in of_rank] for of_rank in shapes]
    taken = [[-(-each // _ALIGNED) * _ALIGNED for each in of_rank] for of_rank in sizes]
    buffer = torch.empty(sum(map(sum, taken)), dtype=torch.uint8, device=device)
    tensors, start = [], 0
    for of_rank, of_sizes, of_taken in zip(shapes, sizes, taken, strict=True):
        tensors.append([])
        for (size, dtype), count, step in zip(of_rank, of_sizes, of_taken, strict=True):
            tensors[-1].append(buffer[start : start + count].view(dtype).view(size))
            start += step
    return buffer, tensors, [sum(each) for each in taken]


def _free(buffer: Tensor) -> None:
    """Free the memory of a buffer, which gloo's thread may refer to for a moment longer."""
    buffer.untyped_storage().resize_(0)


_ALIGNED = 64
"""Bytes, of which the place of each tensor in a message is a multiple, as that of a tensor of its own is."""

_MOST_TENSORS = 64
"""Between two ranks in one exchange, so that each has a tag of its own."""


@dataclass
class Transfer:
    """Tensors under way.

    Attributes:
        works: to be waited for.
        operations: what is sent, which must live until then: it is being read.
        received: from each rank.
    """

    peers: Peers
    works: Sequence[Any]
    operations: Sequence[Any]
    received: dict[int, list[Tensor]]

    def wait(self) -> dict[int, list[Tensor]]:
        """What each rank sent."""
        with _lost(self.peers):
            for work in self.works:
                work.wait()
        self.works = self.operations = ()
        return self.received


@contextmanager
def _lost(peers: Peers) -> Iterator[None]:
    """Say in one sentence that another process has ended."""
    try:
        yield
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise
        raise LostRankError(
            f"Rank {peers.rank} of {peers.size} waited for another rank in vain: it has ended, or isn't in the same "
            "call. Its own messages may say why; every rank must call attend, and backward, equally often."
        ) from error
