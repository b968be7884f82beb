"""Padding: items of a batch with lengths of their own."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from regard.attention.masks.mask import Mask
from regard.attention.pairs.spans import Spans
from regard.attention.sizes import Index, ItemLengths, Sizes
from regard.attention.validation import integer_tensor
from regard.errors import ArgumentError

__all__ = ["Lengths"]


@dataclass(frozen=True)
class Lengths(Mask):
    """Each item of the batch has its own length; what lies beyond it is padding, and is hidden.

    Args:
        both: (batch,), the length of each item, for queries and keys alike (self-attention).
        query: (batch,), lengths of the queries, if they differ from the keys' (cross-attention).
        key: (batch,), lengths of the keys.

    A query beyond its item's length attends to nothing, so its output is zeros.

    Source: the notes, 001: sequences of different lengths; PyTorch's `key_padding_mask`, given as lengths.

    Example:
        >>> from regard.attention import weigh
        >>> import torch
        >>> weigh(torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 2, 4), mask=Lengths([1]))[0, 0]
        tensor([[1., 0.],
                [0., 0.]])
    """

    both: Tensor | Sequence[int] | None = None
    query: Tensor | Sequence[int] | None = None
    key: Tensor | Sequence[int] | None = None

    def __post_init__(self) -> None:
        if self.both is None and self.query is None and self.key is None:
            raise ArgumentError("`lengths` must be the length of each item of the batch, but nothing was given.")
        for name in ("both", "query", "key"):
            value = getattr(self, name)
            if value is None:
                continue
            value = integer_tensor(value, "lengths", "Lengths", "whole numbers of shape (batch,)", (1,))
            object.__setattr__(self, name, value)

    @property
    def of_queries(self) -> Tensor | None:
        """(batch,), the number of queries of each item; None if it is that of the batch."""
        return self.both if self.query is None else self.query  # pyright: ignore[reportReturnType]

    @property
    def of_keys(self) -> Tensor | None:
        """(batch,), the number of keys of each item; None if it is that of the batch."""
        return self.both if self.key is None else self.key  # pyright: ignore[reportReturnType]

    def allows(self, at: Index) -> Tensor:
        # Whole rows or columns are compared once, not pair by pair.
        row = None if self.of_queries is None else at.query < self.of_queries[at.batch]
        column = None if self.of_keys is None else at.key < self.of_keys[at.batch]
        if row is None or column is None:
            return column if row is None else row  # pyright: ignore[reportReturnType]
        return row & column

    def spans(self, sizes: Sizes) -> Spans:
        keys = sizes.keys if self.of_keys is None else self.of_keys.to(sizes.device).unsqueeze(1)
        if self.of_queries is None:
            stop = torch.zeros_like(sizes.rows) + keys
        else:
            # 1 for a query within its item's length, 0 for one beyond it.
            stop = (self.of_queries.to(sizes.device).unsqueeze(1) - sizes.rows).clamp_(0, 1) * keys
        return Spans.only(torch.zeros_like(stop), stop, sizes.keys)

    def hides_nothing(self, sizes: Sizes) -> bool:
        if 0 in (sizes.batch, sizes.queries, sizes.keys):
            return True
        axes = zip(self.lengths(), (sizes.queries, sizes.keys), strict=True)
        return all(lengths is None or bool((lengths >= size).all()) for lengths, size in axes)

    def lengths(self) -> ItemLengths:
        return ItemLengths(self.of_queries, self.of_keys)

    def check(self, sizes: Sizes) -> None:
        for name, lengths, most in (("query", self.of_queries, sizes.queries), ("key", self.of_keys, sizes.keys)):
            if lengths is None:
                continue
            if len(lengths) != sizes.batch:
                raise ArgumentError(
                    f"`lengths` must be one number for each of {sizes.batch} items, but is {len(lengths)} numbers."
                )
            least, greatest = _range(lengths) if sizes.batch else (0, 0)
            if least < 0 or greatest > most:
                raise ArgumentError(
                    f"`lengths` of the {name} must be from 0 to {most}, the size of that axis, "
                    f"but range from {least} to {greatest}."
                )


# What was read back from a GPU, which is waited for: once for each tensor, until it is modified.
_RANGES = WeakTensorKeyDictionary()


def _range(lengths: Tensor) -> tuple[int, int]:
    """The least and the greatest length."""
    if lengths.is_cpu or lengths.is_inference():
        return int(lengths.min()), int(lengths.max())
    known: tuple[int, tuple[int, int]] | None = _RANGES.get(lengths)
    if known is None or known[0] != lengths._version:
        known = lengths._version, (int(lengths.min()), int(lengths.max()))
        _RANGES[lengths] = known
    return known[1]
