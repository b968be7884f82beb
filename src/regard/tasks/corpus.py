"""Examples, read once: the sources as items, what is wanted of them as numbers, and what a batch of them is."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.inputs import Batch
from regard.tasks.inputs import Source

__all__ = ["Corpus", "ItemCorpus", "Lesson"]


class Lesson(NamedTuple):
    """A batch to learn from.

    Args:
        batch: the sources.
        wanted: for each answer what is wanted of them, (source, ...), or (item, ...) of the items of all, one after the
            other.
    """

    batch: Batch
    wanted: tuple[Tensor, ...]

    def to(self, device: Any) -> "Lesson":
        """The same on another device."""
        return Lesson(self.batch.to(device), tuple(each.to(device) for each in self.wanted))


class Corpus:
    """Examples to train on or to judge by. One whose source has no items is left out: nothing can be learned of it.

    Args:
        source: what the sources are.
        reader: what reads them.
        items: the sources, read.
        wanted: of each, what is wanted for each answer: of the whole, or, first axis, of each of its items.
    """

    def __init__(self, source: Source, reader: Any, items: Sequence[Any], wanted: Sequence[tuple[Tensor, ...]]):
        kept = [index for index, item in enumerate(items) if len(item)]
        self._source, self.reader = source, reader
        self._items = [items[index] for index in kept]
        self._wanted = [wanted[index] for index in kept]
        self.lengths = [len(item) for item in self._items]

    @property
    def longest(self) -> int:
        """How many items the longest source has."""
        return max(map(len, self._items))

    def lesson(self, members: Sequence[int]) -> Lesson:
        """Some of the examples, side by side."""
        return self._lesson(members, torch.stack)

    def _lesson(self, members: Sequence[int], together: Callable[[list[Tensor]], Tensor]) -> Lesson:
        batch = self._source.batch(self.reader, [self._items[index] for index in members])
        wanted = zip(*(self._wanted[index] for index in members), strict=True)
        return Lesson(batch, tuple(together(list(same)) for same in wanted))


class ItemCorpus(Corpus):
    """Examples of which something is wanted of each item: the wanted of a batch are one after the other."""

    def lesson(self, members: Sequence[int]) -> Lesson:
        return self._lesson(members, torch.cat)
