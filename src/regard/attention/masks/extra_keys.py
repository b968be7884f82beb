"""The mask of a sequence behind extra keys that every query may attend to (attention sinks)."""

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.masks.mask import Mask, allows, spans_of
from regard.attention.pairs.spans import Spans
from regard.attention.sizes import Index, ItemLengths, Sizes

__all__ = ["ExtraKeysMask"]


@dataclass(frozen=True)
class ExtraKeysMask(Mask):
    """The mask of keys that follow `extra` extra ones: those are allowed, and `mask` decides about the others."""

    mask: Mask
    extra: int

    def allows(self, at: Index) -> Tensor:
        own = dataclasses.replace(
            at, key=(at.key - self.extra).clamp(min=0), shift=at.shift - self.extra, keys=at.keys - self.extra
        )
        return (at.key < self.extra) | allows(self.mask, own)

    def spans(self, sizes: Sizes) -> Spans:
        zeros = torch.zeros_like(sizes.rows)
        extra = Spans.only(zeros, zeros + self.extra, sizes.keys)
        return extra | spans_of(self.mask, self._own(sizes)).shifted(self.extra)

    def lengths(self) -> ItemLengths:
        queries, keys = self.mask.lengths()
        return ItemLengths(queries, None if keys is None else keys + self.extra)

    def check(self, sizes: Sizes) -> None:
        self.mask.check(self._own(sizes))

    def check_growing(self) -> None:
        self.mask.check_growing()

    def _own(self, sizes: Sizes) -> Sizes:
        """The sizes without the extra keys."""
        lengths = sizes.key_lengths
        return dataclasses.replace(
            sizes, keys=sizes.keys - self.extra, key_lengths=None if lengths is None else lengths - self.extra
        )
