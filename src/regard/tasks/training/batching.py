"""Group sources of similar length into batches of limited size, with little padding.

The order in an epoch depends only on (seed, epoch), so a resumed run needs no saved order.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import torch

from regard.errors import ArgumentError

__all__ = ["Batches", "batches_by_length", "key", "shuffled_batches"]


class Batches:
    """The batches of one epoch, made as they are needed.

    Args:
        make: makes a batch, which has `to(device)`, from the indices of its examples.
        members: the indices of the examples of each batch.
        borrowed: indices of the batches that another process has too; they must not be counted twice.
    """

    def __init__(
        self, make: Callable[[Sequence[int]], Any], members: list[list[int]], borrowed: Collection[int] = frozenset()
    ):
        self._make, self._members, self._borrowed = make, members, borrowed

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Any]:
        return map(self._make, self._members)

    def shard(self, rank: int, devices: int) -> "Batches":
        """The part of every batch that one of several processes takes; together they make the updates of one process.

        A process gets the first example of a batch that is too small for all: it takes part, but isn't counted.

        Args:
            rank: the number of the process, from 0.
            devices: the number of processes.

        Example:
            >>> batches = Batches(list, [[1, 2, 3], [4]])
            >>> [*batches.shard(0, 2)], [*batches.shard(1, 2)], batches.shard(1, 2).borrowed(1)
            ([[1, 3], [4]], [[2], [4]], True)
        """
        shares = [members[rank::devices] or members[:1] for members in self._members]
        return Batches(self._make, shares, {place for place, of in enumerate(self._members) if len(of) <= rank})

    def borrowed(self, place: int) -> bool:
        """Whether another process has the examples of this batch too."""
        return place in self._borrowed


def batches_by_length(lengths: Sequence[int], batch_items: int) -> list[list[int]]:
    """Pack sources, shortest first, into batches of at most `batch_items` items.

    Args:
        lengths: the number of items of each source.
        batch_items: the most items in a batch, including padding; a longer source is a batch of its own.

    Returns:
        the positions in `lengths`, batch by batch.

    Raises:
        ArgumentError: `batch_items` isn't an integer of at least 1.

    Example:
        >>> batches_by_length([3, 1, 2, 9], batch_items=6)
        [[1, 2], [0], [3]]
    """
    if isinstance(batch_items, bool) or not isinstance(batch_items, int) or batch_items < 1:
        raise ArgumentError(f"`batch_items` must be a whole number, 1 or more, but is {batch_items!r:.60}.")
    return _pack(sorted(range(len(lengths)), key=lambda index: lengths[index]), lengths, batch_items)


def shuffled_batches(lengths: Sequence[int], items: int, *, seed: int, epoch: int) -> list[list[int]]:
    """Pack like `batches_by_length`, with neighbours in length mixed and the batches in random order.

    Args:
        lengths: the number of items of each source.
        items: the most items in a batch, including padding.
        seed: determines the order, together with `epoch`.
        epoch: the epoch, from 0.

    Example:
        >>> first = shuffled_batches([3, 1, 2, 9], 6, seed=0, epoch=0)
        >>> first == shuffled_batches([3, 1, 2, 9], 6, seed=0, epoch=0)
        True
    """
    generator = torch.Generator().manual_seed(key(seed, epoch, stream=0))
    # A jitter of up to 1.5 items mixes the batches differently in every epoch and adds almost no padding.
    jitter = (1.5 * torch.rand(len(lengths), generator=generator)).tolist()
    batches = _pack(sorted(range(len(lengths)), key=lambda i: lengths[i] + jitter[i]), lengths, items)
    return [batches[index] for index in torch.randperm(len(batches), generator=generator).tolist()]


def key(seed: int, epoch: int, *, stream: int) -> int:
    """A generator's seed, from the run's seed, the epoch and the use: 0 order, 1 dropout, 2 initial weights.

    Example:
        >>> key(0, 1, stream=0) == key(1, 0, stream=0)
        False
    """
    # Large odd constants: in practice, no two triples (seed, epoch, stream) give the same number.
    return (seed * 0x9E3779B97F4A7C15 + epoch * 0xC2B2AE3D27D4EB4F + stream * 0x165667B19E3779F9) % 2**63


def _pack(order: Sequence[int], lengths: Sequence[int], items: int) -> list[list[int]]:
    batches: list[list[int]] = []
    longest = 0
    for index in order:
        longest = max(longest, lengths[index])
        if not batches or longest * (len(batches[-1]) + 1) > items:
            batches.append([])
            longest = lengths[index]
        batches[-1].append(index)
    return batches
