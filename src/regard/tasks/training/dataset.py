"""Datasets: encoded examples, with their targets as tensors, and how they make batches."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.inputs import Batch
from regard.tasks.sources import Source

__all__ = ["Dataset", "ItemDataset", "TrainingBatch"]


class TrainingBatch(NamedTuple):
    """A batch to learn from.

    Args:
        sources: the sources.
        targets: for each of the net's outputs the targets of the sources, (source, ...), or of the items of all, (item,
            ...).
    """

    sources: Batch
    targets: tuple[Tensor, ...]

    def to(self, device: Any) -> "TrainingBatch":
        """The same on another device."""
        return TrainingBatch(self.sources.to(device), tuple(each.to(device) for each in self.targets))


class Dataset:
    """Encoded examples of train or dev. Examples whose source has no items are left out.

    Args:
        source: what the sources are.
        encoder: of the sources.
        items: the sources, read.
        wanted: the targets of each source, one tensor for each output; of items, along the first axis.
    """

    def __init__(self, source: Source, encoder: Any, items: Sequence[Any], wanted: Sequence[tuple[Tensor, ...]]):
        kept = [index for index, item in enumerate(items) if len(item)]
        self._source, self.encoder = source, encoder
        self._items = [items[index] for index in kept]
        self._wanted = [wanted[index] for index in kept]
        self.lengths = [len(item) for item in self._items]

    @property
    def longest(self) -> int:
        """How many items the longest source has."""
        return max(map(len, self._items))

    def batch(self, members: Sequence[int]) -> TrainingBatch:
        """Some of the examples, side by side."""
        return self._batch(members, torch.stack)

    def _batch(self, members: Sequence[int], together: Callable[[list[Tensor]], Tensor]) -> TrainingBatch:
        batch = self._source.batch(self.encoder, [self._items[index] for index in members])
        wanted = zip(*(self._wanted[index] for index in members), strict=True)
        return TrainingBatch(batch, tuple(together(list(same)) for same in wanted))


class ItemDataset(Dataset):
    """Examples with a target for each item; a batch concatenates the targets of its sources."""

    def batch(self, members: Sequence[int]) -> TrainingBatch:
        return self._batch(members, torch.cat)
