"""Datasets: encoded examples, with their targets as tensors, and how they make batches."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.inputs import Batch
from regard.tasks.sources import Source

__all__ = ["Dataset", "ItemDataset", "TrainingBatch"]


class TrainingBatch(NamedTuple):
    """Sources with their targets.

    Args:
        sources: the sources.
        targets: the targets for each output of the network: one per source, (source, ...), or one per item of all
            sources, (item, ...).
        offsets: what the linear part of the network says of each source or item if it is fitted to others, (target,
            output).
    """

    sources: Batch
    targets: tuple[Tensor, ...]
    offsets: Tensor | None = None

    def to(self, device: Any) -> "TrainingBatch":
        """This batch on another device."""
        offsets = None if self.offsets is None else self.offsets.to(device)
        return TrainingBatch(self.sources.to(device), tuple(each.to(device) for each in self.targets), offsets)


class Dataset:
    """Encoded examples of train or dev. Examples whose source has no items are left out.

    Args:
        source: the settings of the source kind.
        encoder: encodes the sources.
        items: the items of each source.
        wanted: the targets of each source, one tensor per output; targets of items are along its first axis.

    Attributes:
        lengths: the number of items of each source.
        sizes: what each source counts for in a batch.
        offsets: as in `TrainingBatch`, for each source; None without a linear part that needs them.
    """

    offsets: Sequence[Tensor] | None = None

    def __init__(self, source: Source, encoder: Any, items: Sequence[Any], wanted: Sequence[tuple[Tensor, ...]]):
        kept = [index for index, item in enumerate(items) if len(item)]
        self._source, self.encoder = source, encoder
        self._items = [items[index] for index in kept]
        self._wanted = [wanted[index] for index in kept]
        self.lengths = [len(item) for item in self._items]
        self.sizes = [source.size_of(item) for item in self._items]

    @property
    def longest(self) -> int:
        """The number of items of the longest source; 0 if there is no source."""
        return max(map(len, self._items), default=0)

    def batch(self, members: Sequence[int]) -> TrainingBatch:
        """A batch of the examples at these indices."""
        return self._batch(members, torch.stack)

    @property
    def items(self) -> Sequence[Any]:
        """The items of each source."""
        return self._items

    def read_by(self, source: Source, offsets: Tensor | None) -> None:
        """From now on `source` makes the batches, without what the offsets, of all targets, stand for."""
        self._source, self.offsets = source, None if offsets is None else self._by_source(offsets)

    def _by_source(self, offsets: Tensor) -> Sequence[Tensor]:
        return offsets.unbind()

    def _batch(self, members: Sequence[int], together: Callable[[list[Tensor]], Tensor]) -> TrainingBatch:
        batch = self._source.batch(self.encoder, [self._items[index] for index in members])
        wanted = zip(*(self._wanted[index] for index in members), strict=True)
        offsets = None if self.offsets is None else together([self.offsets[index] for index in members])
        return TrainingBatch(batch, tuple(together(list(same)) for same in wanted), offsets)


class ItemDataset(Dataset):
    """Examples with a target for each item; a batch concatenates the targets of its sources."""

    def batch(self, members: Sequence[int]) -> TrainingBatch:
        return self._batch(members, torch.cat)

    def _by_source(self, offsets: Tensor) -> Sequence[Tensor]:
        return offsets.split(self.lengths)
