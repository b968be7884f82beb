"""A cache of keys and values for decoding: a step projects the new vectors only and attends to all of them."""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.errors import ArgumentError

__all__ = ["Cache"]


class Cache:
    """The keys and values of one layer so far; pass the same cache to every call of that layer.

    The storage doubles when it is full, so that n steps copy O(n) numbers in total, not O(n^2). `key` and `value` are
    views of the storage, never copies. A cache is for decoding, not for training: gradients can't pass through storage
    that is overwritten.

    For items of unequal length, pass the number of new vectors of each item as `lengths`. The keys of an item are then
    stored without gaps from column 0 on, so that causal masks and positions count as they do for the item alone. What
    lies beyond `cache.lengths` is padding, which `Lengths(query=lengths, key=cache.lengths)` hides
    (`MultiHeadAttention` adds that mask itself).

    Args:
        room: the initial capacity, in keys.

    Attributes:
        length: the number of keys; that of the longest item if they differ.
        lengths: (batch,) the number of keys of each item, or None while all items have the same.
        sealed: whether nothing may be added, as in a cache from `MultiHeadAttention.remember`.

    Example:
        >>> from regard.modules import MultiHeadAttention
        >>> attention, cache = MultiHeadAttention(8, heads=2), Cache()
        >>> with torch.no_grad():
        ...     first = attention(torch.zeros(1, 5, 8), cache=cache, mask="causal")
        ...     step = attention(torch.zeros(1, 1, 8), cache=cache, mask="causal")
        >>> step.shape, cache.length
        (torch.Size([1, 1, 8]), 6)
    """

    def __init__(self, room: int = 16):
        if room < 1:
            raise ArgumentError(f"`room` must be a number of keys, 1 or more, but is {room}.")
        self.length = 0
        self.lengths: Tensor | None = None
        self.sealed = False
        self._room = room
        self._key = self._value = torch.empty(0, 0, 0, 0, device="cpu")

    @property
    def key(self) -> Tensor:
        """(batch, head, key, feature): a view of the stored keys."""
        return self._key.narrow(2, 0, self.length)

    @property
    def value(self) -> Tensor:
        """(batch, head, key, value): a view of the stored values."""
        return self._value.narrow(2, 0, self.length)

    def append(
        self, key: Tensor, value: Tensor, lengths: Tensor | Sequence[int] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Add new keys and values, and return all keys and values.

        Args:
            key: (batch, head, new, feature).
            value: (batch, head, new, value).
            lengths: (batch,) the number of real new vectors of each item; by default all of them.

        Raises:
            ArgumentError: the sizes don't match the stored ones, a gradient is required, or the cache is sealed.
        """
        new = key.shape[2]
        if self.length == 0 and self.lengths is None:
            self._check_first(key, value)
            capacity = max(self._room, new)
            # Zeros, not uninitialised memory: the padding beyond an item's length must be finite.
            self._key = key.new_zeros(*key.shape[:2], capacity, key.shape[3])
            self._value = value.new_zeros(*value.shape[:2], capacity, value.shape[3])
        elif not _fits(key, self._key) or not _fits(value, self._value) or value.shape[2] != new:
            raise ArgumentError(
                f"`key` and `value` must fit what the cache holds, {_size(self._key)} and {_size(self._value)} beside "
                f"their number, but are {tuple(key.shape)} and {tuple(value.shape)}, {key.dtype}. "
                "Another batch needs a new Cache; reorder(index) picks items."
            )
        if torch.is_grad_enabled() and (key.requires_grad or value.requires_grad):
            raise ArgumentError(
                "`cache` is for decoding, and no gradient passes through it: "
                "call under torch.no_grad(), or train without a cache."
            )
        if self.sealed:
            raise ArgumentError("`cache` is sealed: it holds a whole source. Make a new Cache() to add to.")
        if lengths is not None or self.lengths is not None:
            self._write_each(key, value, lengths)
        else:
            self._grow(self.length + new)
            self._key.narrow(2, self.length, new).copy_(key)
            self._value.narrow(2, self.length, new).copy_(value)
            self.length += new
        return self._key.narrow(2, 0, self.length), self._value.narrow(2, 0, self.length)

    def reorder(self, index: Tensor) -> None:
        """Select items of the batch, in this order, for beam search: an item may be selected repeatedly or not at all.

        Args:
            index: (any number,) the items of the batch.
        """
        self._key = self._key.index_select(0, index)
        self._value = self._value.index_select(0, index)
        if self.lengths is not None:
            self.lengths = self.lengths.index_select(0, index.to(self.lengths.device))

    def _check_first(self, key: Tensor, value: Tensor) -> None:
        if key.ndim != 4 or value.ndim != 4 or key.shape[:3] != value.shape[:3]:
            raise ArgumentError(
                "`key` and `value` must be (batch, head, new, size), as many of one as of the other, "
                f"but are {tuple(key.shape)} and {tuple(value.shape)}."
            )

    def _grow(self, needed: int) -> None:
        """Grow the storage to this many keys, at least by doubling, so that each number is copied twice at most."""
        capacity = self._key.shape[2]
        if needed <= capacity:
            return
        for name in ("_key", "_value"):
            old: Tensor = getattr(self, name)
            new = old.new_zeros(*old.shape[:2], max(2 * capacity, needed), old.shape[3])
            new.narrow(2, 0, self.length).copy_(old.narrow(2, 0, self.length))
            setattr(self, name, new)

    def _write_each(self, key: Tensor, value: Tensor, lengths: Tensor | Sequence[int] | None) -> None:
        """Write the new keys of each item directly after its last one."""
        batch, new = key.shape[0], key.shape[2]
        start = torch.full((batch,), self.length, device="cpu") if self.lengths is None else self.lengths
        added = torch.as_tensor([new] * batch if lengths is None else lengths, device="cpu").long()
        if added.shape != (batch,) or bool((added < 0).any()) or bool((added > new).any()):
            raise ArgumentError(
                f"`lengths` must be a number from 0 to {new}, the new vectors, for each of {batch} items, "
                f"but is {added.tolist()}."
            )
        if batch and new:
            # Padding is written too, after each item's own keys: it is hidden, and the item's next keys overwrite it.
            self._grow(int(start.max()) + new)
            item = torch.arange(batch, device=key.device).unsqueeze(1)
            column = (start.unsqueeze(1) + torch.arange(new, device="cpu")).to(key.device)
            # (batch head new feature) -> (batch new head feature): the two indexed axes come first.
            self._key[item, :, column] = key.transpose(1, 2)
            self._value[item, :, column] = value.transpose(1, 2)
        self.lengths = start + added
        self.length = int(self.lengths.max()) if batch else 0


def _fits(new: Tensor, kept: Tensor) -> bool:
    """Whether new keys match the stored ones; copying would broadcast or convert them silently."""
    a, b = new.shape, kept.shape
    return len(a) == 4 and a[0] == b[0] and a[1] == b[1] and a[3] == b[3] and new.dtype == kept.dtype


def _size(kept: Tensor) -> str:
    return f"{tuple(kept.shape[:2])} x {kept.shape[3]} in {kept.dtype}"
