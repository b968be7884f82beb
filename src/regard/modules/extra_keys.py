"""Keys beside the sequence's own, which every query may attend to: somewhere to look when nothing fits."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention import Index, Lengths, Mask, Sizes, Spans
from regard.attention.intervals import Interval
from regard.attention.masks import allows
from regard.errors import ArgumentError

__all__ = ["BesideExtra", "ExtraKeys"]


class ExtraKeys(nn.Module):
    """Extra keys and values in front of the sequence's own; no mask hides them.

    Args:
        heads: how many heads of keys there are.
        head_size: the size of a key and of a value.
        learned: whether one key and one value are learned for each head.
        zero: whether one more key and value are all zeros: its score is 0, and attending to it adds nothing.

    Raises:
        ArgumentError: neither `learned` nor `zero`: there would be nothing.

    Source: `add_bias_kv` and `add_zero_attn` of PyTorch's nn.MultiheadAttention; what such a key is good for: Xiao et
        al. 2023, attention sinks (arXiv 2309.17453), section 3.

    Example:
        >>> key = torch.ones(2, 3, 5, 4)
        >>> [tuple(t.shape) for t in ExtraKeys(3, 4, zero=True)(key, key)]
        [(2, 3, 7, 4), (2, 3, 7, 4)]
    """

    def __init__(self, heads: int, head_size: int, *, learned: bool = True, zero: bool = False):
        super().__init__()
        if not learned and not zero:
            raise ArgumentError("`learned` or `zero` must be True: there would be no extra key. Leave ExtraKeys out.")
        shape = (heads, 1, head_size)
        self.key = nn.Parameter(torch.empty(shape)) if learned else None
        self.value = nn.Parameter(torch.empty(shape)) if learned else None
        self.zero = zero
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=head_size**-0.5)

    @property
    def count(self) -> int:
        """How many keys there are in front."""
        return (self.key is not None) + self.zero

    def forward(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values, (batch, head, key, size), with the extra ones in front."""
        return self._in_front(key, self.key), self._in_front(value, self.value)

    def beside(self, mask: Mask) -> Mask:
        """The mask for what `forward` gives: as it was for the sequence's own keys, and the extra ones are allowed."""
        return BesideExtra(mask, self.count)

    def widen(self, bias: Tensor, keys: int) -> Tensor:
        """A bias (..., query, key) for what `forward` gives of so many keys: the extra ones have none."""
        return nn.functional.pad(bias.expand(*bias.shape[:-1], keys), (self.count, 0))

    def _in_front(self, own: Tensor, learned: Tensor | None) -> Tensor:
        batch, heads, _, size = own.shape
        extra = [] if learned is None else [learned.to(own.dtype).expand(batch, -1, -1, -1)]
        if self.zero:
            extra.append(own.new_zeros(batch, heads, 1, size))
        return torch.cat([*extra, own], dim=2)


@dataclass(frozen=True)
class BesideExtra(Mask):
    """A mask that knows nothing of the `extra` keys in front: all may be attended to; the rest is as `mask` says."""

    mask: Mask
    extra: int

    def allows(self, at: Index) -> Tensor:
        own = dataclasses.replace(
            at, key=(at.key - self.extra).clamp(min=0), shift=at.shift - self.extra, keys=at.keys - self.extra
        )
        return (at.key < self.extra) | allows(self.mask, own)

    def spans(self, sizes: Sizes) -> Spans:
        own = self.mask.spans(self._own(sizes))
        outer, inner = (
            tuple(Interval(part.start + self.extra, part.stop + self.extra) for part in parts)
            for parts in (own.outer, own.inner)
        )
        nothing = torch.zeros(1, sizes.queries, dtype=torch.long)
        return Spans.only(nothing, nothing + self.extra, sizes.keys) | Spans(outer, outer if own.exact else inner)

    def lengths(self) -> Lengths | None:
        lengths: Any = self.mask.lengths()
        if lengths is None or lengths.of_keys is None:
            return lengths
        return Lengths(query=lengths.of_queries, key=lengths.of_keys + self.extra)

    def check(self, sizes: Sizes) -> None:
        self.mask.check(self._own(sizes))

    def _own(self, sizes: Sizes) -> Sizes:
        """The sizes of the sequence's own keys."""
        lengths = sizes.key_lengths
        return dataclasses.replace(
            sizes, keys=sizes.keys - self.extra, key_lengths=None if lengths is None else lengths - self.extra
        )
