"""What is known of tensors, as long as they are alive."""

import weakref
from collections.abc import Iterator
from typing import Generic, TypeVar

from torch import Tensor

__all__ = ["TensorMap"]

Known = TypeVar("Known")


class TensorMap(Generic[Known]):
    """Something that is known of each of some tensors, which it doesn't keep alive.

    Example:
        >>> import torch
        >>> known, tensor = TensorMap(), torch.zeros(2)
        >>> known[tensor] = "zeros"
        >>> known.get(tensor), known.get(torch.zeros(2)), len(known)
        ('zeros', None, 1)
        >>> del tensor
        >>> len(known)
        0
    """

    def __init__(self):
        self._entries: dict[int, tuple[weakref.ref[Tensor], Known]] = {}

    def get(self, tensor: Tensor) -> Known | None:
        """What is known of a tensor; None if nothing is."""
        entry = self._entries.get(id(tensor))
        return entry[1] if entry is not None and entry[0]() is tensor else None

    def __setitem__(self, tensor: Tensor, known: Known) -> None:
        number, entries = id(tensor), self._entries

        def forget(reference: weakref.ref[Tensor]) -> None:
            if number in entries and entries[number][0] is reference:
                del entries[number]

        entries[number] = weakref.ref(tensor, forget), known

    def items(self) -> Iterator[tuple[Tensor, Known]]:
        """The tensors that are alive, and what is known of them."""
        for reference, known in self._entries.values():
            if (tensor := reference()) is not None:
                yield tensor, known

    def clear(self) -> None:
        """Forget all."""
        self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)
