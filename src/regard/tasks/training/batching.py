"""Which sources go together: those of like length, so that little is padding, and no batch is too large.

The order of an epoch depends on (seed, epoch) alone, so a run that is resumed needs no saved order.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import torch

from regard.errors import ArgumentError

__all__ = ["Batches", "batches_by_length", "key", "shuffled_batches"]


class Batches:
    """The batches of one epoch, made as they are needed.

    Args:
        make: a batch, from its members; it has `to(device)`.
        members: which examples each batch holds.
        borrowed: the places of batches that are another process's too, and mustn't count twice.
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
        """What one of several processes takes: of every batch its part, so that an update sees what it sees alone.

        One for which nothing is left of a batch borrows its first example: it must keep pace, but mustn't count.

        Args:
            rank: which process, from 0.
            devices: how many there are.

        Example:
            >>> batches = Batches(list, [[1, 2, 3], [4]])
            >>> [*batches.shard(0, 2)], [*batches.shard(1, 2)], batches.shard(1, 2).borrowed(1)
            ([[1, 3], [4]], [[2], [4]], True)
        """
        shares = [members[rank::devices] or members[:1] for members in self._members]
        return Batches(self._make, shares, {place for place, of in enumerate(self._members) if len(of) <= rank})

    def borrowed(self, place: int) -> bool:
        """Whether the batch at this place is another process's too."""
        return place in self._borrowed


def batches_by_length(lengths: Sequence[int], batch_items: int) -> list[list[int]]:
    """Pack sources, shortest first, into batches of so many items at most.

    Args:
        lengths: the number of items of each source.
        batch_items: at most so many items, padding included; a source longer than that is a batch of its own.

    Returns:
        the positions in `lengths`, batch by batch.

    Raises:
        ArgumentError: `batch_items` is no whole number above 0.

    Example:
        >>> batches_by_length([3, 1, 2, 9], batch_items=6)
        [[1, 2], [0], [3]]
    """
    if isinstance(batch_items, bool) or not isinstance(batch_items, int) or batch_items < 1:
        raise ArgumentError(f"`batch_items` must be a whole number, 1 or more, but is {batch_items!r}.")
    return _pack(sorted(range(len(lengths)), key=lambda index: lengths[index]), lengths, batch_items)


def shuffled_batches(lengths: Sequence[int], items: int, *, seed: int, epoch: int) -> list[list[int]]:
    """Pack like `batches_by_length`, with neighbours in length mixed and the batches in random order.

    Args:
        lengths: the number of items of each source.
        items: at most so many items in a batch, padding included.
        seed: with `epoch`, decides the order, and nothing else does.
        epoch: the epoch, from 0.

    Example:
        >>> first = shuffled_batches([3, 1, 2, 9], 6, seed=0, epoch=0)
        >>> first == shuffled_batches([3, 1, 2, 9], 6, seed=0, epoch=0)
        True
    """
    generator = torch.Generator().manual_seed(key(seed, epoch, stream=0))
    # Up to one and a half items of jitter: other companions every epoch, at almost no padding.
    jitter = (1.5 * torch.rand(len(lengths), generator=generator)).tolist()
    batches = _pack(sorted(range(len(lengths)), key=lambda i: lengths[i] + jitter[i]), lengths, items)
    return [batches[index] for index in torch.randperm(len(batches), generator=generator).tolist()]


def key(seed: int, epoch: int, *, stream: int) -> int:
    """One number for a generator, from the run's seed, the epoch, and its use (order 0, dropout 1, first weights 2).

    Example:
        >>> key(0, 1, stream=0) == key(1, 0, stream=0)
        False
    """
    # Two odd 64-bit constants far apart: other (seed, epoch, stream) never meet in practice.
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
